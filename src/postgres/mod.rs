
pub mod migrations;
pub mod pool;
