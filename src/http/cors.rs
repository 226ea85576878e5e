//! Pages of other origins, and what their scripts may send and read (Fetch standard, CORS
//! protocol).

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may rely on what it was told. None keeps it longer than two hours.
const MAX_AGE: Duration = Duration::from_hours(2);

const METHODS: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Fields of a request that a script needs leave for.
const REQUEST_FIELDS: [HeaderName; 10] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    HeaderName::from_static("client-platform"),
    header::CONTENT_TYPE,
    HeaderName::from_static("idempotency-key"),
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("prefer"),
    HeaderName::from_static("x-request-id"),
];

/// Fields of an answer that a script sees only if they are named.
const ANSWER_FIELDS: [HeaderName; 13] = [
    HeaderName::from_static("accept-patch"),
    header::ALLOW,
    header::CONTENT_DISPOSITION,
    header::ETAG,
    HeaderName::from_static("idempotency-replayed"),
    header::LINK,
    header::LOCATION,
    HeaderName::from_static("preference-applied"),
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-policy"),
    header::RETRY_AFTER,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("x-request-id"),
];

/// The layer for `origins`, or for any where that is `*`; none where there are none.
///
/// It answers every `OPTIONS` itself, also where the request that is to follow will be refused: a
/// script can read the refusal of that one, and nothing of a refused preflight. Cookies are never
/// asked for, so that what a page may do does not depend on who looks at it.
#[must_use]
pub fn layer(origins: &[String]) -> Option<CorsLayer> {
    let origins = match origins {
        [] => return None,
        [any] if any == "*" => AllowOrigin::any(),
        named => AllowOrigin::list(named.iter().filter_map(|o| HeaderValue::from_str(o).ok())),
    };
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(METHODS)
        .allow_headers(REQUEST_FIELDS)
        .expose_headers(ANSWER_FIELDS)
        .max_age(MAX_AGE)
        // An answer differs by nothing else, and caches keep none to a preflight.
        .vary([header::ORIGIN]);
    Some(layer)
}
