//! Where databases come from: the server of `DATABASE_URL`, or an embedded one for all tests of this
//! process, which ends with it and leaves nothing behind.

use std::{env, path::PathBuf};

use member_mail::{
    config::Config,
    postgres::{
        embedded::{Lifetime, Options, Server},
        migrations,
    },
};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// A migrated database, dropped with this value.
pub(crate) struct Database {
    pub(crate) options: PgConnectOptions,
    name: String,
    server: PgConnectOptions,
}

impl Database {
    pub(crate) async fn create() -> Self {
        let database = Self::create_empty().await;
        migrations::run(&database.options)
            .await
            .expect("migrations");
        database
    }

    pub(crate) async fn create_empty() -> Self {
        let server = server().await.clone();
        let name = format!("test_{}", Uuid::now_v7().simple());
        let mut connection = server.connect().await.expect("test server");
        // Copying files is the fastest where nothing is synced to disk.
        let create =
            format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' STRATEGY FILE_COPY");
        sqlx::query(AssertSqlSafe(create))
            .execute(&mut connection)
            .await
            .expect("new database");
        Self {
            options: server.clone().database(&name),
            name,
            server,
        }
    }

    /// A connection of one's own, beside the service's.
    pub(crate) async fn connect(&self) -> PgConnection {
        self.options.connect().await.expect("test database")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let server = self.server.clone();
        // A runtime of its own: the test's may be shutting down.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let mut connection = server.connect().await.map_err(std::io::Error::other)?;
                sqlx::query(AssertSqlSafe(drop))
                    .execute(&mut connection)
                    .await
                    .map_err(std::io::Error::other)?;
                connection.close().await.map_err(std::io::Error::other)
            })
        });
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("the database {} is left behind: {error}", self.name);
        }
    }
}

async fn server() -> &'static PgConnectOptions {
    static SERVER: OnceCell<(PgConnectOptions, Option<Server>)> = OnceCell::const_new();
    let (options, _) = SERVER
        .get_or_init(|| async {
            let config = Config::load().expect("settings");
            if let Some(options) = config.database {
                return (options, None);
            }
            let server = Server::start(Options {
                data_dir: scratch().join(format!("member-mail-test-{}", Uuid::now_v7().simple())),
                bin_dir: config.pg_bin_dir,
                download_url: config.pg_download_url,
                lifetime: Lifetime::Temporary,
            })
            .await
            .expect("embedded Postgres");
            (server.connect_options(), Some(server))
        })
        .await;
    options
}

/// Memory where there is some, since nothing of it is to last.
fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        env::temp_dir()
    }
}
