//! All SQL on members. `Ok(None)` means that there is no such member.
//!
//! What gives a member an address looks at once for how long it is suppressed (`blocked_until`); what is
//! suppressed later comes to her by `refresh_mailability`.
//!
//! - `batch`: many members in one statement
//! - `delete`: a member, and all that tells of her
//! - `list`: the list, put together from the filters that are given

mod batch;
mod delete;
mod list;

use sqlx::{PgExecutor, PgPool, query, types::Json};
use uuid::Uuid;

pub(super) use batch::insert_all;
pub(super) use delete::{delete, delete_by_external_id};

use super::model::{ExternalId, Mailability, Member, MemberInput, MemberStatus};
use crate::{
    http::{audit::Audit, conditional::Guard},
    problem::{Code, OnConstraint, Problem, QueryError},
    values::{Date, EmailAddress, JsonObject, Line, Tags, Timestamp, fold},
};

/// What an upsert did.
pub(super) struct Upserted {
    pub(super) created: bool,
    pub(super) member: Member,
}

/// A checked query that answers whole members: what stands before the columns, and what behind.
macro_rules! query_member {
    ($before:tt $(+ $more:tt)*, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Member,
            $before $(+ $more)*
                + r#" AS "id!", external_id as "external_id: Line<1, 255>", email as "email: EmailAddress",
                    name as "name: Line<1, 200>", birth as "birth: Date", joined as "joined: Date",
                    status as "status: MemberStatus", tags as "tags: Tags",
                    attributes as "attributes: JsonObject",
                    mailability(members) as "mailability!: Mailability",
                    created_at as "created_at: Timestamp",
                    updated_at as "updated_at: Timestamp", version "#
                + $after,
            $($argument),*
        )
    };
}

use query_member;

pub(super) async fn insert(
    executor: impl PgExecutor<'_>,
    id: Uuid,
    member: &MemberInput,
    audit: &Audit,
) -> Result<Member, Problem> {
    let inserted = query_member!(
        "INSERT INTO members
            (id, external_id, email, email_folded, name, birth, joined, status, tags, attributes,
             name_folded, search_text, email_hash, suppressed_until, unsubscribed_until)
         VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, (now() AT TIME ZONE 'UTC')::date), $8, $9, $10, $11,
                 $12, address_hash($4), blocked_until($4, 'all'), blocked_until($4, 'marketing'))
         RETURNING record_write($13, 'member', id, id)",
        "",
        id,
        member.external_id.as_ref() as _,
        member.email.as_ref() as _,
        member.email.as_ref().map(EmailAddress::folded),
        &member.name as _,
        member.birth as _,
        member.joined as _,
        member.status as _,
        &member.tags as _,
        &member.attributes as _,
        name_folded(member),
        search_text(member),
        Json(audit) as _,
    )
    .fetch_one(executor)
    .await;
    Ok(name_conflicts(inserted)?)
}

pub(super) async fn get(executor: impl PgExecutor<'_>, id: Uuid) -> sqlx::Result<Option<Member>> {
    query_member!("SELECT id", "FROM members WHERE id = $1", id)
        .fetch_optional(executor)
        .await
}

pub(super) async fn get_by_external_id(
    executor: impl PgExecutor<'_>,
    external_id: &ExternalId,
) -> sqlx::Result<Option<Member>> {
    query_member!(
        "SELECT id",
        "FROM members WHERE external_id = $1",
        external_id.as_str(),
    )
    .fetch_optional(executor)
    .await
}

pub(super) async fn get_by_email(
    executor: impl PgExecutor<'_>,
    email: &EmailAddress,
) -> sqlx::Result<Option<Member>> {
    query_member!(
        "SELECT id",
        "FROM members WHERE email_folded = $1",
        email.folded(),
    )
    .fetch_optional(executor)
    .await
}

/// Reads a member and keeps others from writing her until the transaction ends.
pub(super) async fn lock(executor: impl PgExecutor<'_>, id: Uuid) -> sqlx::Result<Option<Member>> {
    query_member!(
        "SELECT id",
        "FROM members WHERE id = $1 FOR NO KEY UPDATE",
        id
    )
    .fetch_optional(executor)
    .await
}

pub(super) async fn lock_by_external_id(
    executor: impl PgExecutor<'_>,
    external_id: &ExternalId,
) -> sqlx::Result<Option<Member>> {
    query_member!(
        "SELECT id",
        "FROM members WHERE external_id = $1 FOR NO KEY UPDATE",
        external_id.as_str(),
    )
    .fetch_optional(executor)
    .await
}

/// A checked query that replaces the member whom `$key` names by `$1`, in one of the versions that
/// the guard lets through.
macro_rules! replace_member {
    ($key:tt, $named:expr, $member:expr, $guard:expr, $audit:expr) => {
        query_member!(
            "UPDATE members
             SET external_id = $2, email = $3, email_folded = $4, name = $5, birth = $6,
                 joined = coalesce($7, joined), status = $8, tags = $9,
                 attributes = $10, name_folded = $11, search_text = $12, email_hash = address_hash($4),
                 suppressed_until = CASE
                     WHEN email_hash IS NOT DISTINCT FROM address_hash($4) THEN suppressed_until
                     ELSE blocked_until($4, 'all') END,
                 unsubscribed_until = CASE
                     WHEN email_hash IS NOT DISTINCT FROM address_hash($4) THEN unsubscribed_until
                     ELSE blocked_until($4, 'marketing') END,
                 former_email_hashes = CASE
                     WHEN email_hash IS NOT DISTINCT FROM address_hash($4) THEN former_email_hashes
                     ELSE array_append(array_remove(former_email_hashes, email_hash), email_hash) END,
                 updated_at = greatest(updated_at, clock_timestamp()), version = version + 1
             WHERE "
                + $key
                + " = $1
                 AND ($13::bigint[] IS NULL OR version = ANY ($13)) AND version <> ALL ($14)
             RETURNING record_write($15, 'member', id, id)",
            "",
            $named,
            $member.external_id.as_ref() as _,
            $member.email.as_ref() as _,
            $member.email.as_ref().map(EmailAddress::folded),
            &$member.name as _,
            $member.birth as _,
            $member.joined as _,
            $member.status as _,
            &$member.tags as _,
            &$member.attributes as _,
            name_folded($member),
            search_text($member),
            $guard.only.as_deref(),
            &$guard.except,
            Json($audit) as _,
        )
    };
}

/// Replaces a member in one of the versions that `guard` lets through.
pub(super) async fn replace(
    executor: impl PgExecutor<'_>,
    id: Uuid,
    member: &MemberInput,
    guard: &Guard,
    audit: &Audit,
) -> Result<Option<Member>, Problem> {
    let updated = replace_member!("id", id, member, guard, audit)
        .fetch_optional(executor)
        .await;
    Ok(name_conflicts(updated)?)
}

pub(super) async fn replace_by_external_id(
    executor: impl PgExecutor<'_>,
    external_id: &ExternalId,
    member: &MemberInput,
    guard: &Guard,
    audit: &Audit,
) -> Result<Option<Member>, Problem> {
    let updated = replace_member!("external_id", external_id.as_str(), member, guard, audit)
        .fetch_optional(executor)
        .await;
    Ok(name_conflicts(updated)?)
}

/// Replaces the member with this external id in one of the versions that `guard` lets through, or
/// makes one; none if the guard does not let the standing version through.
pub(super) async fn upsert(
    pool: &PgPool,
    external_id: &ExternalId,
    member: &MemberInput,
    guard: &Guard,
    audit: &Audit,
) -> Result<Option<Upserted>, Problem> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match upsert_once(pool, external_id, member, guard, audit).await {
            // Of two who make the same member at once, the later may meet the e-mail address of the
            // earlier before the external id. By then she is there, and is found next time.
            Err(problem) if problem.code == Code::EmailTaken && attempts < 3 => {}
            result => return result,
        }
    }
}

async fn upsert_once(
    executor: impl PgExecutor<'_>,
    external_id: &ExternalId,
    member: &MemberInput,
    guard: &Guard,
    audit: &Audit,
) -> Result<Option<Upserted>, Problem> {
    let id = Uuid::now_v7();
    let upserted = query_member!(
        "INSERT INTO members
            (id, external_id, email, email_folded, name, birth, joined, status, tags, attributes,
             name_folded, search_text, email_hash, suppressed_until, unsubscribed_until)
         VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, (now() AT TIME ZONE 'UTC')::date), $8, $9, $10, $11,
                 $12, address_hash($4), blocked_until($4, 'all'), blocked_until($4, 'marketing'))
         ON CONFLICT (external_id) DO UPDATE
         SET email = excluded.email, email_folded = excluded.email_folded, name = excluded.name,
             birth = excluded.birth, joined = coalesce($7, members.joined), status = excluded.status,
             tags = excluded.tags, attributes = excluded.attributes,
             name_folded = excluded.name_folded, search_text = excluded.search_text,
             email_hash = excluded.email_hash, suppressed_until = excluded.suppressed_until,
             unsubscribed_until = excluded.unsubscribed_until,
             former_email_hashes = CASE
                 WHEN members.email_hash IS NOT DISTINCT FROM excluded.email_hash
                 THEN members.former_email_hashes
                 ELSE array_append(
                     array_remove(members.former_email_hashes, members.email_hash), members.email_hash
                 ) END,
             updated_at = greatest(members.updated_at, clock_timestamp()), version = members.version + 1
         WHERE ($13::bigint[] IS NULL OR members.version = ANY ($13)) AND members.version <> ALL ($14)
         RETURNING record_write($15, 'member', id, id)",
        "",
        id,
        external_id.as_str(),
        member.email.as_ref() as _,
        member.email.as_ref().map(EmailAddress::folded),
        &member.name as _,
        member.birth as _,
        member.joined as _,
        member.status as _,
        &member.tags as _,
        &member.attributes as _,
        name_folded(member),
        search_text(member),
        guard.only.as_deref(),
        &guard.except,
        Json(audit) as _,
    )
    .fetch_optional(executor)
    .await;
    Ok(name_conflicts(upserted)?.map(|member| Upserted {
        created: member.id == id,
        member,
    }))
}

/// What members are sorted by. A letter may fold to many, and an index does not hold more than some
/// 2,700 bytes.
fn name_folded(member: &MemberInput) -> String {
    fold(member.name.as_str()).chars().take(200).collect()
}

/// What members are searched by: the name, and in a line of its own the address. No term holds a line
/// break, so that none is found across.
fn search_text(member: &MemberInput) -> String {
    let lines = [
        Some(member.name.as_str()),
        member.email.as_ref().map(EmailAddress::as_str),
    ];
    let lines: Vec<_> = lines.into_iter().flatten().map(fold).collect();
    lines.join("\n")
}

fn name_conflicts<T>(result: sqlx::Result<T>) -> Result<T, QueryError> {
    result
        .on_constraint("members_email_key", || Code::EmailTaken.into())
        .on_constraint("members_external_id_key", || Code::ExternalIdTaken.into())
}

/// Adds persons to try things on, each made from a number; says how many were new. What is there
/// already stays.
pub async fn insert_examples(
    executor: impl PgExecutor<'_>,
    ids: &[Uuid],
    numbers: &[i32],
) -> sqlx::Result<u64> {
    let inserted = query!(
        "INSERT INTO members
             (id, external_id, email, email_folded, name, name_folded, search_text,
              birth, joined, tags, email_hash, suppressed_until, unsubscribed_until)
         SELECT id, 'person-' || n, address, address, 'Person ' || n, 'person ' || n,
                'person ' || n || chr(10) || address,
                '1970-01-01'::date + n - 1, '1970-01-01'::date + n - 1 + 10000,
                CASE WHEN n % 100 = 1 THEN ARRAY['board'] ELSE '{}' END,
                address_hash(address), blocked_until(address, 'all'), blocked_until(address, 'marketing')
         FROM (
             SELECT id, n + 1 AS n, 'person-' || n + 1 || '@example.org' AS address
             FROM unnest($1::uuid[], $2::int[]) AS person (id, n)
         ) AS persons
         ON CONFLICT DO NOTHING",
        ids,
        numbers,
    )
    .execute(executor)
    .await?;
    Ok(inserted.rows_affected())
}
