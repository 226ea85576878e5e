//! The pool of connections.

use std::time::Duration;

use sqlx::{
    Connection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// A connection that was idle for longer is asked whether it still lives before it is used.
const TRUSTED_IDLE: Duration = Duration::from_secs(30);

/// The bounds of the pool.
#[derive(Debug, Clone)]
pub struct Bounds {
    pub max_connections: u32,
    /// How long a request waits for a connection.
    pub acquire_timeout: Duration,
    /// How long a statement may run. It also bounds how long a connection stays busy with a
    /// statement whose request has gone: dropping a query does not cancel it.
    pub statement_timeout: Duration,
}

/// Makes a pool that connects when it is first used.
#[must_use]
pub fn lazy(options: PgConnectOptions, bounds: &Bounds) -> PgPool {
    let milliseconds = bounds.statement_timeout.as_millis().to_string();
    let options = options.application_name("member-mail").options([
        ("statement_timeout", milliseconds.as_str()),
        // A transaction that nobody continues must not keep its locks.
        ("idle_in_transaction_session_timeout", milliseconds.as_str()),
        ("timezone", "UTC"),
    ]);
    PgPoolOptions::new()
        .max_connections(bounds.max_connections)
        .acquire_timeout(bounds.acquire_timeout)
        // Asking on every checkout costs a round trip for each query.
        .test_before_acquire(false)
        .before_acquire(|connection, state| {
            Box::pin(async move {
                if state.idle_for > TRUSTED_IDLE {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options)
}
