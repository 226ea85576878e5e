//! The end of the service.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::PgConnection;
use tokio::time::timeout;

use crate::kit::{
    App, Settings, Wire,
    sessions::{sessions, until_locked},
    wait::{DEADLINE, until},
};

const GET: &str = "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n";

/// A member, and another session that holds her row.
async fn locked_member(app: &App) -> (String, PgConnection) {
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    for statement in ["BEGIN", "SELECT FROM members FOR UPDATE"] {
        sqlx::query(statement)
            .execute(&mut sql)
            .await
            .expect("locked");
    }
    (ann, sql)
}

async fn unlock(sql: &mut PgConnection) {
    sqlx::query("ROLLBACK")
        .execute(sql)
        .await
        .expect("unlocked");
}

async fn served(app: &mut App) {
    timeout(DEADLINE, &mut app.serving)
        .await
        .expect("an end")
        .expect("no panic");
}

#[tokio::test]
async fn running_requests_are_answered_and_new_ones_are_sent_elsewhere() {
    let mut app = App::start().await;
    let (ann, mut sql) = locked_member(&app).await;
    let mut idle = Wire::connect(app.address).await;
    idle.send(GET).await;
    assert_eq!(idle.reply().await.expect("an answer").status, 200);
    let silent = Wire::connect(app.address).await;
    let body = json!({"subject": "Hi"});
    let mut slow = app.wire("PUT", &ann, &json!({"name": "Anna"})).await;
    until_locked(&mut sql, 1).await;

    app.shutdown.begin();
    let mut probe = Wire::ask(app.address, "GET", "/readyz", &Value::Null).await;
    let reply = probe.reply().await.expect("an answer");
    assert_eq!(
        (reply.status, &reply.body["code"]),
        (503, &json!("not_ready"))
    );
    assert_eq!(reply.headers["connection"], "close");
    let mut probe = Wire::ask(app.address, "GET", "/livez", &Value::Null).await;
    assert_eq!(probe.reply().await.expect("an answer").status, 200);
    for (method, path) in [
        ("GET", ann.as_str()),
        ("POST", &format!("{ann}/mail-records")),
    ] {
        let mut new = Wire::ask(app.address, method, path, &body).await;
        let reply = new.reply().await.expect("an answer");
        assert_eq!(
            (reply.status, &reply.body["code"]),
            (503, &json!("shutting_down"))
        );
        assert!(reply.headers.contains_key("retry-after"), "{reply:?}");
    }
    // Nothing is under way on these, so nothing is waited for.
    assert_eq!(idle.closed().await, "");
    assert_eq!(silent.closed().await, "");
    assert!(!app.serving.is_finished());

    unlock(&mut sql).await;
    let reply = slow.reply().await.expect("an answer");
    assert_eq!((reply.status, &reply.body["name"]), (200, &json!("Anna")));
    assert_eq!(reply.headers["connection"], "close");
    served(&mut app).await;
    assert_eq!(slow.closed().await, "");
}

#[tokio::test]
async fn an_announced_end_is_told_to_load_balancers_before_anyone_is_refused() {
    let app = App::start().await;
    app.shutdown.announce();
    app.get("/readyz").await.problem(503, "not_ready");
    app.get("/livez").await.expect(200);
    app.get("/api/v1/members").await.expect(200);
    app.member("ann").await;
}

#[tokio::test]
async fn a_write_whose_client_left_is_finished_first() {
    let mut app = App::start().await;
    let (ann, mut sql) = locked_member(&app).await;
    let leaving = app.wire("PUT", &ann, &json!({"name": "Anna"})).await;
    until_locked(&mut sql, 1).await;
    drop(leaving);
    app.notice_departures().await;

    app.shutdown.begin();
    let mut probe = Wire::ask(app.address, "GET", "/readyz", &Value::Null).await;
    assert_eq!(probe.reply().await.expect("an answer").status, 503);
    assert!(!app.serving.is_finished());

    unlock(&mut sql).await;
    served(&mut app).await;
    let name: String = sqlx::query_scalar("SELECT name FROM members")
        .fetch_one(&mut sql)
        .await
        .expect("name");
    assert_eq!(name, "Anna");
}

#[tokio::test]
async fn the_end_comes_with_the_grace_period_whoever_still_waits() {
    let mut app = App::start_with(Settings {
        grace: Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    let (ann, mut sql) = locked_member(&app).await;
    let slow = app.wire("PUT", &ann, &json!({"name": "Anna"})).await;
    let departed = app.wire("PUT", &ann, &json!({"name": "Anne"})).await;
    let mut half = Wire::connect(app.address).await;
    half.send("GET /livez HTTP/1.1\r\nHo").await;
    let deaf = deaf_client(&app).await;
    until_locked(&mut sql, 2).await;
    drop(departed);
    app.notice_departures().await;

    app.shutdown.begin();
    served(&mut app).await;
    assert_eq!(slow.closed().await, "");
    assert_eq!(half.closed().await, "");
    drop(deaf);
}

#[tokio::test]
async fn without_work_the_end_comes_at_once() {
    let mut app = App::start_with(Settings {
        grace: Duration::from_hours(1),
        header_timeout: Duration::from_hours(1),
        ..Settings::default()
    })
    .await;
    let silent = Wire::connect(app.address).await;
    let mut idle = Wire::connect(app.address).await;
    idle.send(GET).await;
    assert_eq!(idle.reply().await.expect("an answer").status, 200);
    let mut sql = app.sql().await;
    app.get("/api/v1/members").await.expect(200);
    app.shutdown.begin();
    served(&mut app).await;
    assert_eq!(silent.closed().await, "");
    assert_eq!(idle.closed().await, "");

    app.pool.close().await;
    until("no session is left", async || {
        sessions(&mut sql, "true").await == 0
    })
    .await;
}

/// A client that asks for much and reads nothing.
async fn deaf_client(app: &App) -> Wire {
    let mut deaf = Wire::connect(app.address).await;
    let request = "GET /api-docs/openapi.json HTTP/1.1\r\nHost: here\r\n\r\n".repeat(100);
    // Until the service stops reading. Should it only be slow, the test is no less right: this client
    // reads nothing either way.
    while timeout(Duration::from_millis(250), deaf.try_send(&request))
        .await
        .is_ok_and(|sent| sent.is_ok())
    {}
    deaf
}
