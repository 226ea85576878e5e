#!/usr/bin/env bash
# Uses Swagger UI in a headless Chromium (Debian: apt-get install chromium), as swagger-ui.mjs says.
#
#   scripts/swagger-ui.sh [screenshot.png]
set -euo pipefail
cd "$(dirname "$0")/.."

npm install --prefix target/node --silent --no-audit --no-fund playwright-core@1.65.1
# The name by which the browser calls the service.
export ALLOWED_HOSTS=member-mail.test
scripts/with-service.sh node scripts/swagger-ui.mjs "$@"
