//! The service tested through its front door: real HTTP requests on a real Postgres. The modules
//! mirror the URLs; `kit` is what they share.

mod kit;

mod arrows;
mod bodies;
mod by_external_id;
mod cancellation;
mod catalogue;
mod compression;
mod connections;
mod cors;
mod cursors;
mod dates;
mod forms;
mod health;
mod hosts;
mod idempotency;
mod idempotency_failures;
mod identity;
mod indexes;
mod leaks;
mod limits;
mod log_lines;
mod mail_record_keys;
mod mail_records;
mod media_types;
mod members;
mod migrations;
mod openapi;
mod page;
mod paging;
mod parameters;
mod patches;
mod pool;
mod preconditions;
mod prefer;
mod problems;
mod public_url;
mod races;
mod routes;
mod search;
mod shutdown;
mod streams;
mod text;
mod walks;
mod with_mail_records;
