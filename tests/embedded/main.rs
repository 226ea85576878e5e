//! The embedded server, on real clusters and with really killed processes.

#![cfg(unix)]

mod child;
#[cfg(feature = "postgres-download")]
mod download;
mod fixture;
mod folders;
mod kills;
mod lifecycle;
mod takeover;
mod users;
