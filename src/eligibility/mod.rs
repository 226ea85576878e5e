//! Eligibility: whether a member may be mailed.
//!
//! - `handlers`: the operation, with its route and its documentation
//! - [`decision`]: what is in the way of a mail, from what is known
//! - [`model`]: what is asked and answered
//! - [`queries`]: what is known, in one statement

pub mod decision;
mod handlers;
pub mod model;
pub mod queries;

use sqlx::PgPool;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn router() -> OpenApiRouter<PgPool> {
    OpenApiRouter::new().routes(routes!(handlers::read))
}
