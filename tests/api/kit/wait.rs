//! Waiting for what comes in its own time.

use std::time::{Duration, Instant};

use sqlx::PgConnection;

/// Generous: what is waited for comes far sooner, or the test fails.
const DEADLINE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// Returns when `condition` holds.
#[track_caller]
pub(crate) fn until(
    what: &str,
    mut condition: impl AsyncFnMut() -> bool,
) -> impl Future<Output = ()> {
    let place = std::panic::Location::caller();
    async move {
        let begin = Instant::now();
        while !condition().await {
            assert!(
                begin.elapsed() < DEADLINE,
                "{place}: never came true: {what}"
            );
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Returns when `count` statements of the service wait for a lock.
pub(crate) async fn until_locked(sql: &mut PgConnection, count: i64) {
    until("statements wait for a lock", async || {
        sessions(sql, "wait_event_type = 'Lock'").await == count
    })
    .await;
}

/// How many sessions of the service are as `condition` says.
pub(crate) async fn sessions(sql: &mut PgConnection, condition: &'static str) -> i64 {
    // A transaction, in which locks are held, otherwise sees the sessions of its first look.
    sqlx::query("SELECT pg_stat_clear_snapshot()")
        .execute(&mut *sql)
        .await
        .expect("a new look");
    let query = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'member-mail' AND {condition}"
    );
    sqlx::query_scalar(sqlx::AssertSqlSafe(query))
        .fetch_one(sql)
        .await
        .expect("sessions")
}
