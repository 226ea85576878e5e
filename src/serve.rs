//! The service from start to stop.

use std::{
    io::{self, IsTerminal},
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection,
    migrate::MigrateError,
    postgres::{PgConnectOptions, PgConnection},
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::TaskTracker;
use tracing_subscriber::EnvFilter;

use crate::{
    app::{self, AppState},
    config::{Config, ConfigError},
    http::{
        layers::Limits,
        server::{self, Shutdown},
    },
    postgres::{
        embedded::{self, Lifetime, Server, attach},
        migrations, pool,
    },
};

/// Oldest server that the migrations run on: older ones cannot set a single column of a foreign key
/// to null.
const OLDEST_POSTGRES: i32 = 150_000;
/// How long another process may take to start the embedded server or to stop it.
const STARTING: Duration = Duration::from_secs(20);

/// What stops the start, in one line that names the thing to change.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(
        "BIND_ADDRESS {address} cannot be listened on: {error}; choose another, or stop what has it"
    )]
    Bind {
        address: SocketAddr,
        error: io::Error,
    },
    #[error(transparent)]
    Embedded(#[from] embedded::Error),
    #[error(
        "the database at {place} cannot be used: {error}; check DATABASE_URL and that the server runs"
    )]
    Database { place: String, error: sqlx::Error },
    #[error("the database at {place} is PostgreSQL {version}; 15 or later is needed")]
    OldPostgres { place: String, version: String },
    #[error("the database at {place} has the encoding {encoding}; UTF8 is needed")]
    Encoding { place: String, encoding: String },
    #[error("the database at {place} cannot be migrated: {error}")]
    Migrate { place: String, error: MigrateError },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A Postgres that answers: the one of `DATABASE_URL`, or an embedded one.
#[derive(Debug)]
pub struct Database {
    pub options: PgConnectOptions,
    /// For people; without a password.
    pub place: String,
    embedded: Option<Server>,
}

impl Database {
    /// Connects to the configured server, or starts the embedded one.
    ///
    /// # Errors
    /// If there is none that can be used.
    pub async fn open(config: &Config) -> Result<Self, StartError> {
        let database = match &config.database {
            Some(options) => Self {
                options: options.clone(),
                place: place(options),
                embedded: None,
            },
            None => Self::embedded(config).await?,
        };
        database.check().await?;
        Ok(database)
    }

    /// As [`open`](Self::open), and where the embedded server is already run by another process,
    /// by `serve` in another terminal say, uses that one.
    ///
    /// # Errors
    /// If there is none that can be used.
    pub async fn open_beside_others(config: &Config) -> Result<Self, StartError> {
        let begin = Instant::now();
        loop {
            let path = match Self::open(config).await {
                Err(StartError::Embedded(embedded::Error::InUse { path })) => path,
                opened => return opened,
            };
            if let Some(options) = attach::running(&path) {
                let database = Self {
                    options,
                    place: embedded_place(&path),
                    embedded: None,
                };
                match database.check().await {
                    // Its owner has made the cluster and not yet the database.
                    Err(_) if begin.elapsed() < STARTING => {}
                    checked => return checked.map(|()| database),
                }
            } else if begin.elapsed() >= STARTING {
                return Err(embedded::Error::InUse { path }.into());
            }
            // It starts or stops: there is nothing to wait on but its files.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn embedded(config: &Config) -> Result<Self, StartError> {
        let server = Server::start(embedded::Options {
            data_dir: config.data_dir.clone(),
            bin_dir: config.pg_bin_dir.clone(),
            download_url: config.pg_download_url.clone(),
            lifetime: Lifetime::Persistent,
        })
        .await?;
        Ok(Self {
            options: server.connect_options(),
            place: embedded_place(server.data_dir()),
            embedded: Some(server),
        })
    }

    async fn check(&self) -> Result<(), StartError> {
        let failed = |error| StartError::Database {
            place: self.place.clone(),
            error,
        };
        let mut connection: PgConnection = self.options.connect().await.map_err(failed)?;
        let (number, version, encoding): (i32, String, String) = sqlx::query_as(
            "SELECT current_setting('server_version_num')::int, current_setting('server_version'),
                    current_setting('server_encoding')",
        )
        .fetch_one(&mut connection)
        .await
        .map_err(failed)?;
        connection.close().await.ok();
        let place = self.place.clone();
        if number < OLDEST_POSTGRES {
            return Err(StartError::OldPostgres { place, version });
        }
        if encoding != "UTF8" {
            return Err(StartError::Encoding { place, encoding });
        }
        Ok(())
    }

    /// Applies what the database lacks.
    ///
    /// # Errors
    /// If a migration fails, or was changed after it was applied.
    pub async fn migrate(&self) -> Result<(), StartError> {
        migrations::run(&self.options)
            .await
            .map_err(|error| StartError::Migrate {
                place: self.place.clone(),
                error,
            })
    }

    /// Stops the embedded server.
    pub async fn close(self) {
        if let Some(server) = self.embedded {
            server.stop().await;
        }
    }
}

fn embedded_place(data_dir: &Path) -> String {
    format!("{} (embedded Postgres)", data_dir.display())
}

/// Names a server without the password.
fn place(options: &PgConnectOptions) -> String {
    let host = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let database = options
        .get_database()
        .unwrap_or_else(|| options.get_username());
    format!("{host}:{}, database {database}", options.get_port())
}

/// Serves until a signal says to stop.
///
/// # Errors
/// [`StartError`], before the first request is answered.
pub async fn run() -> Result<(), StartError> {
    let config = Config::load()?;
    start_logging(&config);
    let mut signals = Signals::new()?;
    // Before the database is touched: a taken port is no reason to migrate.
    let listeners = server::bind(&config.bind_addresses)
        .await
        .map_err(|(address, error)| StartError::Bind { address, error })?;
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

async fn prepare(config: &Config) -> Result<Database, StartError> {
    let database = Database::open(config).await?;
    if config.migrate_on_start {
        database.migrate().await?;
    }
    Ok(database)
}

/// Applies the migrations that the database lacks.
///
/// # Errors
/// [`StartError`].
pub async fn migrate() -> Result<(), StartError> {
    let config = Config::load()?;
    start_logging(&config);
    let database = Database::open_beside_others(&config).await?;
    let migrated = database.migrate().await;
    if migrated.is_ok() {
        println!("The database at {} has every migration.", database.place);
    }
    database.close().await;
    migrated
}

/// Prints the OpenAPI document.
///
/// # Errors
/// If standard output is closed.
pub fn print_openapi() -> Result<(), StartError> {
    use std::io::Write;

    let document = app::openapi().to_pretty_json().map_err(io::Error::from)?;
    writeln!(io::stdout(), "{document}")?;
    Ok(())
}

/// Logs to standard error, as the settings say.
pub fn start_logging(config: &Config) {
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::clone(&config.log))
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr);
    // A second call, as in tests, keeps the first log.
    if config.log_json {
        log.json().try_init().ok();
    } else {
        log.try_init().ok();
    }
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
