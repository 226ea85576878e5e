//! A server that another process runs.

use std::fs;
use std::path::Path;

use sqlx::postgres::PgConnectOptions;

use super::{DATABASE, server, trust};

/// How to connect to the server that runs on the data folder `path`; none if none takes
/// connections.
///
/// `path` is the folder itself, as [`Error::InUse`](super::Error::InUse) names it. The server ends
/// with the process that started it, so what is done over it may be cut off at any time.
#[must_use]
pub fn running(path: &Path) -> Option<PgConnectOptions> {
    let entries = fs::read_dir(path).ok()?;
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("data-"))
        .find_map(|entry| told_by(&entry.path()))
}

/// Reads the server's own words: its pid file has the port in line 4, the folder of the socket in
/// line 5 and the state in line 8.
fn told_by(cluster: &Path) -> Option<PgConnectOptions> {
    let file = trust::read_small(&cluster.join("postmaster.pid")).ok()?;
    let lines: Vec<&str> = file.lines().map(str::trim).collect();
    let [_, _, _, port, socket, _, _, "ready", ..] = lines.as_slice() else {
        return None;
    };
    let socket = Path::new(socket);
    Some(server::connect_options(
        socket,
        port.parse().ok()?,
        DATABASE,
    ))
}
