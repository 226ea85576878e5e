//! The program as operators run it: a process, its settings, its output, its signals and its end.

#![expect(
    unreachable_pub,
    reason = "what the kit offers is `pub`, although nothing lies outside of this binary"
)]

mod kit;

mod commands;
mod crashes;
mod databases;
mod lifecycle;
mod settings;
