#!/usr/bin/env bash
# Uses Swagger UI in a headless Chromium (Debian: apt-get install chromium), as swagger-ui.mjs says.
#
#   scripts/swagger-ui.sh [screenshot.png]
set -euo pipefail
cd "$(dirname "$0")/.."

npm install --prefix target/node --silent --no-audit --no-fund playwright-core@1.65.1
scripts/with-service.sh node scripts/swagger-ui.mjs "$@"
