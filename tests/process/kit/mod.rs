//! What the tests share.
//!
//! - [`folder`]: a working folder of one's own
//! - [`http`]: the plainest client
//! - [`process`]: the running program
//!
//! From `tests/kit`, which other tests take in too:
//!
//! - [`database`]: databases on a server that was not started by the program
//! - [`ledger`]: what a mail record must say by its events
//! - [`processes`]: the processes of a folder
//! - [`random`]: chance that is the same in each run
//! - [`scale`]: a register as large as one gets
//! - [`sessions`]: the sessions on a database
//! - [`wait`]: waiting for what comes in its own time

#[path = "../../kit/database.rs"]
pub(crate) mod database;
pub(crate) mod folder;
pub(crate) mod http;
#[path = "../../kit/ledger.rs"]
pub(crate) mod ledger;
pub(crate) mod process;
#[path = "../../kit/processes.rs"]
pub(crate) mod processes;
#[path = "../../kit/random.rs"]
pub(crate) mod random;
#[path = "../../kit/scale.rs"]
pub(crate) mod scale;
#[path = "../../kit/sessions.rs"]
pub(crate) mod sessions;
#[path = "../../kit/wait.rs"]
pub(crate) mod wait;

use sqlx::ConnectOptions;

pub(crate) use database::Database;
pub(crate) use folder::Folder;
pub(crate) use http::{get, says_not_ready, send, send_with};
pub(crate) use process::Process;
pub(crate) use random::Random;
pub(crate) use sessions::{sessions, until_locked};
use wait::Wait;

/// Returns when `condition` holds; for a test that has no runtime to wait on.
#[track_caller]
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let wait = Wait::new(what);
    while !condition() {
        std::thread::sleep(wait.pause());
    }
}

/// The URL of a database.
pub(crate) fn url(database: &Database) -> String {
    database.options.to_url_lossy().to_string()
}
