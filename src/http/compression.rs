//! Answers compressed with gzip, for clients that want that (RFC 9110, sections 8.4 and 12.5.3).

use std::{
    io::{self, Write},
    sync::{Arc, OnceLock},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use http_body_util::BodyExt;
use tokio::task::spawn_blocking;

use super::{entity_tag::GZIP_SUFFIX, negotiate::prefers_gzip};
use crate::problem::{Code, Problem};

/// Bytes below which an answer is one packet either way.
const MIN_BYTES: u64 = 1024;
/// Faster than the network by far, and some percent longer than with the best.
const LEVEL: Compression = Compression::fast();

/// Bytes that are the same for every request: they are compressed once, when first wanted so.
#[derive(Debug, Clone)]
pub struct Constant {
    bytes: Bytes,
    gzipped: Arc<OnceLock<Bytes>>,
}

impl Constant {
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        Self {
            bytes,
            gzipped: Arc::default(),
        }
    }

    fn gzipped(&self) -> Bytes {
        // Writing into memory does not fail.
        let gzipped = self
            .gzipped
            .get_or_init(|| gzip(&self.bytes).unwrap_or_default());
        gzipped.clone()
    }
}

impl IntoResponse for Constant {
    fn into_response(self) -> Response {
        let mut response = self.bytes.clone().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Compresses the answer if the client wants that, and says in `Vary` that it might have been.
///
/// A stream has no length beforehand, and is let through as it is: compressed, its rows would wait
/// in the encoder for more.
pub async fn compress(request: Request, next: Next) -> Response {
    let wanted = prefers_gzip(request.headers());
    let mut response = next.run(request).await;
    let compressible = is_compressible(response.headers());
    if compressible || response.status() == StatusCode::NOT_MODIFIED {
        let varies = HeaderValue::from_static("accept-encoding");
        response.headers_mut().append(VARY, varies);
    }
    let length = response.body().size_hint().exact();
    if compressible && wanted && length >= Some(MIN_BYTES) {
        encode(response).await
    } else {
        response
    }
}

/// Whether the answer is text that was not encoded yet and may be (RFC 9110, section 7.7). A problem
/// is short, and its document is written further out.
fn is_compressible(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let media_type = text(CONTENT_TYPE).and_then(|value| value.split(';').next());
    let is_text = media_type.is_some_and(|media_type| {
        media_type.starts_with("text/")
            || media_type.ends_with("/javascript")
            || media_type == "application/json"
    });
    is_text
        && !headers.contains_key(CONTENT_ENCODING)
        && !text(CACHE_CONTROL).is_some_and(|value| value.contains("no-transform"))
}

async fn encode(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // What has a length is there already: nothing is waited for.
    let Ok(body) = body.collect().await else {
        return Problem::from(Code::InternalError).into_response();
    };
    let bytes = body.to_bytes();
    let constant = parts.extensions.remove();
    let constant: Constant = constant.unwrap_or_else(|| Constant::new(bytes.clone()));
    // Some milliseconds for a long page, which other requests need not wait for.
    let Ok(gzipped) = spawn_blocking(move || constant.gzipped()).await else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    let headers = &mut parts.headers;
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    if let Some(tag) = headers.get(ETAG).and_then(of_gzipped) {
        headers.insert(ETAG, tag);
    }
    Response::from_parts(parts, Body::from(gzipped))
}

/// The strong tag with the suffix; a weak one may stand for both.
fn of_gzipped(tag: &HeaderValue) -> Option<HeaderValue> {
    let opaque = tag.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
    HeaderValue::try_from(format!("\"{opaque}{GZIP_SUFFIX}\"")).ok()
}

fn gzip(bytes: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), LEVEL);
    encoder.write_all(bytes)?;
    encoder.finish().map(Bytes::from)
}
