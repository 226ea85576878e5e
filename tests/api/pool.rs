//! The pool: when it is small, when it is empty, and when Postgres goes away.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};

use crate::kit::{
    Answer, App, Settings,
    sessions::{sessions, until_locked},
    wait::until,
};

const SECOND: Duration = Duration::from_secs(1);

#[track_caller]
fn unavailable(answer: Answer, code: &str) {
    let seconds: u32 = answer.header("retry-after").parse().expect("seconds");
    assert!(seconds > 0);
    answer.problem(503, code);
}

#[tokio::test]
async fn one_connection_answers_fifty_requests_of_every_kind_at_once() {
    let app = App::start_with(Settings {
        connections: 1,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    app.mail_record(&ann, "Hi").await;
    let body = json!({"name": "Ann", "email": "ann@example.org"});
    let requests = (0..50).map(async |number| {
        let record = json!({"subject": "Hi"});
        match number % 4 {
            0 => app.get("/api/v1/members").await.expect(200),
            1 => app
                .get(&format!("{ann}/with-mail-records"))
                .await
                .expect(200),
            2 => app
                .post(&format!("{ann}/mail-records"), record)
                .await
                .expect(201),
            _ => app.put(&ann, body.clone()).await.expect(200),
        }
    });
    join_all(requests).await;
    // Not among them: it asks on a connection of its own, and waits seconds for the answer.
    app.get("/readyz").await.expect(200);
    assert_eq!(app.pool.size(), 1);
}

#[tokio::test]
async fn as_many_composite_reads_as_connections_do_not_wait_for_one_another() {
    let app = App::start_with(Settings {
        connections: 4,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    app.mail_record(&ann, "Hi").await;
    let path = format!("{ann}/with-mail-records");
    for _ in 0..20 {
        for read in join_all((0..4).map(|_| app.get(&path))).await {
            read.expect(200);
        }
    }
}

#[tokio::test]
async fn a_request_that_gets_no_connection_in_time_is_unavailable() {
    let app = App::start_with(Settings {
        connections: 1,
        acquire_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    lock_members(&mut sql).await;
    let waiting = app.wire("GET", &ann, &Value::Null).await;
    until_locked(&mut sql, 1).await;

    unavailable(
        app.get("/api/v1/mail-records").await,
        "database_unavailable",
    );
    unavailable(
        app.post(&format!("{ann}/mail-records"), json!({"subject": "Hi"}))
            .await,
        "database_unavailable",
    );
    drop(waiting);
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_and_answered() {
    let app = App::start_with(Settings {
        statement_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    lock_members(&mut sql).await;

    unavailable(app.get(&ann).await, "timed_out");
    unavailable(app.put(&ann, json!({"name": "Anna"})).await, "timed_out");
    assert_eq!(sessions(&mut sql, "wait_event_type = 'Lock'").await, 0);
    sqlx::query("ROLLBACK")
        .execute(&mut sql)
        .await
        .expect("unlocked");
    assert_eq!(app.get(&ann).await.expect(200).body["version"], 1);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_answered_before_it_ends() {
    let app = App::start_with(Settings {
        request_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    lock_members(&mut sql).await;

    unavailable(app.get(&ann).await, "timed_out");
    unavailable(app.put(&ann, json!({"name": "Anna"})).await, "timed_out");
    sqlx::query("ROLLBACK")
        .execute(&mut sql)
        .await
        .expect("unlocked");
    until("the write is done all the same", async || {
        app.get(&ann).await.expect(200).body["version"] == 2
    })
    .await;
}

#[tokio::test]
async fn a_service_cut_off_from_postgres_says_so_and_recovers_by_itself() {
    let (app, shim) = App::start_over_shim(Settings {
        acquire_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    app.get("/readyz").await.expect(200);

    shim.cut();
    unavailable(app.get(&ann).await, "database_unavailable");
    unavailable(
        app.put(&ann, json!({"name": "Anna"})).await,
        "database_unavailable",
    );
    unavailable(app.get("/readyz").await, "not_ready");
    app.get("/livez").await.expect(200);

    shim.release();
    recovers(&app, &ann).await;
}

#[tokio::test]
async fn a_postgres_that_stops_answering_is_noticed_and_forgiven() {
    let (app, shim) = App::start_over_shim(Settings {
        connections: 2,
        acquire_timeout: SECOND,
        request_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;

    shim.hold();
    for answer in join_all((0..4).map(|_| app.get(&ann))).await {
        let code = answer.body["code"].as_str().expect("code").to_owned();
        assert!(["timed_out", "database_unavailable"].contains(&code.as_str()));
        unavailable(answer, &code);
    }
    unavailable(app.get("/readyz").await, "not_ready");
    app.get("/livez").await.expect(200);

    shim.release();
    recovers(&app, &ann).await;
}

/// The server's machine is gone, and its address answers again from another one: what was open is
/// never heard of again.
#[tokio::test]
async fn a_connection_that_went_silent_gives_its_place_back() {
    let (app, shim) = App::start_over_shim(Settings {
        connections: 1,
        statement_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;

    shim.hold_at("FROM members WHERE id");
    let leaving = app.wire("GET", &ann, &Value::Null).await;
    shim.held().await;
    drop(leaving);
    app.notice_departures().await;
    shim.strand();

    recovers(&app, &ann).await;
}

/// Postgres was restarted: every idle connection is broken, and only the first to be used can tell.
#[tokio::test]
async fn after_a_restart_of_postgres_one_request_fails_at_most() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    lock_members(&mut sql).await;
    let reads = async { join_all((0..5).map(|_| app.get(&ann))).await };
    let unlock = async {
        until_locked(&mut sql, 5).await;
        sqlx::query("ROLLBACK")
            .execute(&mut sql)
            .await
            .expect("unlocked");
    };
    let (reads, ()) = tokio::join!(reads, unlock);
    for read in reads {
        read.expect(200);
    }
    until("every connection is idle", async || {
        app.pool.num_idle() == 5
    })
    .await;

    sqlx::query(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'member-mail'",
    )
    .execute(&mut sql)
    .await
    .expect("terminated");

    unavailable(app.get(&ann).await, "database_unavailable");
    until("the broken connection is gone", async || {
        app.pool.size() < 5
    })
    .await;
    for answer in join_all((0..5).map(|_| app.get(&ann))).await {
        answer.expect(200);
    }
}

async fn lock_members(sql: &mut PgConnection) {
    for statement in ["BEGIN", "LOCK TABLE members IN ACCESS EXCLUSIVE MODE"] {
        sqlx::query(statement)
            .execute(&mut *sql)
            .await
            .expect("locked");
    }
}

async fn recovers(app: &App, path: &str) {
    until("the service recovers", async || {
        app.get("/readyz").await.status == 200 && app.get(path).await.status == 200
    })
    .await;
    app.put(path, json!({"name": "Anna"})).await.expect(200);
}

/// It is being restored under another name, say: that is for the operator to mend, and no fault of the
/// service.
#[tokio::test]
async fn a_database_that_is_gone_is_unavailable_until_it_is_back() {
    let app = App::start().await;
    let server = app.database.options.clone().database("postgres");
    let mut sql: PgConnection = server.connect().await.expect("the server");
    let name = app.database.options.get_database().expect("a name");

    // No connection was opened yet, so nothing keeps the database from being renamed.
    rename(&mut sql, name, &format!("{name}_away")).await;
    unavailable(app.get("/api/v1/members").await, "database_unavailable");
    unavailable(app.get("/readyz").await, "not_ready");
    rename(&mut sql, &format!("{name}_away"), name).await;
    app.get("/api/v1/members").await.expect(200);
}

async fn rename(sql: &mut PgConnection, from: &str, to: &str) {
    sqlx::query(AssertSqlSafe(format!(
        "ALTER DATABASE {from} RENAME TO {to}"
    )))
    .execute(sql)
    .await
    .expect("renamed");
}
