//! The program as operators run it: a process, its settings, its output, its signals and its end.

mod kit;

mod commands;
mod crashes;
mod databases;
mod keys;
mod ledger;
mod lifecycle;
#[cfg(target_os = "linux")]
mod scale;
mod settings;
mod views;
