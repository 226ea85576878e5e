//! Data folders that clean up after themselves, and a look at the processes of a data folder.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use member_mail::postgres::embedded::{Lifetime, Options, Server};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

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
        // A killed server leaves its shared memory behind: that is for what does not end otherwise.
        for name in ["INT", "KILL"] {
            for pid in processes(&self.root) {
                signal(pid, name);
            }
            let begin = Instant::now();
            while !processes(&self.root).is_empty() && begin.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let _ = fs::remove_dir_all(&self.root);
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

/// All live processes that work in a folder or name it in their arguments: servers, their backends and watchers.
pub(crate) fn processes(folder: &Path) -> Vec<u32> {
    let output = Command::new("ps")
        .args(["-axww", "-o", "pid=,state=,args="])
        .output()
        .expect("ps runs");
    let name = folder.to_string_lossy().into_owned();
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let (pid, rest) = line.trim_start().split_once(' ')?;
            let pid: u32 = pid.parse().ok()?;
            let works_in = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            let ours = works_in.starts_with(folder) || rest.contains(&name);
            (ours && !rest.trim_start().starts_with('Z') && pid != std::process::id())
                .then_some(pid)
        })
        .collect()
}

/// The process ids of the watchers and sweepers of a folder.
pub(crate) fn watchers(folder: &Path) -> Vec<u32> {
    let mut found = processes(folder);
    found.retain(|pid| arguments(*pid).starts_with("/bin/sh"));
    found
}

/// The process ids of the postmasters of a folder.
pub(crate) fn postmasters(folder: &Path) -> Vec<u32> {
    let mut found = processes(folder);
    found.retain(|pid| {
        arguments(*pid).contains("/postgres -D ") && !arguments(*pid).starts_with("/bin/sh")
    });
    found
}

fn arguments(pid: u32) -> String {
    let output = Command::new("ps")
        .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
        .output()
        .expect("ps runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn signal(pid: u32, name: &str) {
    Command::new("/bin/sh")
        .args(["-c", &format!("kill -s {name} {pid}")])
        .status()
        .expect("a shell");
}

pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout == b"0\n"
}

/// Waits until something is so. The deadline is far off: it only keeps a failing test from hanging.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(1), "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
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
