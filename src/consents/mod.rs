//! Consents: what members said about marketing mail, from first to last.
//!
//! - `handlers`: one function for each operation, with its route and its documentation
//! - [`model`]: what a consent is, as read and as written
//! - [`queries`]: all SQL on consents

mod handlers;
pub mod model;
pub mod queries;

use sqlx::PgPool;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn router() -> OpenApiRouter<PgPool> {
    OpenApiRouter::new()
        .routes(routes!(handlers::create, handlers::list))
        .routes(routes!(handlers::read))
}
