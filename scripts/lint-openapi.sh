#!/usr/bin/env bash
# Lints openapi.json with Redocly and with Spectral; a warning fails as an error does.
set -euo pipefail
cd "$(dirname "$0")/.."

npm install --prefix target/node --silent --no-audit --no-fund \
  @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
target/node/node_modules/.bin/redocly lint openapi.json
target/node/node_modules/.bin/spectral lint --fail-severity hint openapi.json
