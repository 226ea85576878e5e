//! The embedded server, on real clusters and with really killed processes. `processes` and `wait` are
//! from `tests/kit`, which other tests take in too.

#![cfg(unix)]

mod child;
#[cfg(feature = "postgres-download")]
mod download;
mod fixture;
mod folders;
mod kills;
mod lifecycle;
#[path = "../kit/processes.rs"]
mod processes;
mod takeover;
mod trust;
mod users;
#[path = "../kit/wait.rs"]
mod wait;
