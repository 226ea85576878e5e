use axum::{
    Extension,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use sqlx::PgPool;

use super::{
    condition::Condition,
    events::consequences::FailureLimit,
    model::{
        MailRecord, MailRecordFilter, MailRecordInput, MailRecordPatch, MailRecordPath,
        MailRecordReplacement, MailRecordsPath,
    },
    queries::{self, Added, OfMember},
};
use crate::{
    http::{
        answer::{Created, Entity},
        audit::Audit,
        conditional::Preconditions,
        extract::{Json, Path, Query},
        idempotency::{IdempotencyKey, Once},
        list::{List, Paging, order::Sorting, page::Page},
        merge_patch::MergePatch,
        prefer::Return,
    },
    problem::{Code, Problem},
    refusals,
};

refusals!(NoMember: MemberNotFound);
refusals!(NotFound: MemberNotFound, MailRecordNotFound);
refusals!(NotWritten: ExternalIdTaken, ProviderMessageIdTaken, NotEligible);
refusals!(Taken: ExternalIdTaken, ProviderMessageIdTaken);

/// Create a mail record
///
/// Writes down a mail that was or is to be sent; nothing is sent by it. A mail that is written down
/// again, with a key that it has already (`external_id`, or `provider` and `provider_message_id`) and
/// the same body as the first time, is answered with the mail record that stands, whatever became of it
/// since; another body is a conflict. With `if_eligible=true` it is only written if the member may be mailed:
/// so who asks before sending need not ask twice.
#[utoipa::path(
    post, path = "/api/v1/members/{member_id}/mail-records", operation_id = "create_mail_record",
    tag = "mail-records", params(MailRecordsPath, Condition, IdempotencyKey, Return),
    request_body = MailRecordInput,
    security(("bearer" = ["mail:write"])),
    responses(
        (status = 201, description = "Created", body = MailRecord, headers(
            ("Location" = String, description = "Path of the new mail record"),
            ("ETag" = String, description = "Entity tag of the version"),
        )),
        (status = 200, description = "The mail record that stands", body = MailRecord,
            headers(("ETag" = String, description = "Entity tag of the version"))),
        NoMember,
        NotWritten,
    )
)]
pub(super) async fn create(
    Path(MailRecordsPath { member_id }): Path<MailRecordsPath>,
    Query(condition): Query<Condition>,
    Extension(limit): Extension<FailureLimit>,
    audit: Audit,
    once: Once,
    Json(mut input): Json<MailRecordInput>,
) -> Result<Response, Problem> {
    once.run(async |connection| {
        let given = input.fingerprint();
        if let Err(problem) = condition
            .apply(&mut *connection, member_id, &mut input)
            .await
        {
            // What was written down already was eligible then.
            let repeated = queries::repeated(connection, member_id, &input, &given).await?;
            return repeated
                .map(|record| Entity(record).into_response())
                .ok_or(problem);
        }
        let added = queries::add(connection, member_id, &input, &given, limit, &audit).await?;
        Ok(match added.ok_or(Code::MemberNotFound)? {
            Added::Created(record) => Created {
                location: format!("/api/v1/members/{member_id}/mail-records/{}", record.id),
                entity: record,
            }
            .into_response(),
            Added::Standing(record) => Entity(record).into_response(),
        })
    })
    .await
}

/// List a member's mail records, newest first unless sorted
///
/// Filters narrow the list together. A member without mail has an empty list; only an unknown
/// member is not found.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/mail-records",
    operation_id = "list_mail_records_of_member", tag = "mail-records",
    params(MailRecordsPath, MailRecordFilter, Sorting<MailRecord>, Paging),
    security(("bearer" = ["mail:read"])),
    responses(
        (status = 200, description = "A page of mail records, or all of them", body = Page<MailRecord>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
        NoMember,
    )
)]
pub(super) async fn list_of_member(
    State(pool): State<PgPool>,
    Path(MailRecordsPath { member_id }): Path<MailRecordsPath>,
    List { filter, view }: List<MailRecordFilter, MailRecord>,
) -> Result<Response, Problem> {
    view.answer(&pool, OfMember { member_id, filter }).await
}

/// List the mail records of all members, newest first unless sorted
///
/// Filters narrow the list together. With `recipient` it answers what was sent to an address,
/// whoever has it today.
#[utoipa::path(
    get, path = "/api/v1/mail-records", operation_id = "list_mail_records", tag = "mail-records",
    params(MailRecordFilter, Sorting<MailRecord>, Paging),
    security(("bearer" = ["mail:read"])),
    responses(
        (status = 200, description = "A page of mail records, or all of them", body = Page<MailRecord>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
    )
)]
pub(super) async fn list_all(
    State(pool): State<PgPool>,
    List { filter, view }: List<MailRecordFilter, MailRecord>,
) -> Result<Response, Problem> {
    view.answer(&pool, filter).await
}

/// Read a mail record
///
/// A missing member and a missing mail record are two different problems.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/mail-records/{id}", operation_id = "read_mail_record",
    tag = "mail-records", params(MailRecordPath, Preconditions),
    security(("bearer" = ["mail:read"])),
    responses((status = 200, description = "The mail record", body = MailRecord), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(path): Path<MailRecordPath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    match queries::get(&pool, path.member_id, path.id).await? {
        Some(record) => preconditions.answer(record),
        None => Err(queries::missing(&pool, path.member_id).await),
    }
}

/// Replace a mail record
///
/// A field that is not given is set to its default. To whom the mail went stays as it is where it
/// is not given, and what became of it stays in any case.
#[utoipa::path(
    put, path = "/api/v1/members/{member_id}/mail-records/{id}", operation_id = "replace_mail_record",
    tag = "mail-records", params(MailRecordPath, Preconditions, Return),
    request_body = MailRecordReplacement,
    security(("bearer" = ["mail:write"])),
    responses(
        (status = 200, description = "The mail record as it is now", body = MailRecord),
        NotFound,
        Taken,
    )
)]
pub(super) async fn replace(
    State(pool): State<PgPool>,
    Path(path): Path<MailRecordPath>,
    preconditions: Preconditions,
    audit: Audit,
    Json(input): Json<MailRecordReplacement>,
) -> Result<Entity<MailRecord>, Problem> {
    let guard = preconditions.guard()?;
    match queries::replace(&pool, path.member_id, path.id, &input, &guard, &audit).await? {
        Some(record) => Ok(Entity(record)),
        None => Err(unmet(&pool, &path, &preconditions).await),
    }
}

/// Change fields of a mail record
///
/// A field that is not given keeps its value, and null clears it: it is then what it would be in a
/// new mail record without it. `metadata` is merged in the same way, at every depth. What became of
/// the mail stays as it is.
#[utoipa::path(
    patch, path = "/api/v1/members/{member_id}/mail-records/{id}", operation_id = "update_mail_record",
    tag = "mail-records", params(MailRecordPath, Preconditions, Return),
    request_body(
        content = MailRecordPatch, content_type = "application/merge-patch+json"
    ),
    security(("bearer" = ["mail:write"])),
    responses(
        (status = 200, description = "The mail record as it is now", body = MailRecord),
        NotFound,
        Taken,
    )
)]
pub(super) async fn update(
    State(pool): State<PgPool>,
    Path(record): Path<MailRecordPath>,
    preconditions: Preconditions,
    audit: Audit,
    patch: MergePatch<MailRecordReplacement>,
) -> Result<Entity<MailRecord>, Problem> {
    let guard = preconditions.guard()?;
    let MailRecordPath { member_id, id } = record;
    let mut transaction = pool.begin().await?;
    if let Some(standing) = queries::lock(&mut *transaction, member_id, id).await? {
        let input = patch.apply_to(&standing.into())?;
        let updated =
            queries::replace(&mut *transaction, member_id, id, &input, &guard, &audit).await?;
        if let Some(updated) = updated {
            transaction.commit().await?;
            return Ok(Entity(updated));
        }
    }
    transaction.rollback().await?;
    Err(unmet(&pool, &record, &preconditions).await)
}

/// Delete a mail record
///
/// It cannot be undone. Mail records that are a retry of it stay, with `retry_of` null.
#[utoipa::path(
    delete, path = "/api/v1/members/{member_id}/mail-records/{id}", operation_id = "delete_mail_record",
    tag = "mail-records", params(MailRecordPath, Preconditions),
    security(("bearer" = ["mail:delete"])),
    responses((status = 204, description = "Deleted"), NotFound)
)]
pub(super) async fn delete(
    State(pool): State<PgPool>,
    Path(path): Path<MailRecordPath>,
    preconditions: Preconditions,
    audit: Audit,
) -> Result<StatusCode, Problem> {
    let guard = preconditions.guard()?;
    if queries::delete(&pool, path.member_id, path.id, &guard, &audit).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(unmet(&pool, &path, &preconditions).await)
    }
}

/// Why a write met no mail record.
async fn unmet(pool: &PgPool, path: &MailRecordPath, preconditions: &Preconditions) -> Problem {
    let find = || queries::get(pool, path.member_id, path.id);
    let problem = preconditions.unmet(find, Code::MailRecordNotFound).await;
    if problem.code == Code::MailRecordNotFound {
        return queries::missing(pool, path.member_id).await;
    }
    problem
}
