#!/usr/bin/env bash
# Reads lists as CSV back by Python's csv and by LibreOffice, and compares them with the same lists as
# NDJSON: the same values, and nothing evaluated. Needs LibreOffice Calc.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v soffice >/dev/null || { echo "spreadsheet.sh: LibreOffice is not installed" >&2; exit 1; }
scripts/with-service.sh scripts/spreadsheet.py
