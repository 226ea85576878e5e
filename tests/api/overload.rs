//! More requests than may run at the same time.

use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kit::{
    App, Settings, Wire,
    sessions::{sessions, until_locked},
    wait::until,
};

const MEMBERS: &str = "/api/v1/members";

async fn start(requests: usize) -> (App, PgConnection) {
    let settings = Settings {
        requests,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let mut sql = app.sql().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE members IN ACCESS EXCLUSIVE MODE")
        .execute(&mut sql)
        .await
        .expect("locked");
    (app, sql)
}

async fn release(mut sql: PgConnection) {
    sqlx::raw_sql("ROLLBACK")
        .execute(&mut sql)
        .await
        .expect("released");
}

#[tokio::test]
async fn the_request_that_is_one_too_many_is_shed_before_it_costs_anything() {
    let (app, mut sql) = start(2).await;
    let mut first = app.wire("GET", MEMBERS, &Value::Null).await;
    let mut second = app.wire("POST", MEMBERS, &json!({"name": "Ann"})).await;
    until_locked(&mut sql, 2).await;

    let shed = app.get(MEMBERS).await;
    assert_eq!(shed.header("retry-after"), "1");
    shed.problem(503, "overloaded");
    // Neither for a key that would be looked up, nor for a body that has not come.
    let mut waiting = Wire::connect(app.address).await;
    let head = format!(
        "POST {MEMBERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 9\r\n\r\n"
    );
    waiting.send(&head).await;
    let answer = waiting.reply().await.expect("an answer");
    answer.problem(503, "overloaded");
    app.get("/livez").await.expect(200);
    app.get("/readyz").await.expect(200);

    release(sql).await;
    assert_eq!(first.reply().await.expect("an answer").status, 200);
    assert_eq!(second.reply().await.expect("an answer").status, 201);
    app.get(MEMBERS).await.expect(200);
}

#[tokio::test]
async fn a_read_whose_client_left_gives_its_place_back_and_a_write_keeps_it() {
    let (app, mut sql) = start(1).await;
    let read = app.wire("GET", MEMBERS, &Value::Null).await;
    until_locked(&mut sql, 1).await;
    app.get(MEMBERS).await.problem(503, "overloaded");
    drop(read);
    until("the place is free", async || {
        let answer = app.get("/").await;
        answer.status == 200
    })
    .await;

    let write = app.wire("POST", MEMBERS, &json!({"name": "Ann"})).await;
    // The read may wait in Postgres still.
    until("the write waits", async || {
        let waiting = "wait_event_type = 'Lock' AND query LIKE '%INSERT INTO members%'";
        sessions(&mut sql, waiting).await == 1
    })
    .await;
    drop(write);
    app.notice_departures().await;
    app.get(MEMBERS).await.problem(503, "overloaded");
    release(sql).await;
    until("the write is done", async || {
        let answer = app.get(MEMBERS).await;
        answer.status == 200 && answer.ids().len() == 1
    })
    .await;
}
