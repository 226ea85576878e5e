//! Postgres: the pool, the migrations, the embedded server.

pub mod embedded;
pub mod migrations;
pub mod pool;
