//! A working folder of one's own, and the processes that belong to it.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use member_mail::postgres::embedded::attach;
use sqlx::{ConnectOptions, PgConnection};
use uuid::Uuid;

use super::{PAUSE, until};

/// Removed with this value, after the processes that still work in it were ended.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        // Open to all: as root, the server runs as another user.
        let path = std::env::temp_dir().join(format!("mm-{}", Uuid::now_v7().simple()));
        std::fs::create_dir(&path).expect("a folder");
        Self { path }
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path.join(name), content).expect(name);
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path.join(".member-mail")
    }

    /// The folder of the cluster, which has the server's version in its name.
    pub(crate) fn cluster(&self) -> PathBuf {
        std::fs::read_dir(self.data_dir())
            .expect("data folder")
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.join("PG_VERSION").exists())
            .expect("a cluster")
    }

    /// A connection to the embedded server of a running program.
    pub(crate) async fn connect(&self) -> PgConnection {
        attach::running(&self.data_dir())
            .expect("a running server")
            .connect()
            .await
            .expect("connection")
    }

    /// The process ids of servers on a cluster in this folder.
    pub(crate) fn postmasters(&self) -> Vec<u32> {
        let servers: Vec<_> = processes(&self.path)
            .into_iter()
            .filter(|process| {
                let mut words = process.command.split(' ');
                words.next().is_some_and(|name| name.ends_with("/postgres"))
                    && words.next() == Some("-D")
            })
            .collect();
        // A server's child has its command line until it gives itself a name.
        let is_child = |process: &&Running| servers.iter().any(|other| other.id == process.parent);
        servers
            .iter()
            .filter(|process| !is_child(process))
            .map(|process| process.id)
            .collect()
    }

    /// Waits until nothing runs in this folder any more.
    #[track_caller]
    pub(crate) fn until_deserted(&self) {
        until("every process has ended", || {
            processes(&self.path).is_empty()
        });
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let begin = Instant::now();
        while !processes(&self.path).is_empty() {
            if begin.elapsed() > Duration::from_secs(10) {
                for process in processes(&self.path) {
                    signal(process.id, "KILL");
                }
                break;
            }
            std::thread::sleep(PAUSE);
        }
        // A process that is just ending may still write.
        for _ in 0..50 {
            if std::fs::remove_dir_all(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

pub(crate) fn signal(id: u32, name: &str) {
    Command::new("/bin/sh")
        .args(["-c", r#"kill -s "$1" "$2" 2>/dev/null"#, "sh", name])
        .arg(id.to_string())
        .status()
        .expect("kill");
}

struct Running {
    id: u32,
    parent: u32,
    command: String,
}

/// The processes that name `folder` in their command line.
fn processes(folder: &Path) -> Vec<Running> {
    let listed = Command::new("ps")
        .args(["-ww", "-axo", "pid=,ppid=,args="])
        .output()
        .expect("ps");
    let folder = format!("{}/", folder.display());
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .filter(|line| line.contains(&folder))
        .map(|line| {
            let mut words = line.split_whitespace();
            let mut number = || words.next().and_then(|word| word.parse().ok());
            Running {
                id: number().expect("a process id"),
                parent: number().expect("a process id"),
                command: words.collect::<Vec<_>>().join(" "),
            }
        })
        .collect()
}
