//! Postgres: which one, the pool, the migrations, the embedded server.

pub mod database;
pub mod embedded;
pub mod migrations;
pub mod pool;

/// Oldest major version that the migrations run on: older ones cannot set a single column of a
/// foreign key to null.
pub const OLDEST_MAJOR: u32 = 15;
