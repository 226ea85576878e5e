use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use sqlx::PgPool;
use uuid::Uuid;

use super::{
    model::{
        ListMembers, Member, MemberInput, MemberPath, MemberWithMailRecords, NewestMailRecords,
    },
    queries,
};
use crate::{
    http::{
        extract::{Json, Path, Query},
        page::Page,
    },
    mail_records,
    problem::{Code, Problem},
    refusals,
};

refusals!(NotFound: MemberNotFound);
refusals!(Taken: EmailTaken, ExternalIdTaken);

/// Create a member
///
/// Only `name` is required. An e-mail address or an external id that another member has is a
/// conflict.
#[utoipa::path(
    post, path = "/api/v1/members", operation_id = "create_member", tag = "members",
    request_body = MemberInput,
    responses(
        (status = 201, description = "Created", body = Member,
            headers(("Location" = String, description = "Path of the new member"))),
        Taken,
    )
)]
pub(super) async fn create(
    State(pool): State<PgPool>,
    Json(input): Json<MemberInput>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<Member>), Problem> {
    let member = queries::insert(&pool, Uuid::now_v7(), &input).await?;
    let location = format!("/api/v1/members/{}", member.id);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(member),
    ))
}

/// List members, newest first
///
/// Filters narrow the list together. Follow `next_cursor` from page to page: no member is shown
/// twice or left out, whatever is added meanwhile.
#[utoipa::path(
    get, path = "/api/v1/members", operation_id = "list_members", tag = "members",
    params(ListMembers),
    responses((status = 200, description = "A page of members", body = Page<Member>))
)]
pub(super) async fn list(
    State(pool): State<PgPool>,
    Query {
        parameters: filter,
        scope,
    }: Query<ListMembers>,
) -> Result<Json<Page<Member>>, Problem> {
    let after = scope.position(filter.cursor.as_ref())?;
    let rows = queries::list(&pool, &filter, after).await?;
    Ok(Json(Page::new(rows, filter.limit, &scope, |member| {
        member.id
    })))
}

/// Read a member
///
/// To find a member by e-mail address or by your own key, filter the list.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}", operation_id = "read_member", tag = "members",
    params(MemberPath),
    responses((status = 200, description = "The member", body = Member), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
) -> Result<Json<Member>, Problem> {
    let member = queries::get(&pool, member_id)
        .await?
        .ok_or(Code::MemberNotFound)?;
    Ok(Json(member))
}

/// Replace a member
///
/// A field that is not given is set to its default; only `joined` stays as it is.
#[utoipa::path(
    put, path = "/api/v1/members/{member_id}", operation_id = "replace_member", tag = "members",
    params(MemberPath), request_body = MemberInput,
    responses((status = 200, description = "The member as it is now", body = Member), NotFound, Taken)
)]
pub(super) async fn replace(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    Json(input): Json<MemberInput>,
) -> Result<Json<Member>, Problem> {
    let member = queries::update(&pool, member_id, &input)
        .await?
        .ok_or(Code::MemberNotFound)?;
    Ok(Json(member))
}

/// Delete a member with all mail records
///
/// It cannot be undone. To end a membership and keep the record of it, set `status` to `ended`.
#[utoipa::path(
    delete, path = "/api/v1/members/{member_id}", operation_id = "delete_member", tag = "members",
    params(MemberPath),
    responses((status = 204, description = "Deleted"), NotFound)
)]
pub(super) async fn delete(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
) -> Result<StatusCode, Problem> {
    if queries::delete(&pool, member_id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Code::MemberNotFound.into())
    }
}

/// Read a member with the newest mail records
///
/// Both are read at the same time. A member that was deleted meanwhile is not found, and never
/// shown with an emptied history.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/with-mail-records",
    operation_id = "read_member_with_mail_records", tag = "members",
    params(MemberPath, NewestMailRecords),
    responses(
        (status = 200, description = "The member with the newest mail records", body = MemberWithMailRecords),
        NotFound,
    )
)]
pub(super) async fn read_with_mail_records(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    Query {
        parameters: NewestMailRecords { limit },
        ..
    }: Query<NewestMailRecords>,
) -> Result<Json<MemberWithMailRecords>, Problem> {
    let (member, mail_records) = tokio::try_join!(
        queries::get(&pool, member_id),
        mail_records::queries::newest_of_member(&pool, member_id, limit.rows()),
    )?;
    let (Some(member), Some(mail_records)) = (member, mail_records) else {
        return Err(Code::MemberNotFound.into());
    };
    Ok(Json(MemberWithMailRecords {
        member,
        mail_records,
    }))
}
