//! The line in the log that each request has.

use axum::{Router, body::Body, routing::get};
use hyper::Request;
use member_mail::http::edge::Edge;
use serde_json::json;
use tower::ServiceExt;

use crate::kit::{App, log::Log, sessions::until_locked, wait::until};

#[tokio::test]
async fn a_panic_is_logged_under_the_requests_id_and_answered() {
    let log = Log::capture();
    let app = Router::new().route("/panics", get(async || -> () { panic!("out of luck") }));
    let app = Edge::default().around(app);
    let request = Request::get("/panics").header("x-request-id", "request-1");
    let request = request.body(Body::empty()).expect("a request");
    let answer = app.oneshot(request).await.expect("an answer");

    assert_eq!(answer.status(), 500);
    assert_eq!(answer.headers()["x-request-id"], "request-1");
    let log = log.text();
    let line = log.lines().find(|line| line.contains("out of luck"));
    assert!(line.is_some_and(|line| line.contains("request-1")), "{log}");
    assert!(log.contains("status=500"), "{log}");
}

#[tokio::test]
async fn a_request_whose_client_leaves_has_its_line_too() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    sqlx::raw_sql("BEGIN; SELECT FROM members FOR UPDATE")
        .execute(&mut sql)
        .await
        .expect("locked");
    let log = Log::capture();
    let leaving = app.wire("PUT", &ann, &json!({"name": "Anna"})).await;
    until_locked(&mut sql, 1).await;
    drop(leaving);
    until("the line is there", async || {
        log.text().contains("the client left before the answer")
    })
    .await;
    assert!(log.text().contains("route=\"/api/v1/members/{member_id}\""));
}
