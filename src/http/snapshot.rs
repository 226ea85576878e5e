//! A connection that reads one snapshot for as long as a client takes what is read.

use sqlx::{PgPool, Postgres, pool::PoolConnection, query_scalar};

use crate::values::Timestamp;

/// A connection that reads one snapshot. Unless the transaction is brought to its end, the connection
/// is closed: what is left of a result would else be read before the next request could have it.
#[derive(Debug)]
pub struct Snapshot {
    pub connection: PoolConnection<Postgres>,
    ended: bool,
}

impl Snapshot {
    /// # Errors
    /// If no connection is to be had.
    pub async fn begin(pool: &PgPool) -> sqlx::Result<Self> {
        let mut snapshot = Self {
            connection: pool.acquire().await?,
            ended: false,
        };
        // The client, and not the clock, decides how long it takes to read. And each statement is planned
        // for its own values: the generic plan of a prepared statement, made for frequent ones, would
        // read the whole table for a rare one.
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
                     SET LOCAL plan_cache_mode = force_custom_plan;
                     SET LOCAL statement_timeout = 0;
                     SET LOCAL idle_in_transaction_session_timeout = 0";
        sqlx::raw_sql(begin)
            .execute(&mut *snapshot.connection)
            .await?;
        Ok(snapshot)
    }

    /// When the transaction began.
    ///
    /// # Errors
    /// If the connection is gone.
    pub async fn time(&mut self) -> sqlx::Result<Timestamp> {
        query_scalar!(r#"SELECT now() AS "now!: Timestamp""#)
            .fetch_one(&mut *self.connection)
            .await
    }

    /// # Errors
    /// If the connection is gone.
    pub async fn end(mut self) -> sqlx::Result<()> {
        sqlx::raw_sql("COMMIT")
            .execute(&mut *self.connection)
            .await?;
        self.ended = true;
        Ok(())
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if !self.ended {
            self.connection.close_on_drop();
        }
    }
}
