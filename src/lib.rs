//! The register of your members and the ledger of the mail you send them.
//!
//! - [`app`]: the whole service as one router and one document
//! - [`members`]: the register
//! - [`mail_records`]: the ledger
//! - [`http`]: what every resource needs of HTTP
//! - [`problem`]: errors as values, and their catalogue
//! - [`values`]: text, addresses, dates: parsed at the edge, valid ever after
//! - [`postgres`]: the pool, the migrations, the embedded server
//! - [`seed`]: a register to try things on
//! - [`serve`]: the service from start to stop
//! - [`config`]: every setting
//!
//! The arrows between them go one way: `main → serve → app → members → mail_records → http → problem
//! → values`. `config` and `postgres` know nobody.

pub mod app;
pub mod config;
pub mod http;
pub mod mail_records;
pub mod members;
pub mod postgres;
pub mod problem;
pub mod seed;
pub mod serve;
pub mod values;
