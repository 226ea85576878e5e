//! The register of your members and the ledger of the mail you send them.
//!
//! - [`app`]: the whole service as one router and one document
//! - [`members`]: the register
//! - [`mail_records`]: the ledger
//! - [`eligibility`]: whether a member may be mailed
//! - [`consents`]: what members said about marketing mail
//! - [`suppressions`]: addresses that must not be mailed
//! - [`access_keys`]: who may do what
//! - [`audit_log`]: who wrote what
//! - [`http`]: what every resource needs of HTTP
//! - [`problem`]: errors as values, and their catalogue
//! - [`values`]: text, addresses, dates: parsed at the edge, valid ever after
//! - [`postgres`]: the pool, the migrations, the embedded server
//! - [`commands`]: what the program does, from start to end
//! - [`config`]: every setting
//!
//! The arrows between them go one way: `main → commands → app → members → mail_records → eligibility →
//! consents → suppressions → access_keys → audit_log → http → problem → values`, and `postgres → config` beside them.

pub mod access_keys;
pub mod app;
pub mod audit_log;
pub mod commands;
pub mod config;
pub mod consents;
pub mod eligibility;
pub mod http;
pub mod mail_records;
pub mod members;
pub mod postgres;
pub mod problem;
pub mod suppressions;
pub mod values;
