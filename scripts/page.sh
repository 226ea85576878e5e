#!/usr/bin/env bash
# Uses the page in a headless Chromium (Debian: apt-get install chromium), as tests/page/ says, and takes
# the README's pictures of it if a folder for them is named.
#
#   scripts/page.sh [docs/images]
set -euo pipefail
cd "$(dirname "$0")/.."

npm install --prefix target/node --silent --no-audit --no-fund playwright-core@1.65.1 axe-core@4.14.1
# The name by which the browser calls the service.
export ALLOWED_HOSTS=member-mail.test
scripts/with-service.sh node --test --test-reporter=spec --test-concurrency=1 tests/page/*.test.mjs
scripts/with-service.sh node --test --test-reporter=spec tests/page/with-key/*.test.mjs
if [ "$#" -gt 0 ]; then
  scripts/with-service.sh node tests/page/pictures.mjs "$1"
fi
