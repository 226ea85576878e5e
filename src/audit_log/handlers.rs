use axum::{extract::State, response::Response};
use sqlx::PgPool;

use super::model::{AuditLogEntry, AuditLogFilter};
use crate::{
    http::list::{List, Paging, order::Sorting, page::Page},
    problem::Problem,
};

/// List who wrote what, newest first unless sorted
///
/// Each write leaves an entry for each resource that it made, changed or deleted, in the same transaction; one
/// that was refused, or changed nothing, leaves none. What follows for other resources has entries of its own
/// only where one was made or renewed, such as a suppression by a bounce: mail that goes with its member has
/// none. Entries hold ids and names of fields alone, so they stay when a member is deleted, until their time
/// is over: a year, unless the service's settings say otherwise.
#[utoipa::path(
    get, path = "/api/v1/audit-log", operation_id = "list_audit_log", tag = "audit-log",
    params(AuditLogFilter, Sorting<AuditLogEntry>, Paging),
    security(("bearer" = ["admin"])),
    responses(
        (status = 200, description = "A page of entries, or all of them", body = Page<AuditLogEntry>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
    )
)]
pub(super) async fn list(
    State(pool): State<PgPool>,
    List { filter, view }: List<AuditLogFilter, AuditLogEntry>,
) -> Result<Response, Problem> {
    view.answer(&pool, filter).await
}
