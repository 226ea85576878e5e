//! All SQL on consents. `Ok(None)` means that the member or the consent is not there.
//!
//! - `list`: the list, put together from the filters that are given

mod list;

use futures_util::Stream;
use sqlx::{Connection, PgConnection, PgExecutor, query, query_scalar, types::Json};
use uuid::Uuid;

pub(super) use list::OfMember;

use super::model::{Consent, ConsentInput, ConsentState};
use crate::{
    http::audit::Audit,
    problem::{Code, OnConstraint, Problem},
    values::{JsonObject, Line, Timestamp},
};

/// A checked query that answers whole consents: what stands before the columns, and what behind.
macro_rules! query_consent {
    ($before:tt, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Consent,
            $before
                + r#" AS "id!", member_id, topic as "topic: Line<1, 100>", state as "state: ConsentState",
                    source as "source: Line<1, 200>", evidence as "evidence: JsonObject",
                    occurred_at as "occurred_at: Timestamp", created_at as "created_at: Timestamp" "#
                + $after,
            $($argument),*
        )
    };
}

/// Adds a consent to a member, and tells the member what follows from it; none if there is no such
/// member.
pub(super) async fn add(
    connection: &mut PgConnection,
    member_id: Uuid,
    consent: &ConsentInput,
    audit: &Audit,
) -> Result<Option<Consent>, Problem> {
    let mut transaction = connection.begin().await?;
    // Two that are added at once would each decide without the other.
    let member = query_scalar!(
        "SELECT id FROM members WHERE id = $1 FOR NO KEY UPDATE",
        member_id,
    )
    .fetch_optional(&mut *transaction)
    .await?;
    if member.is_none() {
        transaction.rollback().await?;
        return Ok(None);
    }
    let added = insert(&mut *transaction, member_id, consent, audit).await?;
    query!(
        "UPDATE members m
         SET consent_withdrawn = present.withdrawn, version = m.version + 1,
             updated_at = greatest(m.updated_at, clock_timestamp())
         FROM (
             SELECT bool_and(state = 'withdrawn') AS withdrawn FROM present_consents WHERE member_id = $1
         ) AS present
         WHERE m.id = $1 AND m.consent_withdrawn <> present.withdrawn",
        member_id,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(Some(added))
}

async fn insert(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    consent: &ConsentInput,
    audit: &Audit,
) -> Result<Consent, Problem> {
    let inserted = query_consent!(
        "INSERT INTO consents (member_id, id, topic, state, source, evidence, occurred_at)
         VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, now()))
         RETURNING record_write($8, 'consent', id, member_id)",
        "",
        member_id,
        Uuid::now_v7(),
        consent.topic.as_ref() as _,
        consent.state as _,
        consent.source.as_ref() as _,
        &consent.evidence as _,
        consent.occurred_at as _,
        Json(audit) as _,
    )
    .fetch_one(executor)
    .await;
    Ok(inserted.on_constraint("consents_occurred_at_check", || {
        let detail = "What has not occurred yet cannot be written down; is a clock wrong?";
        Problem::invalid_field("occurred_at", "in_the_future", detail)
    })?)
}

pub(super) async fn get(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
) -> sqlx::Result<Option<Consent>> {
    query_consent!(
        "SELECT id",
        "FROM consents WHERE member_id = $1 AND id = $2",
        member_id,
        id,
    )
    .fetch_optional(executor)
    .await
}

/// All that a member said, oldest first.
pub fn all_of_member(
    connection: &mut PgConnection,
    member_id: Uuid,
) -> impl Stream<Item = sqlx::Result<Consent>> {
    query_consent!(
        "SELECT id",
        "FROM consents WHERE member_id = $1 ORDER BY id",
        member_id,
    )
    .fetch(connection)
}

/// What is missing where a consent was not found: it, or its member.
pub(super) async fn missing(executor: impl PgExecutor<'_>, member_id: Uuid) -> Problem {
    let member = query_scalar!("SELECT id FROM members WHERE id = $1", member_id)
        .fetch_optional(executor)
        .await;
    match member {
        Ok(Some(_)) => Code::ConsentNotFound.into(),
        Ok(None) => Code::MemberNotFound.into(),
        Err(error) => error.into(),
    }
}

/// Adds what members said, to try things on; says how much of it was new.
pub async fn insert_examples(
    executor: impl PgExecutor<'_>,
    members: &[Uuid],
    ids: &[Uuid],
) -> sqlx::Result<u64> {
    let inserted = query!(
        "INSERT INTO consents (member_id, id, topic, state, source, occurred_at)
         SELECT m.id, consent.id, 'newsletter', 'granted', 'form on the web site', now()
         FROM unnest($1::uuid[], $2::uuid[]) AS consent (member_id, id)
         JOIN members m ON m.id = consent.member_id
         ON CONFLICT DO NOTHING",
        members,
        ids,
    )
    .execute(executor)
    .await?;
    Ok(inserted.rows_affected())
}
