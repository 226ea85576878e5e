//! All SQL on access keys. `Ok(None)` means that there is no such key.
//!
//! - `list`: the list

mod list;

use chrono::{DateTime, Utc};
use sqlx::{PgExecutor, PgPool, query, query_as, query_scalar, types::Json};
use uuid::Uuid;

use super::{
    key::SecretHash,
    model::{AccessKey, AccessKeyInput, Overlap},
    scopes::Scopes,
};
use crate::{
    http::audit::Audit,
    values::{Line, Timestamp},
};

/// A checked query that answers whole access keys: what stands before the columns, and what behind.
macro_rules! query_access_key {
    ($before:tt, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            AccessKey,
            $before
                + r#" AS "id!", k.name as "name: Line<1, 200>", k.scopes as "scopes: Scopes",
                    k.view as "view: Line<1, 100>",
                    k.created_at as "created_at: Timestamp", k.expires_at as "expires_at: Timestamp",
                    k.revoked_at as "revoked_at: Timestamp", k.last_used_at as "last_used_at: Timestamp",
                    k.previous_valid_until as "previous_valid_until: Timestamp",
                    k.updated_at as "updated_at: Timestamp", k.version "#
                + $after,
            $($argument),*
        )
    };
}

/// Adds a key.
pub async fn create(
    executor: impl PgExecutor<'_>,
    id: Uuid,
    secret_hash: &SecretHash,
    input: &AccessKeyInput,
    audit: &Audit,
) -> sqlx::Result<AccessKey> {
    query_access_key!(
        "INSERT INTO access_keys AS k (id, name, secret_hash, scopes, expires_at, view)
         VALUES ($1, $2, $3, $4, $5, $6)
         RETURNING record_write($7, 'access_key', k.id, NULL)",
        "",
        id,
        &input.name as _,
        secret_hash,
        input.scopes.as_slice(),
        input.expires_at as _,
        input.view.as_ref() as _,
        Json(audit) as _,
    )
    .fetch_one(executor)
    .await
}

pub async fn get(executor: impl PgExecutor<'_>, id: Uuid) -> sqlx::Result<Option<AccessKey>> {
    query_access_key!("SELECT k.id", "FROM access_keys k WHERE k.id = $1", id)
        .fetch_optional(executor)
        .await
}

/// All keys, the oldest first.
pub async fn all(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<AccessKey>> {
    query_access_key!("SELECT k.id", "FROM access_keys k ORDER BY k.id")
        .fetch_all(executor)
        .await
}

/// What became of a key that was to be rotated.
#[derive(Debug)]
pub enum Rotated {
    Rotated(AccessKey),
    /// It is revoked or has expired.
    Ended,
    NotFound,
}

/// Gives a key another secret. The one that it had opens for the time of the overlap.
pub async fn rotate(
    pool: &PgPool,
    id: Uuid,
    secret_hash: &SecretHash,
    overlap: Overlap,
    audit: &Audit,
) -> sqlx::Result<Rotated> {
    let rotated = query_access_key!(
        "UPDATE access_keys AS k
         SET previous_secret_hash = CASE WHEN $3 > 0::float8 THEN secret_hash END,
             previous_valid_until = CASE WHEN $3 > 0::float8 THEN now() + make_interval(secs => $3) END,
             secret_hash = $2,
             updated_at = greatest(updated_at, clock_timestamp()), version = version + 1
         WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
         RETURNING record_write($4, 'access_key', k.id, NULL)",
        "",
        id,
        secret_hash,
        overlap.seconds(),
        Json(audit) as _,
    )
    .fetch_optional(pool)
    .await?;
    Ok(match rotated {
        Some(rotated) => Rotated::Rotated(rotated),
        None if get(pool, id).await?.is_some() => Rotated::Ended,
        None => Rotated::NotFound,
    })
}

/// Revokes a key; none if there is none. One that is revoked stays as it is.
pub async fn revoke(pool: &PgPool, id: Uuid, audit: &Audit) -> sqlx::Result<Option<AccessKey>> {
    let revoked = query_access_key!(
        "UPDATE access_keys AS k
         SET revoked_at = now(), previous_secret_hash = NULL, previous_valid_until = NULL,
             updated_at = greatest(updated_at, clock_timestamp()), version = version + 1
         WHERE id = $1 AND revoked_at IS NULL
         RETURNING record_write($2, 'access_key', k.id, NULL)",
        "",
        id,
        Json(audit) as _,
    )
    .fetch_optional(pool)
    .await?;
    match revoked {
        Some(revoked) => Ok(Some(revoked)),
        None => get(pool, id).await,
    }
}

/// What a key is checked by.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) secret_hash: Vec<u8>,
    pub(super) previous_secret_hash: Option<Vec<u8>>,
    pub(super) previous_valid_until: Option<DateTime<Utc>>,
    pub(super) scopes: Vec<String>,
    pub(super) view: Option<String>,
    pub(super) expires_at: Option<DateTime<Utc>>,
    pub(super) revoked: bool,
    pub(super) last_used_at: Option<DateTime<Utc>>,
}

pub(super) async fn stored(
    executor: impl PgExecutor<'_>,
    id: Uuid,
) -> sqlx::Result<Option<Stored>> {
    query_as!(
        Stored,
        r#"SELECT secret_hash, previous_secret_hash, previous_valid_until, scopes, view, expires_at,
                  revoked_at IS NOT NULL AS "revoked!", last_used_at
           FROM access_keys WHERE id = $1"#,
        id,
    )
    .fetch_optional(executor)
    .await
}

/// Whether a key was ever made.
pub(super) async fn any(executor: impl PgExecutor<'_>) -> sqlx::Result<bool> {
    query_scalar!(r#"SELECT EXISTS (SELECT FROM access_keys) AS "any!""#)
        .fetch_one(executor)
        .await
}

/// The keys that open and have a view, each with its view.
pub async fn viewed(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<(Uuid, String)>> {
    let rows = query!(
        r#"SELECT id, view AS "view!" FROM access_keys
           WHERE view IS NOT NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
           ORDER BY id"#,
    )
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.view)).collect())
}

/// Writes down that a key was used just now, unless another instance did within a minute.
pub(super) async fn note_use(executor: impl PgExecutor<'_>, id: Uuid) -> sqlx::Result<()> {
    query!(
        "UPDATE access_keys SET last_used_at = now()
         WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')",
        id,
    )
    .execute(executor)
    .await?;
    Ok(())
}
