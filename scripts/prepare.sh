#!/usr/bin/env bash
# Renews .sqlx, the data by which queries are checked without a database.
#
#   scripts/prepare.sh           writes .sqlx
#   scripts/prepare.sh --check   fails, with the difference, if .sqlx is not what the queries need
#
# It runs a throw-away Postgres of the installed server programs, applies migrations/ up, down and up
# again, and compiles.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=${PG_BIN_DIR:-}
if [ -z "$bin" ]; then
  for candidate in $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin 2>/dev/null | sort -V); do
    [ -x "$candidate/initdb" ] && bin=$candidate
  done
fi
[ -n "$bin" ] || bin=$(dirname "$(readlink -f "$(command -v initdb)")")

work=$(mktemp -d)
as_server=()
if [ "$(id -u)" = 0 ]; then
  # Postgres refuses to run as root.
  user=$(id -u postgres >/dev/null 2>&1 && echo postgres || echo nobody)
  chown "$user" "$work"
  as_server=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups)
fi
stop() {
  [ -f "$work/data/postmaster.pid" ] && "${as_server[@]}" "$bin/pg_ctl" -D "$work/data" -m immediate stop >/dev/null
  rm -rf "$work"
}
trap stop EXIT

(
  cd "$work"
  "${as_server[@]}" "$bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >/dev/null
  "${as_server[@]}" "$bin/pg_ctl" -D "$work/data" -w -s -l "$work/log" \
    -o "-c listen_addresses= -c unix_socket_directories=$work -c fsync=off" start
)
migrate() {
  printf '%s\n' "$@" | while read -r migration; do
    PGOPTIONS='-c client_min_messages=warning' "$bin/psql" -q -v ON_ERROR_STOP=1 -h "$work" -U postgres -d postgres -f "$migration"
  done
}
migrate migrations/*.up.sql
# There and back: a way down that leaves something behind fails on the way up.
migrate $(ls -r migrations/*.down.sql)
migrate migrations/*.up.sql

data=$PWD/.sqlx
[ "${1:-}" = --check ] && data=$work/sqlx
rm -rf "$data"
mkdir -p "$data"
touch src/lib.rs
SQLX_OFFLINE=false SQLX_OFFLINE_DIR=$data \
  DATABASE_URL="postgres:///postgres?host=$work&user=postgres" cargo check --quiet --all-targets
if [ "${1:-}" = --check ]; then
  diff -r .sqlx "$data" || { echo "run scripts/prepare.sh and commit .sqlx" >&2; exit 1; }
fi
