//! Answers in gzip.

use std::io::Read;

use axum::{
    Router,
    body::{Body, Bytes},
    http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG},
    response::{IntoResponse, Response},
    routing::get,
};
use flate2::read::GzDecoder;
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::{HeaderMap, Method, StatusCode};
use member_mail::http::edge::Edge;
use serde_json::json;
use tower::ServiceExt;

use crate::kit::{App, Settings, Wire};

const MEMBERS: &str = "/api/v1/members";
/// What browsers send.
const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Adds a member whose JSON is long enough to be compressed.
async fn long_member(app: &App) -> String {
    let body = json!({"name": "Ann", "attributes": {"notes": "long ".repeat(1_000)}});
    app.post(MEMBERS, body).await.created()
}

/// The answer as it came in, decoded.
async fn gzipped(app: &App, path: &str) -> (HeaderMap, String) {
    let request = app.request(Method::GET, path);
    let request = request.header("accept-encoding", ACCEPTED);
    let (status, headers, bytes) = request.exchange().await.expect("an answer");
    assert_eq!(status, StatusCode::OK, "{path}");
    assert_eq!(headers["content-encoding"], "gzip", "{path}");
    assert_eq!(headers["content-length"], bytes.len().to_string(), "{path}");
    assert!(varies(&headers), "{path}");
    (headers, decode(&bytes))
}

fn decode(bytes: &[u8]) -> String {
    let mut text = String::new();
    let decoded = GzDecoder::new(bytes).read_to_string(&mut text);
    decoded.expect("gzip");
    text
}

fn varies(headers: &HeaderMap) -> bool {
    let values = headers.get_all("vary").iter();
    values.into_iter().any(|value| value == "accept-encoding")
}

#[tokio::test]
async fn a_long_answer_is_compressed_for_those_who_want_it() {
    let app = App::start().await;
    let ann = long_member(&app).await;
    for path in [
        MEMBERS,
        &ann,
        "/problems",
        "/api-docs/openapi.json",
        "/swagger-ui/swagger-ui-bundle.js",
        "/swagger-ui/swagger-ui.css",
    ] {
        let plain = app.get(path).await.expect(200);
        assert!(!plain.headers.contains_key("content-encoding"), "{path}");
        assert!(varies(&plain.headers), "{path}");
        let (headers, text) = gzipped(&app, path).await;
        assert_eq!(text, plain.text, "{path}");
        assert_eq!(headers["content-type"], plain.header("content-type"));
        let length: usize = plain.header("content-length").parse().expect("a length");
        let shorter: usize = headers["content-length"]
            .to_str()
            .expect("ASCII")
            .parse()
            .expect("a length");
        assert!(shorter < length / 2, "{path}: {shorter} of {length}");
        // What never changes is compressed once, and is the same each time.
        assert_eq!(gzipped(&app, path).await.1, text);
    }
}

#[tokio::test]
async fn head_tells_of_the_compressed_answer_what_get_does() {
    let app = App::start().await;
    let ann = long_member(&app).await;
    for path in [MEMBERS, &ann, "/swagger-ui/swagger-ui-bundle.js"] {
        let (get, _) = gzipped(&app, path).await;
        let head = Wire::exchange(
            app.address,
            &format!("HEAD {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"),
        )
        .await;
        assert_eq!(head.text, "");
        for name in get.keys() {
            if !["date", "x-request-id"].contains(&name.as_str()) {
                assert_eq!(head.headers.get(name), get.get(name), "{path}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_short_answer_is_left_as_it_is_and_said_to_vary() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let request = app.request(Method::GET, &ann);
    let answer = request.header("accept-encoding", ACCEPTED).send().await;
    assert!(!answer.headers.contains_key("content-encoding"));
    assert!(varies(&answer.headers));
    assert_eq!(answer.body["name"], "ann");
}

#[tokio::test]
async fn without_the_setting_nothing_is_compressed() {
    let app = App::start_with(Settings {
        compression: false,
        ..Settings::default()
    })
    .await;
    let ann = long_member(&app).await;
    let request = app.request(Method::GET, &ann);
    let answer = request.header("accept-encoding", ACCEPTED).send().await;
    assert!(!answer.headers.contains_key("content-encoding"));
    for line in answer.headers.get_all("vary") {
        assert_ne!(line, "accept-encoding");
    }
}

/// What a handler of a later form might answer.
async fn answered(handler: fn() -> Response) -> (HeaderMap, Bytes) {
    let edge = Edge {
        compression: true,
        ..Edge::default()
    };
    let app = edge.around(Router::new().route("/", get(async move || handler())));
    let request = hyper::Request::get("/").header("accept-encoding", ACCEPTED);
    let request = request.body(Body::empty()).expect("a request");
    let answer = app.oneshot(request).await.expect("an answer");
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    (parts.headers, bytes)
}

fn long() -> String {
    "long ".repeat(1_000)
}

#[tokio::test]
async fn what_is_compressed_already_or_must_not_be_is_left_as_it_is() {
    let handlers: [fn() -> Response; 4] = [
        || ([(CONTENT_TYPE, "image/png")], long()).into_response(),
        || ([(CONTENT_TYPE, "application/zip")], long()).into_response(),
        || ([(CONTENT_ENCODING, "br")], long()).into_response(),
        || ([(CACHE_CONTROL, "private, no-transform")], long()).into_response(),
    ];
    for handler in handlers {
        let (headers, bytes) = answered(handler).await;
        assert_eq!(bytes, long(), "{headers:?}");
        assert!(!varies(&headers), "{headers:?}");
    }
}

#[tokio::test]
async fn what_has_no_length_beforehand_is_let_through() {
    let (headers, bytes) = answered(|| {
        let rows = stream::iter([long(), long()].map(Ok::<_, std::io::Error>));
        let body = Body::from_stream(rows);
        ([(CONTENT_TYPE, "text/csv")], body).into_response()
    })
    .await;
    assert!(!headers.contains_key("content-encoding"), "{headers:?}");
    assert_eq!(bytes.len(), 2 * long().len());
}

#[tokio::test]
async fn two_encodings_share_no_strong_tag() {
    for (tag, expected) in [
        ("\"3\"", "\"3-gzip\""),
        // A weak one says only that both mean the same.
        ("W/\"3\"", "W/\"3\""),
    ] {
        let handler: fn() -> Response = match tag {
            "\"3\"" => || ([(ETAG, "\"3\"")], long()).into_response(),
            _ => || ([(ETAG, "W/\"3\"")], long()).into_response(),
        };
        let (headers, bytes) = answered(handler).await;
        assert_eq!(headers["etag"], expected);
        assert_eq!(decode(&bytes), long());
    }
}

#[tokio::test]
async fn the_tag_of_a_compressed_answer_is_good_for_the_next_request() {
    let app = App::start().await;
    let ann = long_member(&app).await;
    let plain = app.get(&ann).await.expect(200);
    assert_eq!(plain.header("etag"), "\"1\"");
    let (headers, _) = gzipped(&app, &ann).await;
    let tag = headers["etag"].to_str().expect("ASCII");
    assert_eq!(tag, "\"1-gzip\"");

    let unchanged = app.request(Method::GET, &ann).header("if-none-match", tag);
    let unchanged = unchanged.header("accept-encoding", ACCEPTED).send().await;
    let unchanged = unchanged.expect(304);
    assert_eq!(unchanged.header("etag"), tag);
    assert!(varies(&unchanged.headers));

    let replace = |tag: &str| {
        let request = app.request(Method::PUT, &ann).header("if-match", tag);
        request.json(&json!({"name": "Anna"})).send()
    };
    replace(tag).await.expect(200);
    replace(tag).await.problem(412, "precondition_failed");
}

#[tokio::test]
async fn an_answer_without_a_body_is_said_to_vary_with_the_one_that_it_stands_for() {
    let (headers, _) = answered(|| StatusCode::NOT_MODIFIED.into_response()).await;
    assert!(varies(&headers), "{headers:?}");
    let (headers, _) = answered(|| StatusCode::NO_CONTENT.into_response()).await;
    assert!(!varies(&headers), "{headers:?}");
}
