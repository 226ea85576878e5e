use axum::{extract::State, http::StatusCode, response::Response};
use sqlx::{PgPool, Postgres, Transaction};
use uuid::Uuid;

use super::{
    model::{
        EmailPath, Member, MemberFilter, MemberInput, MemberPatch, MemberPath,
        MemberWithMailRecords, NewestMailRecords,
    },
    queries,
};
use crate::{
    http::{
        answer::{Created, Entity},
        audit::Audit,
        conditional::{Guard, Preconditions},
        extract::{Json, Path, Query},
        idempotency::{IdempotencyKey, Once},
        list::{List, Paging, order::Sorting, page::Page},
        merge_patch::MergePatch,
        prefer::Return,
        views::visible,
    },
    mail_records,
    problem::{Code, Problem},
    refusals,
};

refusals!(pub(super) NotFound: MemberNotFound);
refusals!(pub(super) Taken: EmailTaken, ExternalIdTaken);

/// Create a member
///
/// Only `name` is required. An e-mail address or an external id that another member has is a
/// conflict.
#[utoipa::path(
    post, path = "/api/v1/members", operation_id = "create_member", tag = "members",
    params(IdempotencyKey, Return), request_body = MemberInput,
    security(("bearer" = ["members:write"])),
    responses(
        (status = 201, description = "Created", body = Member, headers(
            ("Location" = String, description = "Path of the new member"),
            ("ETag" = String, description = "Entity tag of the version"),
        )),
        Taken,
    )
)]
pub(super) async fn create(
    audit: Audit,
    once: Once,
    Json(input): Json<MemberInput>,
) -> Result<Response, Problem> {
    once.run(async |connection| {
        let member = queries::insert(connection, Uuid::now_v7(), &input, &audit).await?;
        Ok(created(member))
    })
    .await
}

/// 201 with a new member.
pub(super) fn created(member: Member) -> Created<Member> {
    Created {
        location: format!("/api/v1/members/{}", member.id),
        entity: member,
    }
}

/// List members, newest first unless sorted
///
/// Filters narrow the list together. Follow `next_cursor` from page to page: no member is shown
/// twice or left out, whatever is added or deleted meanwhile. Names are sorted without regard to
/// case and accents; members whose date of birth is not known count as born last.
#[utoipa::path(
    get, path = "/api/v1/members", operation_id = "list_members", tag = "members",
    params(MemberFilter, Sorting<Member>, Paging),
    security(("bearer" = ["members:read"])),
    responses(
        (status = 200, description = "A page of members, or all of them", body = Page<Member>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
    )
)]
pub(super) async fn list(
    State(pool): State<PgPool>,
    List { filter, view }: List<MemberFilter, Member>,
) -> Result<Response, Problem> {
    view.answer(&pool, filter).await
}

/// Read a member
///
/// `with-mail-records` below it has the newest mail as well.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}", operation_id = "read_member", tag = "members",
    params(MemberPath, Preconditions),
    security(("bearer" = ["members:read"])),
    responses((status = 200, description = "The member", body = Member), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    let member = queries::get(&pool, member_id).await?;
    preconditions.answer(member.ok_or(Code::MemberNotFound)?)
}

/// Read the member with an e-mail address
///
/// No two members share one, whatever the case.
#[utoipa::path(
    get, path = "/api/v1/members/by-email/{email}", operation_id = "read_member_by_email",
    tag = "members", params(EmailPath, Preconditions),
    security(("bearer" = ["members:read"])),
    responses((status = 200, description = "The member", body = Member), NotFound)
)]
pub(super) async fn read_by_email(
    State(pool): State<PgPool>,
    Path(EmailPath { email }): Path<EmailPath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    let member = queries::get_by_email(&pool, &email).await?;
    preconditions.answer(member.ok_or(Code::MemberNotFound)?)
}

/// Replace a member
///
/// A field that is not given is set to its default; only `joined` stays as it is.
#[utoipa::path(
    put, path = "/api/v1/members/{member_id}", operation_id = "replace_member", tag = "members",
    params(MemberPath, Preconditions, Return), request_body = MemberInput,
    security(("bearer" = ["members:write"])),
    responses((status = 200, description = "The member as it is now", body = Member), NotFound, Taken)
)]
pub(super) async fn replace(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    preconditions: Preconditions,
    audit: Audit,
    Json(input): Json<MemberInput>,
) -> Result<Entity<Member>, Problem> {
    let guard = preconditions.guard()?;
    match queries::replace(&pool, member_id, &input, &guard, &audit).await? {
        Some(member) => Ok(Entity(member)),
        None => Err(unmet(&pool, member_id, &preconditions).await),
    }
}

/// Change fields of a member
///
/// A field that is not given keeps its value, and null clears it: it is then what it would be in a
/// new member without it. `attributes` are merged in the same way, at every depth.
#[utoipa::path(
    patch, path = "/api/v1/members/{member_id}", operation_id = "update_member", tag = "members",
    params(MemberPath, Preconditions, Return),
    request_body(content = MemberPatch, content_type = "application/merge-patch+json"),
    security(("bearer" = ["members:write"])),
    responses((status = 200, description = "The member as it is now", body = Member), NotFound, Taken)
)]
pub(super) async fn update(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    preconditions: Preconditions,
    audit: Audit,
    patch: MergePatch<MemberInput>,
) -> Result<Entity<Member>, Problem> {
    let guard = preconditions.guard()?;
    let mut transaction = pool.begin().await?;
    let standing = queries::lock(&mut *transaction, member_id).await?;
    match apply(transaction, standing, &patch, &guard, &audit).await? {
        Some(member) => Ok(Entity(member)),
        None => Err(unmet(&pool, member_id, &preconditions).await),
    }
}

/// Delete a member with all mail records
///
/// It cannot be undone. To end a membership and keep the record of it, set `status` to `ended`. Nothing that
/// tells of the member is left, with one exception: an address that must not be mailed, or whose owner wants
/// no marketing mail, stays so, by a keyed hash of it alone. Her id stays in the audit log until its entries are
/// removed.
#[utoipa::path(
    delete, path = "/api/v1/members/{member_id}", operation_id = "delete_member", tag = "members",
    params(MemberPath, Preconditions),
    security(("bearer" = ["members:delete"])),
    responses((status = 204, description = "Deleted"), NotFound)
)]
pub(super) async fn delete(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    preconditions: Preconditions,
    audit: Audit,
) -> Result<StatusCode, Problem> {
    if queries::delete(&pool, member_id, &preconditions.guard()?, &audit).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(unmet(&pool, member_id, &preconditions).await)
    }
}

/// Applies a patch to a member who was locked in `transaction`; none if the guard does not let her
/// version through.
pub(super) async fn apply(
    mut transaction: Transaction<'_, Postgres>,
    standing: Option<Member>,
    patch: &MergePatch<MemberInput>,
    guard: &Guard,
    audit: &Audit,
) -> Result<Option<Member>, Problem> {
    let Some(member) = standing else {
        return Ok(None);
    };
    let id = member.id;
    let input = patch.apply_to(&member.into())?;
    let updated = queries::replace(&mut *transaction, id, &input, guard, audit).await?;
    transaction.commit().await?;
    Ok(updated)
}

/// Why a write met no member.
async fn unmet(pool: &PgPool, member_id: Uuid, preconditions: &Preconditions) -> Problem {
    preconditions
        .unmet(|| queries::get(pool, member_id), Code::MemberNotFound)
        .await
}

/// Read a member with the newest mail records
///
/// With it comes what became of all mail of the member, in figures. All three are read at the same
/// time. A member that was deleted meanwhile is not found, and never
/// shown with an emptied history.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/with-mail-records",
    operation_id = "read_member_with_mail_records", tag = "members",
    params(MemberPath, NewestMailRecords),
    security(("bearer" = ["members:read", "mail:read"])),
    responses(
        (status = 200, description = "The member with the newest mail records", body = MemberWithMailRecords),
        NotFound,
    )
)]
pub(super) async fn read_with_mail_records(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    Query(NewestMailRecords { limit }): Query<NewestMailRecords>,
) -> Result<Json<MemberWithMailRecords>, Problem> {
    let visible = visible()?;
    let (member, mail_summary, mail_records) = tokio::try_join!(
        queries::get(&pool, member_id),
        mail_records::queries::summary_of_member(&pool, member_id),
        mail_records::queries::newest_of_member(&pool, member_id, limit.rows(), &visible),
    )?;
    let (Some(member), Some(mail_records)) = (member, mail_records) else {
        return Err(Code::MemberNotFound.into());
    };
    Ok(Json(MemberWithMailRecords {
        member,
        mail_summary,
        mail_records,
    }))
}
