//! The database that the service works on: the server of `DATABASE_URL`, or the embedded one.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection,
    migrate::MigrateError,
    postgres::{PgConnectOptions, PgConnection},
};

use super::{
    OLDEST_MAJOR,
    embedded::{self, Lifetime, Server, attach},
    migrations,
};
use crate::config::Config;

/// How long another process may take to start the embedded server or to stop it.
const STARTING: Duration = Duration::from_secs(20);

/// Why there is no database that can be used, in one line that names the thing to change.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Embedded(#[from] embedded::Error),
    #[error(
        "the database at {place} cannot be used: {error}; check DATABASE_URL and that the server runs"
    )]
    Connect { place: String, error: sqlx::Error },
    #[error("the database at {place} is PostgreSQL {version}; {OLDEST_MAJOR} or later is needed")]
    OldPostgres { place: String, version: String },
    #[error("the database at {place} has the encoding {encoding}; UTF8 is needed")]
    Encoding { place: String, encoding: String },
    #[error("the database at {place} cannot be migrated: {error}")]
    Migrate { place: String, error: MigrateError },
}

/// A Postgres that answers: the one of `DATABASE_URL`, or an embedded one.
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
    pub async fn open(config: &Config) -> Result<Self, Error> {
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
    pub async fn open_beside_others(config: &Config) -> Result<Self, Error> {
        let begin = Instant::now();
        loop {
            let path = match Self::open(config).await {
                Err(Error::Embedded(embedded::Error::InUse { path })) => path,
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

    async fn embedded(config: &Config) -> Result<Self, Error> {
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

    async fn check(&self) -> Result<(), Error> {
        let failed = |error| Error::Connect {
            place: self.place.clone(),
            error,
        };
        let mut connection: PgConnection = self.options.connect().await.map_err(failed)?;
        let (major, version, encoding): (i32, String, String) = sqlx::query_as(
            "SELECT current_setting('server_version_num')::int / 10000,
                    current_setting('server_version'),
                    current_setting('server_encoding')",
        )
        .fetch_one(&mut connection)
        .await
        .map_err(failed)?;
        connection.close().await.ok();
        let place = self.place.clone();
        if major < OLDEST_MAJOR.cast_signed() {
            return Err(Error::OldPostgres { place, version });
        }
        if encoding != "UTF8" {
            return Err(Error::Encoding { place, encoding });
        }
        Ok(())
    }

    /// Applies what the database lacks.
    ///
    /// # Errors
    /// If a migration fails, or was changed after it was applied.
    pub async fn migrate(&self) -> Result<(), Error> {
        migrations::run(&self.options)
            .await
            .map_err(|error| Error::Migrate {
                place: self.place.clone(),
                error,
            })
    }

    /// Returns when the embedded server has ended by itself.
    pub async fn lost(&mut self) {
        match &mut self.embedded {
            Some(server) => server.lost().await,
            None => std::future::pending().await,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_told_what_is_needed() {
        let error = Error::OldPostgres {
            place: "db:5432".to_owned(),
            version: "14.9".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "the database at db:5432 is PostgreSQL 14.9; 15 or later is needed"
        );
    }
}
