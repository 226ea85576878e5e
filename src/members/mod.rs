//! Members: the register.
//!
//! - `handlers`: one function for each operation, with its route and its documentation
//! - `batch`: many in one request
//! - `export`: all that is stored about one person
//! - `by_external_id`: the same under the caller's own key
//! - [`model`]: what a member is, as read and as written
//! - [`queries`]: all SQL on members

mod batch;
mod by_external_id;
mod export;
mod handlers;
pub mod model;
pub mod queries;

use sqlx::PgPool;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn router() -> OpenApiRouter<PgPool> {
    OpenApiRouter::new()
        .routes(routes!(handlers::create, handlers::list))
        .routes(routes!(
            handlers::read,
            handlers::replace,
            handlers::update,
            handlers::delete
        ))
        .routes(routes!(batch::create))
        .routes(routes!(handlers::read_by_email))
        .routes(routes!(
            by_external_id::read,
            by_external_id::replace,
            by_external_id::update,
            by_external_id::delete
        ))
        .routes(routes!(handlers::read_with_mail_records))
        .routes(routes!(export::export))
}
