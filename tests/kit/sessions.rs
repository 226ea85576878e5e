//! The sessions on a database.

use sqlx::{AssertSqlSafe, PgConnection};

use super::wait::until;

/// Returns when `count` sessions wait for a lock.
#[track_caller]
pub(crate) fn until_locked(sql: &mut PgConnection, count: usize) -> impl Future<Output = ()> {
    until("sessions wait for a lock", async move || {
        sessions(sql, "wait_event_type = 'Lock'").await == count
    })
}

/// How many sessions beside `sql` are as `condition` says.
pub(crate) async fn sessions(sql: &mut PgConnection, condition: &'static str) -> usize {
    // A transaction, in which locks are held, otherwise sees the sessions of its first look.
    sqlx::query("SELECT pg_stat_clear_snapshot()")
        .execute(&mut *sql)
        .await
        .expect("a new look");
    let query = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend' AND {condition}"
    );
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(query))
        .fetch_one(sql)
        .await
        .expect("sessions");
    count.try_into().expect("a number")
}
