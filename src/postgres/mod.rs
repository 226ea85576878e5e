//! Postgres: which one, the pool, the migrations, the embedded server.

pub mod database;
pub mod embedded;
pub mod migrations;
pub mod pool;
