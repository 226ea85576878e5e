#!/usr/bin/env bash
# Runs the README's requests as pasted, but for the port, and compares the statuses of the answers with
# those in its comments.
set -euo pipefail
cd "$(dirname "$0")/.."

requests=$(sed -n '/^api=/,/^```$/p' README.md | grep -v '^```$')
expected=$(grep -oE '^# [0-9]{3}' <<<"$requests" | tr -d '# ')

output=$(REQUESTS=$requests scripts/with-service.sh \
  bash -c 'bash -eu <<<"${REQUESTS//http:\/\/127.0.0.1:8080/$SERVICE_URL}" 2>&1')
printf '%s\n' "$output"

answered=$(grep -oE 'HTTP/1\.1 [0-9]{3}' <<<"$output" | cut -d ' ' -f 2)
diff <(printf '%s\n' "$expected") <(printf '%s\n' "$answered") || {
  echo "README.md: the statuses (>) are not those that the comments name (<)" >&2
  exit 1
}
echo "README.md: $(wc -l <<<"$answered") answers as the comments say"
