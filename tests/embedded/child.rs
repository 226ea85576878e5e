//! A process that owns a server and can be killed: this very test binary, started again.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use member_mail::postgres::embedded::{Lifetime, Server};
use sqlx::postgres::PgConnectOptions;

use super::fixture::options;

const DATA_DIR: &str = "MEMBER_MAIL_TEST_DATA_DIR";
const TEMPORARY: &str = "MEMBER_MAIL_TEST_TEMPORARY";

/// Not a test of its own: with the variable set it is the process that the tests kill.
#[test]
fn owns_a_server() {
    let Some(data_dir) = std::env::var_os(DATA_DIR) else {
        return;
    };
    let lifetime = if std::env::var_os(TEMPORARY).is_some() {
        Lifetime::Temporary
    } else {
        Lifetime::Persistent
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match runtime.block_on(Server::start(options(Path::new(&data_dir), lifetime))) {
        Ok(server) => {
            println!("\nready {}", server.socket_dir().display());
            // It is killed before; should the tests be killed first, it ends by itself.
            std::thread::sleep(Duration::from_mins(10));
        }
        Err(error) => println!("\nfailed {error}"),
    }
}

pub(crate) struct Owner {
    pub(crate) process: Child,
}

impl Owner {
    pub(crate) fn spawn(data_dir: &Path, lifetime: Lifetime) -> Self {
        let program = std::env::current_exe().expect("this program");
        Self::spawn_with(&mut Command::new(program), data_dir, lifetime)
    }

    pub(crate) fn spawn_with(command: &mut Command, data_dir: &Path, lifetime: Lifetime) -> Self {
        command
            .args(["--exact", "child::owns_a_server", "--nocapture"])
            .env(DATA_DIR, data_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if lifetime == Lifetime::Temporary {
            command.env(TEMPORARY, "1");
        }
        Self {
            process: command.spawn().expect("this program starts"),
        }
    }

    /// Waits for its server: how to connect, or the line it failed with.
    pub(crate) fn ready(&mut self) -> Result<PgConnectOptions, String> {
        let output = self.process.stdout.as_mut().expect("its output");
        for line in BufReader::new(output).lines() {
            let line = line.expect("text");
            if let Some(socket) = line.strip_prefix("ready ") {
                return Ok(PgConnectOptions::new_without_pgpass()
                    .socket(socket)
                    .port(5432)
                    .username("postgres")
                    .database("member_mail"));
            }
            if let Some(error) = line.strip_prefix("failed ") {
                return Err(error.to_owned());
            }
        }
        panic!("the owner ended without a word");
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it is killed");
        self.process.wait().expect("it is gone");
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
