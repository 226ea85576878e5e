//! Clients that leave before they were answered.

use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kit::{
    App, Settings, Wire,
    sessions::{sessions, until_locked},
    wait::until,
};

async fn execute(sql: &mut PgConnection, statement: &'static str) {
    sqlx::query(statement).execute(sql).await.expect(statement);
}

async fn names(sql: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar("SELECT name FROM members ORDER BY id")
        .fetch_all(sql)
        .await
        .expect("names")
}

#[tokio::test]
async fn a_write_whose_client_left_leaves_a_clean_connection() {
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let (app, shim) = App::start_over_shim(settings).await;
    let mut sql = app.sql().await;

    shim.hold_at("INSERT INTO members");
    let leaving = app
        .wire("POST", "/api/v1/members", &json!({"name": "first"}))
        .await;
    shim.held().await;
    drop(leaving);
    app.notice_departures().await;
    shim.release();

    app.post("/api/v1/members", json!({"name": "second"}))
        .await
        .created();
    assert_eq!(names(&mut sql).await, ["first", "second"]);
    assert_eq!(
        sessions(&mut sql, "state LIKE 'idle in transaction%'").await,
        0
    );
    for _ in 0..10 {
        app.get("/api/v1/members").await.expect(200);
    }
    assert_eq!(app.pool.size(), 1);
}

/// Both kinds of waiting: on the row when the statement runs, on the table before it is even parsed.
#[tokio::test]
async fn a_write_that_waits_for_a_lock_is_done_in_full_although_its_client_left() {
    for lock in [
        "SELECT FROM members FOR UPDATE",
        "LOCK TABLE members IN ACCESS EXCLUSIVE MODE",
    ] {
        let app = App::start().await;
        let ann = app.member("ann").await;
        let mut sql = app.sql().await;

        execute(&mut sql, "BEGIN").await;
        execute(&mut sql, lock).await;
        let leaving = app.wire("PUT", &ann, &json!({"name": "Anna"})).await;
        until_locked(&mut sql, 1).await;
        drop(leaving);
        app.notice_departures().await;
        execute(&mut sql, "COMMIT").await;

        until("the write is done", async || {
            app.get(&ann).await.expect(200).body["version"] == 2
        })
        .await;
        let anna = app.get(&ann).await.expect(200).body;
        assert_eq!(anna["name"], "Anna");
        assert_eq!(anna["email"], Value::Null);
    }
}

#[tokio::test]
async fn the_statement_of_a_read_whose_client_left_ends_by_the_statement_timeout() {
    let settings = Settings {
        connections: 1,
        statement_timeout: std::time::Duration::from_secs(1),
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let mut sql = app.sql().await;

    execute(&mut sql, "BEGIN").await;
    execute(&mut sql, "LOCK TABLE members IN ACCESS EXCLUSIVE MODE").await;
    let leaving = app.wire("GET", "/api/v1/members", &Value::Null).await;
    until_locked(&mut sql, 1).await;
    drop(leaving);

    // On the only connection, while the lock is still held.
    app.get("/api/v1/mail-records").await.expect(200);
    assert_eq!(sessions(&mut sql, "wait_event_type = 'Lock'").await, 0);
    assert_eq!(app.pool.size(), 1);
}

#[tokio::test]
async fn clients_that_leave_while_they_wait_for_a_connection_take_none_with_them() {
    let settings = Settings {
        connections: 2,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let mut sql = app.sql().await;

    for _ in 0..20 {
        execute(&mut sql, "BEGIN").await;
        execute(&mut sql, "LOCK TABLE members IN ACCESS EXCLUSIVE MODE").await;
        let leaving: Vec<Wire> =
            join_all((0..200).map(|_| app.wire("GET", "/api/v1/members", &Value::Null))).await;
        until_locked(&mut sql, 2).await;
        drop(leaving);
        app.notice_departures().await;
        execute(&mut sql, "COMMIT").await;

        app.get("/api/v1/members").await.expect(200);
        until("every connection is back", async || {
            (app.pool.size(), app.pool.num_idle()) == (2, 2)
        })
        .await;
    }
}
