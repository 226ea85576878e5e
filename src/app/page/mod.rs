//! The page at `/`: the register in a browser, from files that are compiled in.
//!
//! Every reference in them is relative, so that they work behind a proxy that strips a prefix.

use std::{collections::HashMap, sync::LazyLock};

use axum::{
    Router,
    body::Bytes,
    http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{
    http::{compression::Constant, conditional::Preconditions, extract::Path},
    problem::{Code, Problem},
};

/// Nothing that the page shows can become a script, a style or a request to another host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
/// Asked for anew each time: files of two versions do not work together.
const CACHING: &str = "no-cache";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(index))
        .route("/page/{file}", get(file))
}

#[derive(Debug, Deserialize)]
struct FilePath {
    file: String,
}

async fn index(preconditions: Preconditions) -> Result<Response, Problem> {
    answer("index.html", &preconditions)
}

async fn file(
    Path(FilePath { file }): Path<FilePath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    answer(&file, &preconditions)
}

fn answer(name: &str, preconditions: &Preconditions) -> Result<Response, Problem> {
    let file = FILES.get(name).ok_or(Code::RouteNotFound)?;
    let headers = [(CACHE_CONTROL, CACHING), (CONTENT_SECURITY_POLICY, POLICY)];
    let answer = preconditions.read(&file.tag, || {
        ([(CONTENT_TYPE, file.content_type)], file.content.clone()).into_response()
    })?;
    Ok((headers, answer).into_response())
}

struct File {
    content_type: &'static str,
    content: Constant,
    /// What stands in its entity tag.
    tag: String,
}

impl File {
    fn new(content_type: &'static str, content: &'static str) -> Self {
        Self {
            content_type,
            content: Constant::new(Bytes::from_static(content.as_bytes())),
            tag: BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(content)),
        }
    }
}

static FILES: LazyLock<HashMap<&str, File>> = LazyLock::new(|| {
    HashMap::from([
        ("index.html", File::new(HTML, include_str!("index.html"))),
        ("page.css", File::new(CSS, include_str!("page.css"))),
        ("list.css", File::new(CSS, include_str!("list.css"))),
        ("member.css", File::new(CSS, include_str!("member.css"))),
        ("mail.css", File::new(CSS, include_str!("mail.css"))),
        ("icon.svg", File::new(SVG, include_str!("icon.svg"))),
        ("access.mjs", File::new(SCRIPT, include_str!("access.mjs"))),
        ("api.mjs", File::new(SCRIPT, include_str!("api.mjs"))),
        ("dom.mjs", File::new(SCRIPT, include_str!("dom.mjs"))),
        (
            "exports.mjs",
            File::new(SCRIPT, include_str!("exports.mjs")),
        ),
        ("fields.mjs", File::new(SCRIPT, include_str!("fields.mjs"))),
        ("mail.mjs", File::new(SCRIPT, include_str!("mail.mjs"))),
        (
            "mailability.mjs",
            File::new(SCRIPT, include_str!("mailability.mjs")),
        ),
        ("member.mjs", File::new(SCRIPT, include_str!("member.mjs"))),
        ("meter.mjs", File::new(SCRIPT, include_str!("meter.mjs"))),
        ("page.mjs", File::new(SCRIPT, include_str!("page.mjs"))),
        ("paged.mjs", File::new(SCRIPT, include_str!("paged.mjs"))),
        ("place.mjs", File::new(SCRIPT, include_str!("place.mjs"))),
        ("rows.mjs", File::new(SCRIPT, include_str!("rows.mjs"))),
        ("run.mjs", File::new(SCRIPT, include_str!("run.mjs"))),
        ("sse.mjs", File::new(SCRIPT, include_str!("sse.mjs"))),
        (
            "streamed.mjs",
            File::new(SCRIPT, include_str!("streamed.mjs")),
        ),
        (
            "timeline.mjs",
            File::new(SCRIPT, include_str!("timeline.mjs")),
        ),
    ])
});
