//! What can go wrong before the server answers: one line each, with what, where and the way out.

use std::io;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;

/// Why the embedded server could not be started. Each message is one line that names the setting to
/// change.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "the data folder {path} cannot be used: {source}; set DATA_DIR to a folder that this user can create and write to"
    )]
    Folder { path: PathBuf, source: io::Error },

    #[error(
        "the data folder {path} holds files that are not member-mail's; set DATA_DIR to a new or an empty folder"
    )]
    NotOurs { path: PathBuf },

    #[error(
        "the temporary data folder {path} is not empty, and it would be removed at the end; name a new folder"
    )]
    NotEmpty { path: PathBuf },

    #[error(
        "{path} must be a file or folder of uid {wanted} that nobody else can write to, and it belongs to uid {owner} with mode {mode:o}; start as its owner, or set DATA_DIR to another folder"
    )]
    NotPrivate {
        path: PathBuf,
        wanted: u32,
        owner: u32,
        mode: u32,
    },

    #[error(
        "other users decide where the data folder {path} leads, by {by} (uid {owner}, mode {mode:o}); set DATA_DIR to a folder on whose way all belongs to root"
    )]
    Exposed {
        path: PathBuf,
        by: PathBuf,
        owner: u32,
        mode: u32,
    },

    #[error(
        "the server runs as uid {wanted}, and the data in {path} belongs to uid {owner}; change its owner with chown -R, or set DATA_DIR to another folder"
    )]
    NotServers {
        path: PathBuf,
        owner: u32,
        wanted: u32,
    },

    #[error(
        "the data folder {path} holds data, and uid {uid}, which the server runs as, cannot enter {parent}; let it in with chmod o+x, or move the data and set DATA_DIR to its new folder"
    )]
    OutOfReach {
        path: PathBuf,
        parent: PathBuf,
        uid: u32,
    },

    #[error(
        "the data folder {path} is in use by another running member-mail; stop that one, or set DATA_DIR to another folder"
    )]
    InUse { path: PathBuf },

    #[error(
        "PG_BIN_DIR={dir} cannot be used: {reason}; set it to the bin folder of a PostgreSQL 15 or later, or unset it"
    )]
    BinDir { dir: PathBuf, reason: String },

    #[error(
        "no PostgreSQL server (15 or later) is installed, and {reason}; install one, set PG_BIN_DIR to its bin folder, or set DATABASE_URL to a server of your own"
    )]
    NoServer { reason: String },

    #[error(
        "the data folder {path} holds data of PostgreSQL {majors}, of which no server was found; install that version, set PG_BIN_DIR to its bin folder, or set DATA_DIR to a new folder to begin without that data"
    )]
    NoServerForData { path: PathBuf, majors: String },

    #[error(
        "PostgreSQL does not run as root, and there is no user postgres or nobody to run it as; create the user postgres, or set DATABASE_URL to a server of your own"
    )]
    NoServerUser,

    #[error(
        "the user id {uid} has no entry in the user database, which PostgreSQL needs to make a cluster; run as a named user, or set DATABASE_URL to a server of your own"
    )]
    UnnamedUser { uid: u32 },

    #[error(
        "the cluster in {path} could not be made: {reason}; change DATA_DIR or PG_BIN_DIR, or set DATABASE_URL to a server of your own"
    )]
    Initdb { path: PathBuf, reason: String },

    #[error(
        "the server on {path} did not start: {reason}; its log is {log}; set DATABASE_URL to use a server of your own"
    )]
    Start {
        path: PathBuf,
        reason: String,
        log: PathBuf,
    },

    #[error(
        "an earlier server (process {pid}) still runs on {path} and does not stop; stop it, or set DATA_DIR to another folder"
    )]
    StillRunning { path: PathBuf, pid: u32 },

    #[error(
        "the embedded server in {path} does not take connections: {source}; set DATABASE_URL to use a server of your own"
    )]
    Connect { path: PathBuf, source: sqlx::Error },

    #[error(
        "there is no embedded server on this platform; set DATABASE_URL to a server of your own"
    )]
    Platform,

    #[error("the start of the embedded server was cut short")]
    Cancelled,
}

#[cfg(unix)]
impl Error {
    /// For `map_err` on file work below or at `path`.
    pub(super) fn folder(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Folder { path, source }
    }
}
