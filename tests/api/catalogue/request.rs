//! What is wrong with the request itself.

use hyper::Method;
use serde_json::json;

use super::{CREATE, LIST, MEMBERS, READ, REPLACE, Refusal, create, get, of_answer, of_reply};
use crate::kit::{App, Settings, Wire};

pub(super) async fn malformed_json() -> Refusal {
    let app = App::start().await;
    let request = create(&app).header("content-type", "application/json");
    of_answer(CREATE, request.body("{").send().await)
}

pub(super) async fn invalid_parameter() -> Refusal {
    let app = App::start().await;
    of_answer(LIST, app.get("/api/v1/members?limit=0").await)
}

pub(super) async fn invalid_header() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let request = get(&app, &ann).header("if-none-match", "1");
    of_answer(READ, request.send().await)
}

pub(super) async fn invalid_host() -> Refusal {
    let app = App::start().await;
    let request = "GET /api/v1/members HTTP/1.1\r\nConnection: close\r\n\r\n";
    of_reply(LIST, Wire::exchange(app.address, request).await)
}

pub(super) async fn unknown_host() -> Refusal {
    let app = App::start_with(Settings {
        allowed_hosts: Some(Vec::new()),
        ..Settings::default()
    })
    .await;
    let request = get(&app, MEMBERS).header("host", "evil.example");
    of_answer(LIST, request.send().await)
}

pub(super) async fn route_not_found() -> Refusal {
    let app = App::start().await;
    of_answer("GET /problems/{code}", app.get("/problems/nothing").await)
}

pub(super) async fn method_not_allowed() -> Refusal {
    let app = App::start().await;
    of_answer("DELETE /api/v1/members", app.delete(MEMBERS).await)
}

pub(super) async fn not_acceptable() -> Refusal {
    let app = App::start().await;
    let request = get(&app, MEMBERS).header("accept", "image/png");
    of_answer(LIST, request.send().await)
}

pub(super) async fn content_too_large() -> Refusal {
    let app = App::start_with(Settings {
        max_body: 1024,
        ..Settings::default()
    })
    .await;
    of_answer(CREATE, create(&app).body(vec![b' '; 1025]).send().await)
}

pub(super) async fn uri_too_long() -> Refusal {
    let app = App::start().await;
    let path = format!("{MEMBERS}?tag={}", "a".repeat(9_000));
    of_answer(LIST, app.get(&path).await)
}

pub(super) async fn unsupported_media_type() -> Refusal {
    let app = App::start().await;
    let request = create(&app).header("content-type", "text/csv");
    of_answer(CREATE, request.body("name\nAnn\n").send().await)
}

pub(super) async fn unsupported_content_coding() -> Refusal {
    let app = App::start().await;
    let request = create(&app).header("content-encoding", "gzip");
    of_answer(CREATE, request.json(&json!({"name": "Ann"})).send().await)
}

pub(super) async fn unsupported_patch_type() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let request = app.request(Method::PATCH, &ann);
    let request = request.of_type("application/json-patch+json");
    let operation = "PATCH /api/v1/members/{member_id}";
    of_answer(operation, request.json(&json!([])).send().await)
}

pub(super) async fn invalid_body() -> Refusal {
    let app = App::start().await;
    of_answer(CREATE, app.post(MEMBERS, json!({})).await)
}

pub(super) async fn precondition_required() -> Refusal {
    let app = App::start_with(Settings {
        require_if_match: true,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    of_answer(REPLACE, app.put(&ann, json!({"name": "Anna"})).await)
}

pub(super) async fn header_fields_too_large() -> Refusal {
    let app = App::start().await;
    let request = get(&app, MEMBERS).header("x-long", "a".repeat(33_000));
    of_answer(LIST, request.send().await)
}
