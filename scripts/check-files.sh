#!/usr/bin/env bash
# Checks what holds for every file of the repository: no path of somebody's machine, LF line ends, no
# source file beyond 400 lines.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
fault() {
  printf '%s\n' "$@" >&2
  failed=1
}

folders='root|home|Users|work|workspace|mnt'
# The pattern is spelt so that it does not find itself.
if found=$(git grep -nIE "(^|[^A-Za-z0-9_.}/-])/($folders)/[A-Za-z0-9._]"); then
  fault 'Paths of a machine:' "$found"
fi
if found=$(git grep -lI $'\r$'); then
  fault 'Line ends other than LF:' "$found"
fi
while read -r lines file; do
  [ "$lines" -le 400 ] || fault "$file has $lines lines; split it by what it is about"
done < <(git ls-files -z '*.rs' '*.sql' '*.sh' '*.py' '*.mjs' '*.css' '*.html' .ci/run | xargs -0 wc -l | grep -v ' total$')
exit "$failed"
