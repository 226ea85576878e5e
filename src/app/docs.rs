//! The OpenAPI document and Swagger UI.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    body::Bytes,
    http::{
        StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION},
    },
    response::{IntoResponse, Response},
    routing::get,
};
use utoipa::openapi::{
    ContactBuilder, InfoBuilder, License, OpenApi, OpenApiBuilder, ServerBuilder, tag::TagBuilder,
};
use utoipa_swagger_ui::Config;

use crate::{
    http::{compression::Constant, extract::Path},
    problem::{Code, Problem},
};

const DESCRIPTION: &str = "\
The register of your members and the ledger of the mail you send them.

- Errors are problem documents (RFC 9457) with a stable `code`; an unknown parameter or field is \
one, a path that is not listed here is 404 `route_not_found`, a method that is not listed is 405 \
`method_not_allowed`.
- Times are RFC 3339 in UTC with microseconds, dates are `YYYY-MM-DD`.
- Lists are newest first unless `sort` says otherwise. `next_cursor` and `prev_cursor` of a page, given \
as `cursor` with the same filters and `sort`, lead to the pages beside it, and so do the links in `Link` \
(RFC 8288); no row is met twice or left out, whatever is added or deleted meanwhile. Near the \
beginning of a list, `page` and `size` number the pages instead. `count` adds a total.
- `ETag` is the `version` of a resource in quotes, with `-gzip` behind it where the answer is compressed; \
both are good in what follows. With `If-Match` a write is done only to that version, \
and is 412 `precondition_failed` otherwise; a proxy that makes the tag weak (`W/`) makes it useless for that \
(RFC 9110, section 13.1.1). With `If-None-Match` a read is 304 where nothing has changed.
- PATCH takes a JSON merge patch (RFC 7396).
- A POST with an `Idempotency-Key` can be sent again until it is answered: it is done once. An answer \
of success, 409 or 422 that the write itself came to is kept and repeated; anything else leaves the key \
free.
- The ids in the examples are those of the register that `member-mail seed` fills.";

/// How a key is sent.
pub(super) const KEY: &str = "An access key, such as `member-mail keys create` makes. The words that an \
operation has here are the scopes that the key needs. On loopback none is asked for as long as there is none.";

/// What the document says before the first operation.
pub(super) fn preamble() -> OpenApi {
    let info = InfoBuilder::new()
        .title("member-mail")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .contact(Some(
            ContactBuilder::new()
                .name(Some("member-mail contributors"))
                .build(),
        ))
        .license(Some(license()))
        .build();
    let tags = [
        ("members", "The register"),
        (
            "mail-records",
            "The ledger: one message to one recipient in each record",
        ),
        ("eligibility", "Whether a member may be mailed"),
        ("consents", "What members said about marketing mail"),
        ("suppressions", "Addresses that must not be mailed"),
        (
            "mail-events",
            "What became of each mail: append-only, and the source of its status",
        ),
        ("access-keys", "Who may do what"),
        ("audit-log", "Who wrote what"),
        (
            "problems",
            "The catalogue of what a request can be refused with",
        ),
        ("health", "For load balancers and operators"),
    ];
    OpenApiBuilder::new()
        .info(info)
        // Relative to the document, so that it holds behind a proxy that strips a prefix.
        .servers(Some([ServerBuilder::new()
            .url("..")
            .description(Some("The service that this document came from"))
            .build()]))
        // What needs a key says so itself.
        .security(Some([]))
        .tags(Some(tags.map(|(name, description)| {
            TagBuilder::new()
                .name(name)
                .description(Some(description))
                .build()
        })))
        .build()
}

fn license() -> License {
    let mut license = License::new("MIT");
    license.identifier = Some("MIT".to_owned());
    license
}

/// Serves the document and the page on it. Every reference is relative, so that they work behind a
/// proxy that strips a prefix from the path.
pub(super) fn router<S: Clone + Send + Sync + 'static>(openapi: &OpenApi) -> Router<S> {
    let document = Constant::new(serde_json::to_vec(openapi).unwrap_or_default().into());
    Router::new()
        .route(
            "/api-docs/openapi.json",
            get(move || async { ([(CONTENT_TYPE, "application/json")], document) }),
        )
        .route(
            "/swagger-ui",
            get(|| async { (StatusCode::PERMANENT_REDIRECT, [(LOCATION, "swagger-ui/")]) }),
        )
        .route("/swagger-ui/", get(|| async { file("index.html") }))
        .route(
            "/swagger-ui/{*file}",
            get(|Path(FilePath { file: name }): Path<FilePath>| async move { file(&name) }),
        )
}

#[derive(Debug, serde::Deserialize)]
struct FilePath {
    file: String,
}

fn file(name: &str) -> Result<Response, Problem> {
    let (content_type, bytes) = FILES.get(name).ok_or(Code::RouteNotFound)?;
    let headers = [
        (CONTENT_TYPE, content_type.as_str()),
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    Ok((headers, bytes.clone()).into_response())
}

/// What the page loads. Swagger UI has as much again for pages of others.
const LOADED: [&str; 8] = [
    "favicon-16x16.png",
    "favicon-32x32.png",
    "index.css",
    "index.html",
    "swagger-initializer.js",
    "swagger-ui-bundle.js",
    "swagger-ui-standalone-preset.js",
    "swagger-ui.css",
];

static FILES: LazyLock<HashMap<&str, (String, Constant)>> = LazyLock::new(|| {
    let config = Arc::new(
        Config::from("../api-docs/openapi.json")
            .try_it_out_enabled(true)
            .display_request_duration(true)
            // Else the page sends the document to a validator that is on the internet.
            .validator_url("none"),
    );
    let files = LOADED.iter().filter_map(|name| {
        let file = utoipa_swagger_ui::serve(name, config.clone()).ok()??;
        let bytes = match file.bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        };
        Some((*name, (file.content_type, Constant::new(bytes))))
    });
    files.collect()
});
