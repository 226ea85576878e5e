//! What the tests share.
//!
//! - [`database`]: databases on a server that was not started by the program
//! - [`folder`]: a working folder of one's own, and the processes that belong to it
//! - [`http`]: the plainest client
//! - [`process`]: the running program

#[path = "../../api/kit/database.rs"]
pub(crate) mod database;
pub(crate) mod folder;
pub(crate) mod http;
pub(crate) mod process;

use std::time::{Duration, Instant};

use sqlx::ConnectOptions;

pub(crate) use database::Database;
pub(crate) use folder::Folder;
pub(crate) use http::{get, says_not_ready, send};
pub(crate) use process::Process;

/// Generous: what is waited for comes far sooner, or the test fails.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Returns when `condition` holds.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < DEADLINE, "never came true: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// The URL of a database.
pub(crate) fn url(database: &Database) -> String {
    database.options.to_url_lossy().to_string()
}
