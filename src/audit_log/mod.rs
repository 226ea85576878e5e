//! The audit log: who wrote what, and when. Rows come to be by [`http::audit`](crate::http::audit), in the
//! statements that write.
//!
//! - `handlers`: the list
//! - [`model`]: a row, and the filters
//! - [`queries`]: all SQL that reads rows and removes old ones

mod handlers;
pub mod model;
pub mod queries;

use sqlx::PgPool;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn router() -> OpenApiRouter<PgPool> {
    OpenApiRouter::new().routes(routes!(handlers::list))
}
