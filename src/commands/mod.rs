//! The commands of the program, one file for each.

pub mod keys;
pub mod migrate;
pub mod openapi;
pub mod seed;
pub mod serve;

use std::{
    io::{self, IsTerminal},
    net::SocketAddr,
};

use tracing_subscriber::EnvFilter;
use uuid::Uuid;

use crate::{
    app::RESOURCES,
    config::{Config, ConfigError, LogFormat},
    http::views::{Views, ViewsError},
    postgres::database,
};

/// Why a command failed, in one line that names the thing to change.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    Database(#[from] database::Error),
    #[error(
        "the Postgres of {place} ended by itself, see postgres.log there; start member-mail again, \
         nothing that was acknowledged is lost"
    )]
    LostPostgres { place: String },
    #[error("there is no access key {id}; see member-mail keys list")]
    NoSuchKey { id: Uuid },
    #[error("the access key {id} is revoked or has expired; make another")]
    EndedKey { id: Uuid },
    #[error(transparent)]
    Views(#[from] ViewsError),
    #[error("the key cannot have this view: {detail}")]
    View { detail: String },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Logs as the settings say.
fn log_to_stderr(config: &Config) {
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::clone(&config.log))
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        // A log that cannot be written, on a full disk say, must not end the requests it tells of.
        .log_internal_errors(false);
    match config.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}

/// The views that are configured.
fn views(config: &Config) -> Result<Views, ViewsError> {
    match &config.views_file {
        Some(path) => Views::load(path, &RESOURCES),
        None => Ok(Views::default()),
    }
}
