use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use sqlx::PgPool;

use super::{
    model::{Confirmation, Suppression, SuppressionFilter, SuppressionInput, SuppressionPath},
    queries::{self, Added},
};
use crate::{
    http::{
        answer::{Created, Entity},
        audit::Audit,
        conditional::Preconditions,
        extract::{Json, Path, Query},
        idempotency::{IdempotencyKey, Once},
        list::{List, Paging, order::Sorting, page::Page},
        prefer::Return,
    },
    problem::{Code, Problem},
    refusals,
};

refusals!(NotFound: SuppressionNotFound);
refusals!(Unconfirmed: ConfirmationRequired);

/// Suppress an address
///
/// From then on it is not to be mailed, whoever has it now or later. Where it is suppressed already for
/// the same reason and in the same scope, that suppression is the answer: it ends no earlier than what
/// is sent here, and is otherwise as it was.
#[utoipa::path(
    post, path = "/api/v1/suppressions", operation_id = "create_suppression", tag = "suppressions",
    params(IdempotencyKey, Return), request_body = SuppressionInput,
    security(("bearer" = ["suppressions:write"])),
    responses(
        (status = 201, description = "Created", body = Suppression, headers(
            ("Location" = String, description = "Path of the new suppression"),
            ("ETag" = String, description = "Entity tag of the version"),
        )),
        (status = 200, description = "The suppression that stands", body = Suppression,
            headers(("ETag" = String, description = "Entity tag of the version"))),
    )
)]
pub(super) async fn create(
    audit: Audit,
    once: Once,
    Json(input): Json<SuppressionInput>,
) -> Result<Response, Problem> {
    let new = input.into();
    once.run(async |connection| {
        Ok(match queries::add(connection, &new, &audit).await? {
            Added::Created(suppression) => Created {
                location: format!("/api/v1/suppressions/{}", suppression.id),
                entity: suppression,
            }
            .into_response(),
            Added::Standing(suppression) => Entity(suppression).into_response(),
        })
    })
    .await
}

/// List suppressions, newest first unless sorted
///
/// Filters narrow the list together. One that has ended blocks nothing any more, and is in the list
/// until it is removed, a minute later or so.
#[utoipa::path(
    get, path = "/api/v1/suppressions", operation_id = "list_suppressions", tag = "suppressions",
    params(SuppressionFilter, Sorting<Suppression>, Paging),
    security(("bearer" = ["suppressions:read"])),
    responses(
        (status = 200, description = "A page of suppressions, or all of them", body = Page<Suppression>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
    )
)]
pub(super) async fn list(
    State(pool): State<PgPool>,
    List { filter, view }: List<SuppressionFilter, Suppression>,
) -> Result<Response, Problem> {
    view.answer(&pool, filter).await
}

/// Read a suppression
///
/// One that has ended is there until it is removed, which is soon.
#[utoipa::path(
    get, path = "/api/v1/suppressions/{id}", operation_id = "read_suppression", tag = "suppressions",
    params(SuppressionPath, Preconditions),
    security(("bearer" = ["suppressions:read"])),
    responses((status = 200, description = "The suppression", body = Suppression), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(SuppressionPath { id }): Path<SuppressionPath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    let suppression = queries::get(&pool, id).await?;
    preconditions.answer(suppression.ok_or(Code::SuppressionNotFound)?)
}

/// Delete a suppression
///
/// The address can be mailed again, unless another suppression stands in the way. One that a complaint
/// made is only deleted with `confirm=true`.
#[utoipa::path(
    delete, path = "/api/v1/suppressions/{id}", operation_id = "delete_suppression",
    tag = "suppressions", params(SuppressionPath, Confirmation, Preconditions),
    extensions(("x-reads" = json!(["reason"]))),
    security(("bearer" = ["suppressions:write"])),
    responses((status = 204, description = "Deleted"), NotFound, Unconfirmed)
)]
pub(super) async fn delete(
    State(pool): State<PgPool>,
    Path(SuppressionPath { id }): Path<SuppressionPath>,
    Query(Confirmation { confirm }): Query<Confirmation>,
    preconditions: Preconditions,
    audit: Audit,
) -> Result<StatusCode, Problem> {
    if queries::delete(&pool, id, &preconditions.guard()?, confirm, &audit).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let find = || queries::get(&pool, id);
    Err(preconditions.unmet(find, Code::SuppressionNotFound).await)
}
