//! All SQL on suppressions. `Ok(None)` means that there is no such suppression.
//!
//! What changes what is suppressed does so in a transaction, whose last statement brings the members who
//! have the address in step (`refresh_mailability`).
//!
//! - `list`: the list, put together from the filters that are given

mod list;

use std::slice;

use futures_util::Stream;
use sqlx::{Connection, PgConnection, PgExecutor, PgPool, query, query_scalar, types::Json};
use uuid::Uuid;

use super::model::{
    NewSuppression, Suppression, SuppressionOrigin, SuppressionReason, SuppressionScope,
};
use crate::{
    http::{audit::Audit, conditional::Guard, idempotency},
    problem::{Code, Problem},
    values::{EmailAddress, Timestamp},
};

/// A checked query that answers whole suppressions: what stands before the columns, and what behind.
macro_rules! query_suppression {
    ($before:tt, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Suppression,
            $before
                + r#" AS "id!", s.address as "address: EmailAddress",
                    s.reason as "reason: SuppressionReason", s.scope as "scope: SuppressionScope",
                    s.origin as "origin: SuppressionOrigin", s.source_mail_record_id,
                    s.expires_at as "expires_at: Timestamp", s.created_at as "created_at: Timestamp",
                    s.updated_at as "updated_at: Timestamp", s.version "#
                + $after,
            $($argument),*
        )
    };
}

/// What became of a suppression that was to be added.
#[derive(Debug)]
pub enum Added {
    Created(Suppression),
    /// There was one of this address, reason and scope.
    Standing(Suppression),
}

/// Adds a suppression: the one way in, for requests, events and imports alike.
///
/// One that stands for the same address, reason and scope stays as it is, but ends no earlier than the
/// new one would, and knows its address again.
pub async fn add(
    connection: &mut PgConnection,
    new: &NewSuppression,
    audit: &Audit,
) -> sqlx::Result<Added> {
    let mut transaction = connection.begin().await?;
    let id = Uuid::now_v7();
    let folded = new.address.folded();
    let added = match upsert(&mut *transaction, id, new, &folded, audit).await? {
        Some(written) => {
            query!("SELECT refresh_mailability(address_hash($1))", folded)
                .execute(&mut *transaction)
                .await?;
            written
        }
        None => standing(&mut *transaction, new, &folded).await?,
    };
    transaction.commit().await?;
    Ok(if added.id == id {
        Added::Created(added)
    } else {
        Added::Standing(added)
    })
}

/// Adds a suppression, or makes the one that stands stricter; none if there is nothing to change in it.
/// Either way others are kept from it until the transaction ends.
async fn upsert(
    executor: impl PgExecutor<'_>,
    id: Uuid,
    new: &NewSuppression,
    folded: &str,
    audit: &Audit,
) -> sqlx::Result<Option<Suppression>> {
    query_suppression!(
        "INSERT INTO suppressions AS s
            (id, address, address_hash, reason, scope, origin, source_mail_record_id, expires_at)
         VALUES ($1, $2, address_hash($3), $4, $5, $6, $7, $8)
         ON CONFLICT ON CONSTRAINT suppressions_address_key DO UPDATE
         SET address = coalesce(s.address, excluded.address),
             expires_at = CASE
                 WHEN s.expires_at < excluded.expires_at OR excluded.expires_at IS NULL
                 THEN excluded.expires_at ELSE s.expires_at END,
             updated_at = greatest(s.updated_at, clock_timestamp()), version = s.version + 1
         WHERE s.address IS NULL
             OR coalesce(s.expires_at, 'infinity') < coalesce(excluded.expires_at, 'infinity')
         RETURNING record_write($9, 'suppression', s.id, NULL)",
        "",
        id,
        &new.address as _,
        folded,
        new.reason as _,
        new.scope as _,
        new.origin as _,
        new.source_mail_record_id,
        new.expires_at as _,
        Json(audit) as _,
    )
    .fetch_optional(executor)
    .await
}

async fn standing(
    executor: impl PgExecutor<'_>,
    new: &NewSuppression,
    folded: &str,
) -> sqlx::Result<Suppression> {
    query_suppression!(
        "SELECT s.id",
        "FROM suppressions s WHERE s.address_hash = address_hash($1) AND s.reason = $2 AND s.scope = $3",
        folded,
        new.reason as _,
        new.scope as _,
    )
    .fetch_one(executor)
    .await
}

pub(super) async fn get(
    executor: impl PgExecutor<'_>,
    id: Uuid,
) -> sqlx::Result<Option<Suppression>> {
    query_suppression!("SELECT s.id", "FROM suppressions s WHERE s.id = $1", id)
        .fetch_optional(executor)
        .await
}

/// The suppressions of a member's address, of those that her mail went to, and those that came from her
/// mail; oldest first.
pub fn all_about(
    connection: &mut PgConnection,
    member_id: Uuid,
) -> impl Stream<Item = sqlx::Result<Suppression>> {
    query_suppression!(
        "SELECT s.id",
        "FROM suppressions s
         WHERE s.address_hash = ANY (ARRAY(
                 SELECT address_hash(email_folded) FROM members WHERE id = $1
                 UNION
                 SELECT address_hash(recipient_folded)
                 FROM (SELECT DISTINCT recipient_folded FROM mail_records WHERE member_id = $1) r
             ))
             OR s.source_mail_record_id = ANY (ARRAY(
                 SELECT id FROM mail_records WHERE member_id = $1
             ))
         ORDER BY s.id",
        member_id,
    )
    .fetch(connection)
}

/// Deletes a suppression in one of the versions that `guard` lets through.
///
/// # Errors
/// [`Code::ConfirmationRequired`] if a complaint made it, and this was not `confirmed`.
pub(super) async fn delete(
    pool: &PgPool,
    id: Uuid,
    guard: &Guard,
    confirmed: bool,
    audit: &Audit,
) -> Result<bool, Problem> {
    let mut transaction = pool.begin().await?;
    let deleted = query!(
        r#"DELETE FROM suppressions
           WHERE id = $1 AND ($2::bigint[] IS NULL OR version = ANY ($2)) AND version <> ALL ($3)
           RETURNING record_write($4, 'suppression', id, NULL), address_hash, reason AS "reason: SuppressionReason""#,
        id,
        guard.only.as_deref(),
        &guard.except,
        Json(audit) as _,
    )
    .fetch_optional(&mut *transaction)
    .await?;
    if let Some(deleted) = &deleted {
        if deleted.reason == SuppressionReason::Complaint && !confirmed {
            transaction.rollback().await?;
            return Err(Code::ConfirmationRequired.into());
        }
        refresh(&mut transaction, slice::from_ref(&deleted.address_hash)).await?;
        // It may tell the address of somebody who is deleted one day.
        idempotency::erase(&mut *transaction, &[id]).await?;
    }
    transaction.commit().await?;
    Ok(deleted.is_some())
}

/// Erases whose addresses these were, and which mail records it came from; answers the ids of the
/// suppressions that told it. What is suppressed stays so. An address that a member has today is hers.
pub async fn erase(
    executor: impl PgExecutor<'_>,
    folded: &[String],
    hashes: &[Vec<u8>],
    mail_records: &[Uuid],
) -> sqlx::Result<Vec<Uuid>> {
    query_scalar!(
        "UPDATE suppressions s
         SET address = CASE
                 WHEN EXISTS (SELECT FROM members m WHERE m.email_hash = s.address_hash) THEN s.address END,
             source_mail_record_id = CASE
                 WHEN s.source_mail_record_id = ANY ($2) THEN NULL ELSE s.source_mail_record_id END,
             updated_at = greatest(s.updated_at, clock_timestamp()), version = s.version + 1
         WHERE s.address_hash = ANY (ARRAY(SELECT address_hash(folded) FROM unnest($1::text[]) AS a (folded)))
             OR s.address_hash = ANY ($3)
             OR s.source_mail_record_id = ANY ($2)
         RETURNING s.id",
        folded,
        mail_records,
        hashes,
    )
    .fetch_all(executor)
    .await
}

/// Removes some of the suppressions that have ended, and says how many.
///
/// What another instance is removing, or a request renews, is left to it.
pub async fn delete_expired(pool: &PgPool, limit: i64) -> sqlx::Result<u64> {
    let mut transaction = pool.begin().await?;
    let deleted = query!(
        "DELETE FROM suppressions
         WHERE id IN (
             SELECT id FROM suppressions WHERE expires_at <= now()
             ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         )
         RETURNING id, address_hash",
        limit,
    )
    .fetch_all(&mut *transaction)
    .await?;
    if !deleted.is_empty() {
        let (ids, hashes): (Vec<_>, Vec<_>) = deleted
            .iter()
            .map(|row| (row.id, row.address_hash.clone()))
            .unzip();
        refresh(&mut transaction, &hashes).await?;
        idempotency::erase(&mut *transaction, &ids).await?;
    }
    transaction.commit().await?;
    Ok(deleted.len() as u64)
}

/// Suppresses some addresses to try things on, each made from a number; says how many were new.
pub async fn insert_examples(
    connection: &mut PgConnection,
    ids: &[Uuid],
    numbers: &[i32],
) -> sqlx::Result<u64> {
    let mut transaction = connection.begin().await?;
    let inserted = query_scalar!(
        "INSERT INTO suppressions (id, address, address_hash, reason, scope, origin)
         SELECT id, 'person-' || n + 1 || '@example.org', address_hash('person-' || n + 1 || '@example.org'),
                (ARRAY['hard_bounce', 'unsubscribe', 'complaint'])[1 + n / 100 % 3],
                (ARRAY['all', 'marketing', 'all'])[1 + n / 100 % 3], 'import'
         FROM unnest($1::uuid[], $2::int[]) AS person (id, n)
         ON CONFLICT DO NOTHING
         RETURNING address_hash",
        ids,
        numbers,
    )
    .fetch_all(&mut *transaction)
    .await?;
    refresh(&mut transaction, &inserted).await?;
    transaction.commit().await?;
    Ok(inserted.len() as u64)
}

/// Brings the members who have these addresses in step with what is suppressed now.
async fn refresh(connection: &mut PgConnection, hashes: &[Vec<u8>]) -> sqlx::Result<()> {
    query!(
        "SELECT refresh_mailability(hash) FROM unnest($1::bytea[]) AS address (hash)",
        hashes,
    )
    .execute(connection)
    .await?;
    Ok(())
}
