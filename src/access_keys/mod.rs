//! Access keys: who may do what.
//!
//! - `handlers`: one function for each operation, with its route and its documentation
//! - [`key`]: a key as its holder has it
//! - [`keys`]: whether a key opens, and whether one is needed
//! - [`guard`]: the one place where requests are let in or turned away
//! - [`scopes`]: what a key can be allowed to do
//! - [`model`]: what is known of a key, as read and as written
//! - [`queries`]: all SQL on access keys

pub mod guard;
mod handlers;
pub mod key;
pub mod keys;
pub mod model;
pub mod queries;
pub mod scopes;

use sqlx::PgPool;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn router() -> OpenApiRouter<PgPool> {
    OpenApiRouter::new()
        .routes(routes!(handlers::create, handlers::list))
        .routes(routes!(handlers::read))
        .routes(routes!(handlers::rotate))
        .routes(routes!(handlers::revoke))
}
