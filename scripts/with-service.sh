#!/usr/bin/env bash
# Runs a command beside a service of its own, on a free port and a fresh register, and stops both.
#
#   scripts/with-service.sh bash -c 'curl -s "$SERVICE_URL/readyz"'
#
# The register is what `member-mail seed --mail 2` makes. SERVICE_URL is where the service answers, PROGRAM
# is the program, whose commands find the same register.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet
program=${CARGO_TARGET_DIR:-target}/debug/member-mail

work=$(mktemp -d)
# The embedded server runs as another user where this one is root.
chmod 755 "$work"
service=
stop() {
  if [ -n "$service" ]; then
    kill "$service" 2>/dev/null || true
    wait "$service" || true
  fi
  rm -rf "$work"
}
trap stop EXIT

# Empty counts as not set, and goes before what `.env` says.
export DATABASE_URL='' DATA_DIR=$work/data BIND_ADDRESS=127.0.0.1:0 LOG=warn
# The requests come fast, and try wrong keys.
export RATE_LIMIT=0 FAILED_SIGN_INS_PER_MINUTE=0
"$program" seed --mail 2 >&2
"$program" >"$work/output" &
service=$!
until grep -q ^Data "$work/output"; do
  kill -0 "$service" || exit 1
  sleep 0.1
done
SERVICE_URL=$(sed -n 's|^API *\(.*\)/api/v1$|\1|p' "$work/output")
export SERVICE_URL PROGRAM=$program
"$@"
