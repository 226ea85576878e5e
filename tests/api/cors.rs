//! Pages of other origins: what a browser lets their scripts send and read.

use std::{collections::BTreeSet, time::Duration};

use axum::{Router, body::Body, routing::get};
use hyper::{HeaderMap, Method, StatusCode, header::HeaderName};
use member_mail::http::edge::Edge;
use serde_json::json;
use tower::ServiceExt;

use crate::kit::{
    App, Settings, Wire,
    document::{Subject, operations},
    sessions::until_locked,
};

const ORIGIN: &str = "https://app.example.org";
const MEMBERS: &str = "/api/v1/members";

/// Fields that a script may read anyway (Fetch standard, CORS-safelisted response-header names).
const SAFE: [&str; 7] = [
    "cache-control",
    "content-language",
    "content-length",
    "content-type",
    "expires",
    "last-modified",
    "pragma",
];

async fn start(origins: &[&str]) -> App {
    App::start_with(settings(origins)).await
}

fn settings(origins: &[&str]) -> Settings {
    Settings {
        allowed_origins: origins.iter().map(ToString::to_string).collect(),
        ..Settings::default()
    }
}

fn list(headers: &HeaderMap, name: &str) -> BTreeSet<String> {
    let values = headers.get_all(name).iter();
    values
        .flat_map(|value| value.to_str().expect("ASCII").split(','))
        .map(|name| name.trim().to_lowercase())
        .collect()
}

/// Expects that a browser shows the answer to a script of `origin`, with what it needs of the header.
#[track_caller]
fn assert_readable(headers: &HeaderMap, origin: &str) {
    assert_eq!(headers["access-control-allow-origin"], origin);
    assert!(list(headers, "vary").contains("origin"), "{headers:?}");
    let exposed = list(headers, "access-control-expose-headers");
    for name in [
        "accept-patch",
        "allow",
        "content-disposition",
        "etag",
        "idempotency-replayed",
        "link",
        "location",
        "preference-applied",
        "ratelimit",
        "ratelimit-policy",
        "retry-after",
        "www-authenticate",
        "x-request-id",
    ] {
        assert!(exposed.contains(name), "{name} in {headers:?}");
    }
    assert!(!headers.contains_key("access-control-allow-credentials"));
}

#[tokio::test]
async fn a_script_may_send_every_request_of_the_contract() {
    let app = start(&["https://other.example", ORIGIN]).await;
    let ann = Subject::create(&app).await;
    for operation in operations() {
        let asked = app
            .request(Method::OPTIONS, &operation.path_on(&ann))
            .header("origin", ORIGIN)
            .header("access-control-request-method", operation.method.as_str())
            .header(
                "access-control-request-headers",
                "content-type, idempotency-key, if-match, last-event-id",
            );
        let answer = asked.send().await.expect(200);
        assert_eq!(answer.header("access-control-allow-origin"), ORIGIN);
        assert!(list(&answer.headers, "vary").contains("origin"));
        assert_eq!(answer.header("access-control-max-age"), "7200");
        let methods = list(&answer.headers, "access-control-allow-methods");
        let name = operation.name();
        assert!(
            methods.contains(&operation.method.as_str().to_lowercase()),
            "{name}"
        );
        let fields = list(&answer.headers, "access-control-allow-headers");
        let own = operation.parameters("header");
        for field in own.iter().map(String::as_str).chain([
            "accept",
            "authorization",
            "client-platform",
            "content-type",
            "idempotency-key",
            "if-match",
            "if-none-match",
            "last-event-id",
            "prefer",
            "x-request-id",
        ]) {
            assert!(fields.contains(&field.to_lowercase()), "{name}: {field}");
        }
    }
}

#[tokio::test]
async fn a_script_may_read_every_field_that_the_document_has() {
    let app = start(&[ORIGIN]).await;
    let exposed = app.request(Method::GET, MEMBERS).header("origin", ORIGIN);
    let exposed = exposed.send().await.expect(200).headers;
    let exposed = list(&exposed, "access-control-expose-headers");
    for operation in operations() {
        let responses = operation.says["responses"].as_object().expect("responses");
        for response in responses.values() {
            let fields = response["headers"].as_object();
            for field in fields.into_iter().flat_map(|fields| fields.keys()) {
                let field = field.to_lowercase();
                assert!(
                    exposed.contains(&field) || SAFE.contains(&field.as_str()),
                    "{}: {field}",
                    operation.name()
                );
            }
        }
    }
}

#[tokio::test]
async fn a_script_may_read_every_answer_a_refusal_too() {
    let app = start(&[ORIGIN]).await;
    let ann = Subject::create(&app).await;
    let large = "x".repeat(2 * 1024 * 1024);
    let request = |method, path: &str| app.request(method, path).header("origin", ORIGIN);
    let name = json!({"name": "Ann"});
    for (status, request) in [
        (200, request(Method::GET, MEMBERS)),
        (201, request(Method::POST, MEMBERS).json(&name)),
        (204, request(Method::DELETE, &ann.mail_record)),
        (308, request(Method::GET, "/swagger-ui")),
        (
            304,
            request(Method::GET, &ann.member).header("if-none-match", "*"),
        ),
        (400, request(Method::GET, "/api/v1/members?limit=0")),
        (404, request(Method::GET, "/nothing")),
        (405, request(Method::PUT, MEMBERS)),
        (
            412,
            request(Method::DELETE, &ann.member).header("if-match", "\"9\""),
        ),
        (413, request(Method::POST, MEMBERS).body(large)),
        (
            414,
            request(Method::GET, &format!("/{}", "a".repeat(9_000))),
        ),
        (415, request(Method::POST, MEMBERS).body("{}")),
        (422, request(Method::POST, MEMBERS).json(&json!({}))),
        (
            431,
            request(Method::GET, MEMBERS).header("x-long", "a".repeat(33_000)),
        ),
    ] {
        assert_readable(&request.send().await.expect(status).headers, ORIGIN);
    }
    app.shutdown.announce();
    let answer = request(Method::GET, "/readyz").send().await.expect(503);
    assert_readable(&answer.headers, ORIGIN);
}

#[tokio::test]
async fn a_script_may_read_that_time_ran_out() {
    let app = App::start_with(Settings {
        request_timeout: Duration::from_secs(1),
        ..settings(&[ORIGIN])
    })
    .await;
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE members IN ACCESS EXCLUSIVE MODE")
        .execute(&mut sql)
        .await
        .expect("locked");
    let request = app.request(Method::GET, &ann).header("origin", ORIGIN);
    let (answer, ()) = tokio::join!(request.send(), until_locked(&mut sql, 1));
    assert_readable(&answer.headers, ORIGIN);
    answer.problem(503, "timed_out");

    let mut slow = Wire::connect(app.address).await;
    slow.send(&format!(
        "POST {MEMBERS} HTTP/1.1\r\nHost: x\r\nOrigin: {ORIGIN}\r\nContent-Length: 9\r\n\r\n{{"
    ))
    .await;
    let answer = slow.reply().await.expect("an answer");
    assert_readable(&answer.headers, ORIGIN);
    answer.problem(408, "request_timeout");
}

#[tokio::test]
async fn a_script_may_read_that_the_service_failed() {
    let app = Router::new().route("/panics", get(async || -> () { panic!("out of luck") }));
    let edge = Edge {
        allowed_origins: vec![ORIGIN.to_owned()],
        ..Edge::default()
    };
    let request = hyper::Request::get("/panics").header("origin", ORIGIN);
    let request = request.body(Body::empty()).expect("a request");
    let answer = edge.around(app).oneshot(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_readable(answer.headers(), ORIGIN);
}

/// A browser shows nothing of a refused preflight, so the refusal waits for the request itself.
#[tokio::test]
async fn a_host_that_is_not_known_is_refused_so_that_a_script_can_read_it() {
    let app = App::start_with(Settings {
        allowed_hosts: Some(Vec::new()),
        ..settings(&[ORIGIN])
    })
    .await;
    let request = |method| {
        let request = app.request(method, MEMBERS).header("origin", ORIGIN);
        request.header("host", "evil.example")
    };
    let preflight = request(Method::OPTIONS).header("access-control-request-method", "GET");
    preflight.send().await.expect(200);
    let refused = request(Method::GET).send().await;
    assert_readable(&refused.headers, ORIGIN);
    refused.problem(421, "unknown_host");
}

#[tokio::test]
async fn an_origin_that_is_not_named_is_told_nothing() {
    let app = start(&[ORIGIN]).await;
    for origin in [
        Some("https://evil.example"),
        Some("https://app.example.org.evil.example"),
        Some("http://app.example.org"),
        Some("https://app.example.org:8443"),
        Some("null"),
        None,
    ] {
        for method in [Method::GET, Method::OPTIONS] {
            let request = app.request(method, MEMBERS);
            let request = match origin {
                Some(origin) => request.header("origin", origin),
                None => request,
            };
            let answer = request.send().await.expect(200);
            assert!(
                !answer.headers.contains_key("access-control-allow-origin"),
                "{origin:?}"
            );
            // A cache must not give this one to the origin that is named.
            assert!(list(&answer.headers, "vary").contains("origin"));
        }
    }
}

#[tokio::test]
async fn any_origin_is_let_in_without_its_cookies() {
    let app = start(&["*"]).await;
    let request = app.request(Method::GET, MEMBERS);
    let answer = request.header("origin", "https://any.example").send().await;
    assert_readable(&answer.expect(200).headers, "*");
}

#[tokio::test]
async fn without_the_setting_other_origins_are_not_spoken_of() {
    let app = start(&[]).await;
    for (method, status) in [(Method::GET, 200), (Method::OPTIONS, 405)] {
        let request = app
            .request(method, MEMBERS)
            .header("origin", ORIGIN)
            .header("access-control-request-method", "GET");
        let answer = request.send().await.expect(status);
        let names = answer.headers.keys().map(HeaderName::as_str);
        assert_eq!(
            names
                .filter(|name| name.starts_with("access-control"))
                .count(),
            0
        );
        assert!(!list(&answer.headers, "vary").contains("origin"));
    }
}

/// Someone who looks for why a page does not work finds its requests in the log.
#[tokio::test]
async fn a_preflight_has_its_request_id_and_its_line() {
    let log = crate::kit::log::Log::capture();
    let app = start(&[ORIGIN]).await;
    let request = app.request(Method::OPTIONS, MEMBERS);
    let request = request
        .header("origin", ORIGIN)
        .header("access-control-request-method", "PUT");
    let answer = request.header("x-request-id", "preflight-1").send().await;
    assert_eq!(answer.header("x-request-id"), "preflight-1");
    let log = log.text();
    let line = log.lines().find(|line| line.contains("preflight-1"));
    assert!(line.is_some_and(|line| line.contains("OPTIONS")), "{log}");
}
