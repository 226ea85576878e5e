//! A member under the caller's own key.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use sqlx::PgPool;
use uuid::Uuid;

use super::{
    handlers::{NotFound, Taken, apply, created},
    model::{ExternalId, ExternalIdPath, Member, MemberInput, MemberPatch},
    queries,
};
use crate::{
    http::{
        answer::Entity,
        audit::Audit,
        conditional::{Preconditions, Upsert},
        extract::{Json, Path},
        merge_patch::MergePatch,
        prefer::Return,
    },
    problem::{Code, Problem},
};

/// Read the member with an external id
///
/// It is the same resource, with the same tag, as under the member's id.
#[utoipa::path(
    get, path = "/api/v1/members/by-external-id/{external_id}",
    operation_id = "read_member_by_external_id", tag = "members",
    params(ExternalIdPath, Preconditions),
    security(("bearer" = ["members:read"])),
    responses((status = 200, description = "The member", body = Member), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(ExternalIdPath { external_id }): Path<ExternalIdPath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    let member = queries::get_by_external_id(&pool, &external_id).await?;
    preconditions.answer(member.ok_or(Code::MemberNotFound)?)
}

/// Create or replace the member with an external id
///
/// The member is made where there is none, and else replaced as by `PUT` under the member's id: the
/// caller needs to know neither the id nor whether the member is there. With `If-None-Match: *` it is
/// only made, with `If-Match` only replaced.
#[utoipa::path(
    put, path = "/api/v1/members/by-external-id/{external_id}",
    operation_id = "replace_member_by_external_id", tag = "members",
    params(ExternalIdPath, Preconditions, Return), request_body = MemberInput,
    security(("bearer" = ["members:write"])),
    responses(
        (status = 200, description = "The member as it is now", body = Member),
        (status = 201, description = "Created", body = Member,
            headers(("Location" = String, description = "Path of the new member"))),
        Taken,
    )
)]
pub(super) async fn replace(
    State(pool): State<PgPool>,
    Path(ExternalIdPath { external_id }): Path<ExternalIdPath>,
    preconditions: Preconditions,
    audit: Audit,
    Json(mut input): Json<MemberInput>,
) -> Result<Response, Problem> {
    let given = input.external_id.get_or_insert_with(|| external_id.clone());
    if *given != external_id {
        let detail = "The external id in the path is another; leave it out here.";
        return Err(Problem::invalid_field("external_id", "mismatch", detail));
    }
    match preconditions.upsert()? {
        Upsert::Create => match queries::insert(&pool, Uuid::now_v7(), &input, &audit).await {
            Ok(member) => Ok(created(member).into_response()),
            Err(problem) if problem.code == Code::ExternalIdTaken => {
                Err(Code::PreconditionFailed.into())
            }
            Err(problem) => Err(problem),
        },
        Upsert::Replace(guard) => {
            let member =
                queries::replace_by_external_id(&pool, &external_id, &input, &guard, &audit)
                    .await?;
            member
                .map(|member| Entity(member).into_response())
                .ok_or_else(|| Code::PreconditionFailed.into())
        }
        Upsert::Either(guard) => {
            match queries::upsert(&pool, &external_id, &input, &guard, &audit).await? {
                Some(upserted) if upserted.created => Ok(created(upserted.member).into_response()),
                Some(upserted) => Ok(Entity(upserted.member).into_response()),
                None => Err(Code::PreconditionFailed.into()),
            }
        }
    }
}

/// Change fields of the member with an external id
///
/// As by `PATCH` under the member's id. The external id itself may be changed, too.
#[utoipa::path(
    patch, path = "/api/v1/members/by-external-id/{external_id}",
    operation_id = "update_member_by_external_id", tag = "members",
    params(ExternalIdPath, Preconditions, Return),
    request_body(content = MemberPatch, content_type = "application/merge-patch+json"),
    security(("bearer" = ["members:write"])),
    responses((status = 200, description = "The member as it is now", body = Member), NotFound, Taken)
)]
pub(super) async fn update(
    State(pool): State<PgPool>,
    Path(ExternalIdPath { external_id }): Path<ExternalIdPath>,
    preconditions: Preconditions,
    audit: Audit,
    patch: MergePatch<MemberInput>,
) -> Result<Entity<Member>, Problem> {
    let guard = preconditions.guard()?;
    let mut transaction = pool.begin().await?;
    let standing = queries::lock_by_external_id(&mut *transaction, &external_id).await?;
    match apply(transaction, standing, &patch, &guard, &audit).await? {
        Some(member) => Ok(Entity(member)),
        None => Err(unmet(&pool, &external_id, &preconditions).await),
    }
}

/// Delete the member with an external id, and all mail records
///
/// As by `DELETE` under the member's id. It cannot be undone.
#[utoipa::path(
    delete, path = "/api/v1/members/by-external-id/{external_id}",
    operation_id = "delete_member_by_external_id", tag = "members",
    params(ExternalIdPath, Preconditions),
    security(("bearer" = ["members:delete"])),
    responses((status = 204, description = "Deleted"), NotFound)
)]
pub(super) async fn delete(
    State(pool): State<PgPool>,
    Path(ExternalIdPath { external_id }): Path<ExternalIdPath>,
    preconditions: Preconditions,
    audit: Audit,
) -> Result<StatusCode, Problem> {
    let guard = preconditions.guard()?;
    if queries::delete_by_external_id(&pool, &external_id, &guard, &audit).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(unmet(&pool, &external_id, &preconditions).await)
    }
}

/// Why a write met no member.
async fn unmet(pool: &PgPool, external_id: &ExternalId, preconditions: &Preconditions) -> Problem {
    preconditions
        .unmet(
            || queries::get_by_external_id(pool, external_id),
            Code::MemberNotFound,
        )
        .await
}
