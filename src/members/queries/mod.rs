//! All SQL on members. `Ok(None)` means that there is no such member.
//!
//! - `list`: the list, put together from the filters that are given

mod list;

use sqlx::{PgExecutor, query};
use uuid::Uuid;

pub(super) use list::list;

use super::model::{Member, MemberInput, MemberStatus};
use crate::{
    problem::{Code, OnConstraint, Problem, QueryError},
    values::{Date, EmailAddress, JsonObject, Line, Tags, Timestamp},
};

/// A checked query that answers whole members: what stands before the columns, and what behind.
macro_rules! query_member {
    ($before:tt, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Member,
            $before
                + r#" id, external_id as "external_id: Line<1, 255>", email as "email: EmailAddress",
                    name as "name: Line<1, 200>", birth as "birth: Date", joined as "joined: Date",
                    status as "status: MemberStatus", tags as "tags: Tags",
                    attributes as "attributes: JsonObject", created_at as "created_at: Timestamp",
                    updated_at as "updated_at: Timestamp", version "#
                + $after,
            $($argument),*
        )
    };
}

pub(super) async fn insert(
    executor: impl PgExecutor<'_>,
    id: Uuid,
    member: &MemberInput,
) -> Result<Member, Problem> {
    let inserted = query_member!(
        "INSERT INTO members
            (id, external_id, email, email_folded, name, birth, joined, status, tags, attributes)
         VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, (now() AT TIME ZONE 'UTC')::date), $8, $9, $10)
         RETURNING",
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
    )
    .fetch_one(executor)
    .await;
    Ok(name_conflicts(inserted)?)
}

pub(super) async fn get(executor: impl PgExecutor<'_>, id: Uuid) -> sqlx::Result<Option<Member>> {
    query_member!("SELECT", "FROM members WHERE id = $1", id)
        .fetch_optional(executor)
        .await
}

pub(super) async fn update(
    executor: impl PgExecutor<'_>,
    id: Uuid,
    member: &MemberInput,
) -> Result<Option<Member>, Problem> {
    let updated = query_member!(
        "UPDATE members
         SET external_id = $2, email = $3, email_folded = $4, name = $5, birth = $6,
             joined = coalesce($7, joined), status = $8, tags = $9,
             attributes = $10, updated_at = now(), version = version + 1
         WHERE id = $1
         RETURNING",
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
    )
    .fetch_optional(executor)
    .await;
    Ok(name_conflicts(updated)?)
}

fn name_conflicts<T>(result: sqlx::Result<T>) -> Result<T, QueryError> {
    result
        .on_constraint("members_email_key", || Code::EmailTaken.into())
        .on_constraint("members_external_id_key", || Code::ExternalIdTaken.into())
}

pub(super) async fn delete(executor: impl PgExecutor<'_>, id: Uuid) -> sqlx::Result<bool> {
    let deleted = query!("DELETE FROM members WHERE id = $1", id)
        .execute(executor)
        .await?;
    Ok(deleted.rows_affected() > 0)
}

/// Adds persons to try things on, each made from a number; says how many were new. What is there
/// already stays.
pub async fn insert_examples(
    executor: impl PgExecutor<'_>,
    ids: &[Uuid],
    numbers: &[i32],
) -> sqlx::Result<u64> {
    let inserted = query!(
        "INSERT INTO members (id, external_id, email, email_folded, name, birth, joined, tags)
         SELECT id, 'person-' || n, 'person-' || n || '@example.org', 'person-' || n || '@example.org',
                'Person ' || n, '1970-01-01'::date + n - 1, '1970-01-01'::date + n - 1 + 10000,
                CASE WHEN n % 100 = 1 THEN ARRAY['board'] ELSE '{}' END
         FROM (SELECT id, n + 1 AS n FROM unnest($1::uuid[], $2::int[]) AS person (id, n)) AS persons
         ON CONFLICT DO NOTHING",
        ids,
        numbers,
    )
    .execute(executor)
    .await?;
    Ok(inserted.rows_affected())
}
