#!/usr/bin/env bash
# Reads lists through nginx with its default proxy settings: rows arrive as they are sent, a whole list
# ends well and a broken one does not. Needs nginx.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v nginx >/dev/null || { echo "nginx.sh: nginx is not installed" >&2; exit 1; }
scripts/with-service.sh scripts/nginx.py
