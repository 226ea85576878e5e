//! Data folders that clean up after themselves.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use member_mail::postgres::embedded::{Lifetime, Options, Server};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use super::processes::{clear, processes, running};
use super::wait::until;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A place for a data folder that every user can reach.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let shared_memory = Path::new("/dev/shm");
        let base = if shared_memory.is_dir() {
            shared_memory.to_owned()
        } else {
            std::env::temp_dir().canonicalize().expect("a temp folder")
        };
        let root = base.join(format!(
            "mm-test-{}-{}-",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir(&root).expect("a new folder");
        Self { root }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(crate) fn options(&self, lifetime: Lifetime) -> Options {
        options(&self.data(), lifetime)
    }

    pub(crate) async fn start(&self) -> Server {
        Server::start(self.options(Lifetime::Persistent))
            .await
            .expect("the server starts")
    }

    /// The one cluster folder in it.
    pub(crate) fn cluster(&self) -> PathBuf {
        let mut clusters = entries(&self.data());
        clusters.retain(|name| name.starts_with("data-"));
        assert_eq!(clusters.len(), 1, "{clusters:?}");
        self.data().join(&clusters[0])
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        clear(&self.root);
    }
}

pub(crate) fn options(data_dir: &Path, lifetime: Lifetime) -> Options {
    Options {
        data_dir: data_dir.to_owned(),
        bin_dir: None,
        download_url: None,
        lifetime,
    }
}

pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a readable folder")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The process ids of the watchers and sweepers of a folder.
pub(crate) fn watchers(folder: &Path) -> Vec<u32> {
    running(folder)
        .into_iter()
        .filter(|process| process.command.starts_with("/bin/sh"))
        .map(|process| process.id)
        .collect()
}

pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout == b"0\n"
}

/// The mode of a data folder: the server's user passes through root's.
pub(crate) fn data_mode() -> u32 {
    if is_root() { 0o711 } else { 0o700 }
}

pub(crate) fn mode(path: &Path) -> u32 {
    let metadata = fs::symlink_metadata(path).expect("it is there");
    metadata.permissions().mode() & 0o7777
}

/// Waits until no process of the place is left.
#[track_caller]
pub(crate) fn until_deserted(place: &Place) -> impl Future<Output = ()> {
    until("every process has ended", async || {
        processes(&place.root).is_empty()
    })
}

pub(crate) async fn connect(options: &PgConnectOptions) -> PgConnection {
    options.connect().await.expect("a connection")
}

/// Adds a row to a table that is made where missing, and returns how many there are.
pub(crate) async fn add_row(options: &PgConnectOptions) -> i64 {
    let mut connection = connect(options).await;
    sqlx::query("CREATE TABLE IF NOT EXISTS kept (at timestamptz NOT NULL)")
        .execute(&mut connection)
        .await
        .expect("a table");
    sqlx::query("INSERT INTO kept VALUES (now())")
        .execute(&mut connection)
        .await
        .expect("a row");
    let rows = sqlx::query_scalar("SELECT count(*) FROM kept")
        .fetch_one(&mut connection)
        .await
        .expect("a count");
    connection.close().await.expect("closed");
    rows
}

/// The folder of the binaries that a server runs from.
pub(crate) async fn installed(server: &Server) -> PathBuf {
    let mut connection = connect(&server.connect_options()).await;
    let folder: String = sqlx::query_scalar("SELECT setting FROM pg_config WHERE name = 'BINDIR'")
        .fetch_one(&mut connection)
        .await
        .expect("a folder");
    PathBuf::from(folder)
}

pub(crate) fn write_program(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("made to run");
}
