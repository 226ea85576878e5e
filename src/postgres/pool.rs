//! The pool of connections.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use sqlx::{
    Connection, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::timeout;

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
///
/// An idle connection that broke cannot be told without asking the server, and asking on every
/// checkout costs a round trip for each query. So the first request after a restart of Postgres may
/// fail; what it met puts every connection that was idle by then in doubt, and those are asked.
#[must_use]
pub fn lazy(options: PgConnectOptions, bounds: &Bounds) -> PgPool {
    let milliseconds = bounds.statement_timeout.as_millis().to_string();
    let options = options.application_name("member-mail").options([
        ("statement_timeout", milliseconds.as_str()),
        // A transaction that nobody continues must not keep its locks.
        ("idle_in_transaction_session_timeout", milliseconds.as_str()),
        ("timezone", "UTC"),
    ]);
    let doubt = Doubt::default();
    let raised = doubt.clone();
    // Postgres ends a statement by then, unless it is out of reach.
    let silence = bounds.statement_timeout * 2;
    PgPoolOptions::new()
        .max_connections(bounds.max_connections)
        .acquire_timeout(bounds.acquire_timeout)
        .test_before_acquire(false)
        .after_connect(|connection, _| Box::pin(notice_lost_client(connection)))
        .before_acquire(move |connection, state| {
            let ask = state.idle_for > TRUSTED_IDLE || doubt.concerns(state.idle_for);
            Box::pin(async move {
                if ask {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .after_release(move |connection, _| {
            let doubt = raised.clone();
            Box::pin(async move {
                // Sends nothing, and returns at once unless a statement was left half way: then the
                // rest of its answer is read. Without a limit, a server that is out of reach would
                // keep the connection's place in the pool until TCP gives up, in a quarter of an
                // hour.
                let rest = timeout(silence, connection.flush()).await;
                let rest =
                    rest.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()));
                if rest.is_err() {
                    doubt.raise();
                }
                rest.map(|()| true)
            })
        })
        .connect_lazy_with(options)
}

/// Lets Postgres notice within a second that this process is gone, also while a statement waits: what
/// it had locked must not stay so until the statement's time is up.
///
/// Not among the options of the connection: a server on Windows, which cannot do that, would refuse
/// it altogether.
async fn notice_lost_client(connection: &mut PgConnection) -> sqlx::Result<()> {
    let set = sqlx::raw_sql("SET client_connection_check_interval = '1s'");
    match set.execute(connection).await {
        Ok(_) | Err(sqlx::Error::Database(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a pool of one connection, to ask whether the server is there while the other is in use.
#[must_use]
pub fn probe(options: PgConnectOptions, bounds: &Bounds) -> PgPool {
    let one = Bounds {
        max_connections: 1,
        ..bounds.clone()
    };
    lazy(options, &one)
}

/// When a connection was last found broken.
#[derive(Debug, Clone, Default)]
struct Doubt(Arc<Mutex<Option<Instant>>>);

impl Doubt {
    fn raise(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection that has been idle for so long was so already when another broke.
    fn concerns(&self, idle_for: Duration) -> bool {
        let raised = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.is_some_and(|raised| idle_for >= raised.elapsed())
    }
}
