use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use sqlx::PgPool;
use uuid::Uuid;

use super::{
    model::{
        ListMailRecords, MailRecord, MailRecordInput, MailRecordPath, MailRecordReplacement,
        MailRecordsPath,
    },
    queries,
};
use crate::{
    http::{
        extract::{Json, Path, Query},
        page::Page,
    },
    problem::{Code, Problem},
    refusals,
};

refusals!(NoMember: MemberNotFound);
refusals!(NotFound: MemberNotFound, MailRecordNotFound);
refusals!(Taken: ExternalIdTaken, ProviderMessageIdTaken);

/// Create a mail record
///
/// Writes down a mail that was or is to be sent; nothing is sent by it.
#[utoipa::path(
    post, path = "/api/v1/members/{member_id}/mail-records", operation_id = "create_mail_record",
    tag = "mail-records", params(MailRecordsPath), request_body = MailRecordInput,
    responses(
        (status = 201, description = "Created", body = MailRecord,
            headers(("Location" = String, description = "Path of the new mail record"))),
        NoMember,
        Taken,
    )
)]
pub(super) async fn create(
    State(pool): State<PgPool>,
    Path(MailRecordsPath { member_id }): Path<MailRecordsPath>,
    Json(input): Json<MailRecordInput>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<MailRecord>), Problem> {
    let record = queries::insert(&pool, member_id, Uuid::now_v7(), &input)
        .await?
        .ok_or(Code::MemberNotFound)?;
    let location = format!("/api/v1/members/{member_id}/mail-records/{}", record.id);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(record),
    ))
}

/// List a member's mail records, newest first
///
/// Filters narrow the list together. A member without mail has an empty list; only an unknown
/// member is not found.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/mail-records",
    operation_id = "list_mail_records_of_member", tag = "mail-records",
    params(MailRecordsPath, ListMailRecords),
    responses((status = 200, description = "A page of mail records", body = Page<MailRecord>), NoMember)
)]
pub(super) async fn list_of_member(
    State(pool): State<PgPool>,
    Path(MailRecordsPath { member_id }): Path<MailRecordsPath>,
    Query {
        parameters: filter,
        scope,
    }: Query<ListMailRecords>,
) -> Result<Json<Page<MailRecord>>, Problem> {
    let after = scope.position(filter.cursor.as_ref())?;
    let rows = queries::list_of_member(&pool, member_id, &filter, after)
        .await?
        .ok_or(Code::MemberNotFound)?;
    Ok(Json(Page::new(rows, filter.limit, &scope, |record| {
        record.id
    })))
}

/// List the mail records of all members, newest first
///
/// Filters narrow the list together. With `recipient` it answers what was sent to an address,
/// whoever has it today.
#[utoipa::path(
    get, path = "/api/v1/mail-records", operation_id = "list_mail_records", tag = "mail-records",
    params(ListMailRecords),
    responses((status = 200, description = "A page of mail records", body = Page<MailRecord>))
)]
pub(super) async fn list_all(
    State(pool): State<PgPool>,
    Query {
        parameters: filter,
        scope,
    }: Query<ListMailRecords>,
) -> Result<Json<Page<MailRecord>>, Problem> {
    let after = scope.position(filter.cursor.as_ref())?;
    let rows = queries::list_all(&pool, &filter, after).await?;
    Ok(Json(Page::new(rows, filter.limit, &scope, |record| {
        record.id
    })))
}

/// Read a mail record
///
/// A missing member and a missing mail record are two different problems.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/mail-records/{id}", operation_id = "read_mail_record",
    tag = "mail-records", params(MailRecordPath),
    responses((status = 200, description = "The mail record", body = MailRecord), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(path): Path<MailRecordPath>,
) -> Result<Json<MailRecord>, Problem> {
    match queries::get(&pool, path.member_id, path.id).await? {
        Some(record) => Ok(Json(record)),
        None => Err(queries::missing(&pool, path.member_id).await),
    }
}

/// Replace a mail record
///
/// A field that is not given is set to its default. To whom the mail went stays as it is where it
/// is not given, and what became of it stays in any case.
#[utoipa::path(
    put, path = "/api/v1/members/{member_id}/mail-records/{id}", operation_id = "replace_mail_record",
    tag = "mail-records", params(MailRecordPath), request_body = MailRecordReplacement,
    responses(
        (status = 200, description = "The mail record as it is now", body = MailRecord),
        NotFound,
        Taken,
    )
)]
pub(super) async fn replace(
    State(pool): State<PgPool>,
    Path(path): Path<MailRecordPath>,
    Json(input): Json<MailRecordReplacement>,
) -> Result<Json<MailRecord>, Problem> {
    match queries::update(&pool, path.member_id, path.id, &input).await? {
        Some(record) => Ok(Json(record)),
        None => Err(queries::missing(&pool, path.member_id).await),
    }
}

/// Delete a mail record
///
/// It cannot be undone. Mail records that are a retry of it stay, with `retry_of` null.
#[utoipa::path(
    delete, path = "/api/v1/members/{member_id}/mail-records/{id}", operation_id = "delete_mail_record",
    tag = "mail-records", params(MailRecordPath),
    responses((status = 204, description = "Deleted"), NotFound)
)]
pub(super) async fn delete(
    State(pool): State<PgPool>,
    Path(path): Path<MailRecordPath>,
) -> Result<StatusCode, Problem> {
    if queries::delete(&pool, path.member_id, path.id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(queries::missing(&pool, path.member_id).await)
    }
}
