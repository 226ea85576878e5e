//! `member-mail serve`

use std::{
    io::{self, Write},
    time::Duration,
};

use axum::Router;
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::task::TaskTracker;

use super::{Error, log_to_stderr, views};
use crate::{
    access_keys::{
        self,
        keys::{Demand, Keys},
    },
    app::{self, AppState},
    audit_log,
    config::Config,
    http::{
        access::FailedSignIns,
        body::Bodies,
        edge::Edge,
        idempotency::{self, Retention},
        layers::{Limits, Running, SecondAttempts},
        rate_limit::RateLimit,
        server::{self, Shutdown},
        streams::Streams,
        sweep::sweep,
        views::Views,
    },
    mail_records::events::consequences::FailureLimit,
    postgres::{database::Database, pool},
    suppressions,
    values::PublicUrl,
};

/// How often what has expired is removed.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// The service, put together from its settings.
pub struct Service {
    pub pool: PgPool,
    pub shutdown: Shutdown,
    pub sweep_interval: Duration,
    keys: Keys,
    audit_log_retention: Option<Duration>,
    rate_limit: RateLimit,
    app: Router,
    bounds: server::Bounds,
    writes: TaskTracker,
}

impl Service {
    /// Makes a service on a database, which need not answer yet.
    #[must_use]
    pub fn new(config: &Config, views: Views, database: &PgConnectOptions) -> Self {
        let bounds = pool::Bounds {
            max_connections: config.database_max_connections,
            acquire_timeout: config.database_acquire_timeout,
            statement_timeout: config.database_statement_timeout,
        };
        let pool = pool::lazy(database.clone(), &bounds);
        let demand = if config.on_loopback() {
            Demand::OnceOneWasMade
        } else {
            Demand::Always
        };
        let keys = Keys::new(pool.clone(), demand);
        let rate_limit = RateLimit::new(config.rate_limit);
        let shutdown = Shutdown::default();
        let writes = TaskTracker::new();
        let (app, _) = app::build(AppState {
            pool: pool.clone(),
            keys: keys.clone(),
            views,
            trusted_proxies: config.trusted_proxies.clone().into(),
            failed_sign_ins: FailedSignIns::new(config.failed_sign_ins_per_minute),
            rate_limit: rate_limit.clone(),
            probe: pool::probe(database.clone(), &bounds),
            idempotency: Retention(config.idempotency_retention),
            failure_limit: FailureLimit(
                Some(config.transient_failures_limit).filter(|limit| *limit > 0),
            ),
            streams: Streams::new(
                config.max_streams,
                config.database_acquire_timeout,
                config.heartbeat,
                // No statement gives its next row later, unless Postgres is out of reach.
                config.database_statement_timeout * 2,
            ),
            limits: Limits {
                request_timeout: config.request_timeout,
                bodies: Bodies::new(config.max_body_bytes),
                hosts: config.allowed_hosts.clone().into(),
                running: Running::new(config.max_requests),
                require_if_match: config.require_if_match,
                writes: writes.clone(),
                second_attempts: SecondAttempts::default(),
                shutdown: shutdown.clone(),
            },
            edge: Edge {
                allowed_origins: config.cors_allowed_origins.clone(),
                compression: config.compression,
                public_url: PublicUrl::new(&config.public_url),
            },
        });
        Self {
            pool,
            shutdown,
            sweep_interval: SWEEP_INTERVAL,
            audit_log_retention: config.audit_log_retention,
            keys,
            rate_limit,
            app,
            bounds: server::Bounds {
                max_connections: config.max_client_connections,
                header_timeout: config.header_timeout,
                stall_timeout: config.stall_timeout,
                grace: config.shutdown_grace,
            },
            writes,
        }
    }

    /// Serves whoever comes to `listeners`, until [`shutdown`](Self::shutdown) is over.
    pub async fn serve(self, listeners: Vec<TcpListener>) {
        let Self {
            pool,
            shutdown,
            sweep_interval,
            audit_log_retention,
            rate_limit,
            app,
            bounds,
            writes,
            ..
        } = self;
        let keys = sweep(sweep_interval, "idempotency keys", |limit| {
            idempotency::delete_expired(&pool, limit)
        });
        let suppressions = sweep(sweep_interval, "suppressions", |limit| {
            suppressions::queries::delete_expired(&pool, limit)
        });
        let audit_log = async {
            match audit_log_retention {
                Some(age) => {
                    sweep(sweep_interval, "entries of the audit log", |limit| {
                        audit_log::queries::delete_older(&pool, age, limit)
                    })
                    .await
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = server::serve(listeners, app, bounds, shutdown, writes) => {}
            never = rate_limit.forget_idle() => match never {},
            never = keys => match never {},
            never = audit_log => match never {},
            never = suppressions => match never {},
        }
    }
}

/// Serves until a signal says to stop.
///
/// # Errors
/// [`Error`], before the first request is answered.
pub async fn run() -> Result<(), Error> {
    let config = Config::load()?;
    log_to_stderr(&config);
    let views = views(&config)?;
    let mut signals = Signals::new()?;
    // The usual limit is 1,024 files, far below the connections that are allowed.
    rlimit::increase_nofile_limit(u64::MAX).ok();
    // Before the database is touched: a taken port is no reason to migrate.
    let listeners = server::bind(&config.bind_addresses)
        .await
        .map_err(|(address, error)| Error::Bind { address, error })?;
    let mut database = tokio::select! {
        database = prepare(&config) => database?,
        () = signals.next() => return Ok(()),
    };

    let service = Service::new(&config, views.clone(), &database.options);
    greet(&listeners, &database)?;
    say_who_is_let_in(&service.keys).await?;
    warn_of_views(&service.pool, &views).await;

    let (pool, shutdown) = (service.pool.clone(), service.shutdown.clone());
    let serving = service.serve(listeners);
    let stopping = async {
        signals.next().await;
        shutdown.announce();
        let delay = config.shutdown_delay;
        if delay.is_zero() || tokio::time::timeout(delay, signals.next()).await.is_err() {
            shutdown.begin();
            signals.next().await;
        }
    };
    tokio::select! {
        () = serving => {}
        () = stopping => {
            tracing::warn!("stopped by a second signal");
            return Ok(());
        }
        // Whoever watches over the process starts it again, and with it the server.
        () = database.lost() => {
            let place = database.place.clone();
            database.close().await;
            return Err(Error::LostPostgres { place });
        }
    }
    // What is still out is cut off with the process.
    tokio::time::timeout(Duration::from_secs(1), pool.close())
        .await
        .ok();
    tokio::select! {
        () = database.close() => tracing::info!("stopped"),
        () = signals.next() => tracing::warn!("stopped by a second signal"),
    }
    Ok(())
}

/// Says where everything is.
fn greet(listeners: &[TcpListener], database: &Database) -> io::Result<()> {
    let address = listeners[0].local_addr()?;
    let mut out = io::stdout().lock();
    writeln!(out, "Page        http://{address}/")?;
    writeln!(out, "API         http://{address}/api/v1")?;
    writeln!(out, "Swagger UI  http://{address}/swagger-ui/")?;
    writeln!(out, "Data        {}", database.place)
}

/// Says whether requests need an access key.
async fn say_who_is_let_in(keys: &Keys) -> io::Result<()> {
    let access = match (keys.demand(), keys.were_ever_made().await) {
        (_, Ok(true)) => "with an access key alone",
        (Demand::Always, Ok(false)) => {
            "with an access key alone, and there is none: make one by `member-mail keys create`"
        }
        (Demand::OnceOneWasMade, Ok(false)) => {
            "for all on this machine, until an access key is made by `member-mail keys create`"
        }
        (_, Err(error)) => {
            tracing::warn!("whether there are access keys could not be read: {error}");
            return Ok(());
        }
    };
    writeln!(io::stdout().lock(), "Access      {access}")
}

/// Says of which keys the view is not configured, so that they are let in nowhere.
async fn warn_of_views(pool: &PgPool, views: &Views) {
    match access_keys::queries::viewed(pool).await {
        Ok(keys) => {
            for (key, view) in keys {
                if views.get(&view).is_none() {
                    tracing::warn!(%key, view, "the view of a key is not configured");
                }
            }
        }
        Err(error) => tracing::warn!("the views of the keys could not be read: {error}"),
    }
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
