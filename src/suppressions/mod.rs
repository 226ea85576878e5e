//! Suppressions: addresses that must not be mailed.
//!
//! - `handlers`: one function for each operation, with its route and its documentation
//! - [`model`]: what a suppression is, as read and as written
//! - [`queries`]: all SQL on suppressions

mod handlers;
pub mod model;
pub mod queries;

use sqlx::PgPool;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn router() -> OpenApiRouter<PgPool> {
    OpenApiRouter::new()
        .routes(routes!(handlers::create, handlers::list))
        .routes(routes!(handlers::read, handlers::delete))
}
