//! Mail records: the ledger, one message to one recipient in each.
//!
//! - `handlers`: one function for each operation, with its route and its documentation
//! - `batch`: many in one request
//! - `transitions`: a mail called back, a mail tried again
//! - [`events`]: what became of a mail, and the status that follows from it
//! - `condition`: one that is only written if the member may be mailed
//! - `item`: a mail record of a batch, with whom it was for
//! - [`model`]: what a mail record is, as read and as written
//! - [`summary`]: all mail of a member in figures
//! - [`queries`]: all SQL on mail records

mod batch;
mod condition;
pub mod events;
mod handlers;
mod item;
pub mod model;
pub mod queries;
pub mod summary;
mod transitions;

use sqlx::PgPool;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn router() -> OpenApiRouter<PgPool> {
    OpenApiRouter::new()
        .routes(routes!(handlers::list_all))
        .routes(routes!(batch::create))
        .routes(routes!(handlers::create, handlers::list_of_member))
        .routes(routes!(
            handlers::read,
            handlers::replace,
            handlers::update,
            handlers::delete
        ))
        .routes(routes!(events::handlers::report, events::handlers::list))
        .routes(routes!(events::handlers::read))
        .routes(routes!(transitions::cancel))
        .routes(routes!(transitions::retry))
}
