# The project's commands. `make` alone lists them.

.PHONY: help run check format files clippy docs licences test queries readme openapi prepare
.PHONY: lint-openapi scale schemathesis spreadsheet nginx swagger-ui page

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

run: ## Serve on an embedded Postgres
	cargo run

check: format files licences clippy docs test queries readme ## Everything that a change must pass

format: ## Check the formatting
	cargo fmt --check

files: ## Check paths, line ends and lengths
	scripts/check-files.sh

licences: ## Check the crates' licences and sources
	scripts/licences.py

clippy: ## Lint, with and without the default features
	cargo clippy --all-targets -- -D warnings
	cargo clippy --no-default-features --all-targets -- -D warnings

docs: ## Build the crate's documentation
	RUSTDOCFLAGS='-D warnings' cargo doc --no-deps

test: ## Run every test on a real Postgres
	cargo test

queries: ## Check .sqlx and the migrations, up and down
	scripts/prepare.sh --check

readme: ## Run the README's requests as pasted
	scripts/readme.sh

openapi: ## Adopt what the code says into openapi.json
	cargo run --quiet -- openapi > openapi.json

prepare: ## Renew .sqlx after a change of a query or migration
	scripts/prepare.sh

lint-openapi: ## Lint openapi.json (needs npm)
	scripts/lint-openapi.sh

scale: ## Measure the lists at scale (twenty minutes, 8 GB)
	cargo test --test api -- --ignored --nocapture scale::
	cargo test --test process -- --ignored --nocapture scale::

schemathesis: ## Hold the service to its document (needs Python)
	scripts/schemathesis.sh

spreadsheet: ## Read CSV back by Python and LibreOffice (needs both)
	scripts/spreadsheet.sh

nginx: ## Stream lists through nginx (needs it)
	scripts/nginx.sh

swagger-ui: ## Use Swagger UI in a browser (needs npm and Chromium)
	scripts/swagger-ui.sh

page: ## Use the page in a browser (needs npm and Chromium)
	scripts/page.sh
