//! `member-mail serve`

use std::{io, time::Duration};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::TaskTracker;

use super::{Error, log_to_stderr};
use crate::{
    app::{self, AppState},
    config::Config,
    http::{
        layers::Limits,
        server::{self, Shutdown},
    },
    postgres::{database::Database, pool},
};

/// Serves until a signal says to stop.
///
/// # Errors
/// [`Error`], before the first request is answered.
pub async fn run() -> Result<(), Error> {
    let config = Config::load()?;
    log_to_stderr(&config);
    let mut signals = Signals::new()?;
    // Before the database is touched: a taken port is no reason to migrate.
    let listeners = server::bind(&config.bind_addresses)
        .await
        .map_err(|(address, error)| Error::Bind { address, error })?;
    let database = tokio::select! {
        database = prepare(&config) => database?,
        () = signals.next() => return Ok(()),
    };

    let pool = pool::lazy(
        database.options.clone(),
        &pool::Bounds {
            max_connections: config.database_max_connections,
            acquire_timeout: config.database_acquire_timeout,
            statement_timeout: config.database_statement_timeout,
        },
    );
    let shutdown = Shutdown::default();
    let writes = TaskTracker::new();
    let (app, _) = app::build(AppState {
        pool: pool.clone(),
        limits: Limits {
            request_timeout: config.request_timeout,
            max_body: config.max_body_bytes,
            writes: writes.clone(),
            shutdown: shutdown.clone(),
        },
    });
    let address = listeners[0].local_addr()?;
    println!("API         http://{address}/api/v1");
    println!("Swagger UI  http://{address}/swagger-ui/");
    println!("Data        {}", database.place);

    let bounds = server::Bounds {
        max_connections: config.max_client_connections,
        header_timeout: config.header_timeout,
        stall_timeout: config.stall_timeout,
        grace: config.shutdown_grace,
    };
    let serving = server::serve(listeners, app, bounds, shutdown.clone(), writes);
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        () = signals.next() => shutdown.begin(),
    }
    let stopping = async {
        serving.await;
        // What is still out is cut off with the process.
        tokio::time::timeout(Duration::from_secs(1), pool.close())
            .await
            .ok();
        database.close().await;
    };
    tokio::select! {
        () = stopping => tracing::info!("stopped"),
        () = signals.next() => tracing::warn!("stopped by a second signal"),
    }
    Ok(())
}

async fn prepare(config: &Config) -> Result<Database, Error> {
    let database = Database::open(config).await?;
    if config.migrate_on_start {
        database.migrate().await?;
    }
    Ok(database)
}

/// SIGINT and SIGTERM, heard from the start on: as process 1 of a container nothing else ends it.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
