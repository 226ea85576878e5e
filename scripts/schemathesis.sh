#!/usr/bin/env bash
# Holds a service to its own document: thousands of requests made from it, right ones and wrong ones,
# with every check on.
#
#   scripts/schemathesis.sh                       some 2,000 requests, half a minute
#   scripts/schemathesis.sh --max-examples 500    more of them
#   scripts/schemathesis.sh --seed 1              the same ones again
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.32.5
venv=target/schemathesis-$version
if [ ! -x "$venv/bin/schemathesis" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
fi

scopes=members:read,members:write,members:delete,mail:read,mail:write,mail:delete
scopes=$scopes,suppressions:read,suppressions:write,privacy,admin
SCHEMATHESIS_HOOKS=scripts/schemathesis_checks.py scripts/with-service.sh bash -c '
  # From the first key on every request needs one, and the requests make keys.
  key=$("$PROGRAM" keys create schemathesis --scopes "$1")
  shift
  exec "$0" run "$SERVICE_URL/api-docs/openapi.json" \
    --header "Authorization: Bearer $key" --checks all --exclude-checks positive_data_acceptance,negative_data_rejection \
    --mode all --phases examples,coverage,fuzzing,stateful \
    --max-examples 60 --continue-on-failure --report-dir target/schemathesis-report "$@"
' "$venv/bin/schemathesis" "$scopes" "$@"
