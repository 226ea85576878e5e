//! A working folder of one's own.

use std::path::PathBuf;

use member_mail::postgres::embedded::attach;
use sqlx::{ConnectOptions, PgConnection};
use uuid::Uuid;

use super::{
    processes::{clear, postmasters, processes},
    until,
};

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
        postmasters(&self.path)
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
        clear(&self.path);
    }
}
