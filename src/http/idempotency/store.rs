//! The answers that are kept, in their table.

use std::{collections::BTreeSet, time::Duration};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use sqlx::{PgExecutor, query, query_as, query_scalar, types::Json};
use uuid::{Uuid, fmt::Hyphenated};

use super::Digest;
use crate::problem::{Code, Problem};

/// An answer, and what was asked for it.
pub(super) struct Kept {
    pub(super) fingerprint: Vec<u8>,
    /// What stands for the view that it was written for.
    pub(super) view: String,
    status: i16,
    header: Json<Vec<(String, String)>>,
    /// None once it was erased.
    body: Option<Vec<u8>>,
}

impl Kept {
    pub(super) fn new(
        fingerprint: &Digest,
        view: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Self {
        // Every field that a handler sets is visible ASCII.
        let header = headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        Self {
            fingerprint: fingerprint.to_vec(),
            view: view.to_owned(),
            status: status.as_u16().cast_signed(),
            header: Json(header.collect()),
            body: Some(body.to_vec()),
        }
    }

    /// Whether it told of what was deleted since, and so is not to be repeated.
    pub(super) fn is_erased(&self) -> bool {
        self.body.is_none()
    }

    /// What it tells of: the ids that stand in it, whatever they are of.
    fn ids(&self) -> Vec<Uuid> {
        let body = serde_json::from_slice(self.body.as_deref().unwrap_or_default());
        let mut ids = BTreeSet::new();
        collect_ids(&body.unwrap_or_default(), &mut ids);
        ids.into_iter().collect()
    }
}

fn collect_ids(value: &Value, ids: &mut BTreeSet<Uuid>) {
    match value {
        Value::String(text) => ids.extend(text.parse::<Hyphenated>().map(Hyphenated::into_uuid)),
        Value::Array(values) => values.iter().for_each(|value| collect_ids(value, ids)),
        Value::Object(fields) => fields.values().for_each(|value| collect_ids(value, ids)),
        _ => {}
    }
}

impl IntoResponse for Kept {
    fn into_response(self) -> Response {
        let Ok(status) = StatusCode::from_u16(self.status.cast_unsigned()) else {
            return Problem::from(Code::InternalError).into_response();
        };
        let mut response = (status, self.body.unwrap_or_default()).into_response();
        let headers = response.headers_mut();
        headers.clear();
        for (name, value) in self.header.0 {
            if let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name), HeaderValue::try_from(value))
            {
                headers.append(name, value);
            }
        }
        response
    }
}

/// Whether no other request of this scope is running; if so, none will until the transaction ends.
pub(super) async fn lock(executor: impl PgExecutor<'_>, scope: &Digest) -> sqlx::Result<bool> {
    let start = scope.iter().take(size_of::<i64>());
    let number = start.fold(0, |number, byte| number << 8 | i64::from(*byte));
    query_scalar!(
        r#"SELECT pg_try_advisory_xact_lock($1) AS "locked!""#,
        number,
    )
    .fetch_one(executor)
    .await
}

/// The answer that is kept. In a statement of its own, behind the one that locks: only so does it
/// see what the request did that had the lock before.
pub(super) async fn find(
    executor: impl PgExecutor<'_>,
    scope: &Digest,
) -> sqlx::Result<Option<Kept>> {
    query_as!(
        Kept,
        r#"SELECT fingerprint, view, status, header AS "header: Json<Vec<(String, String)>>", body
           FROM idempotency_keys
           WHERE scope = $1 AND expires_at > now()"#,
        scope,
    )
    .fetch_optional(executor)
    .await
}

/// Keeps an answer, in the place of an expired one; says whether it did.
pub(super) async fn insert(
    executor: impl PgExecutor<'_>,
    scope: &Digest,
    caller: &str,
    answer: &Kept,
    retention: Duration,
) -> sqlx::Result<bool> {
    let inserted = query!(
        "INSERT INTO idempotency_keys AS k
            (scope, caller, fingerprint, status, header, body, expires_at, ids, view)
         VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7), $8, $9)
         ON CONFLICT (scope) DO UPDATE
         SET caller = excluded.caller, fingerprint = excluded.fingerprint, status = excluded.status,
             header = excluded.header, body = excluded.body, expires_at = excluded.expires_at,
             ids = excluded.ids, view = excluded.view
         WHERE k.expires_at <= now()",
        scope,
        caller,
        &answer.fingerprint,
        answer.status,
        &answer.header as _,
        answer.body.as_deref(),
        retention.as_secs_f64(),
        &answer.ids(),
        answer.view,
    )
    .execute(executor)
    .await?;
    Ok(inserted.rows_affected() > 0)
}

/// Erases the answers in which one of these ids stands, and what was asked for them. Their keys stay: what
/// was done is not done again.
pub async fn erase(executor: impl PgExecutor<'_>, ids: &[Uuid]) -> sqlx::Result<()> {
    query!(
        "UPDATE idempotency_keys SET fingerprint = '', header = '[]', body = NULL, ids = '{}'
         WHERE ids && $1",
        ids,
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// Removes some of the answers that have expired, and says how many.
///
/// What another instance is removing, or a request renews, is left to it.
pub async fn delete_expired(executor: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<u64> {
    let deleted = query!(
        "DELETE FROM idempotency_keys
         WHERE scope IN (
             SELECT scope FROM idempotency_keys WHERE expires_at <= now()
             ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         )",
        limit,
    )
    .execute(executor)
    .await?;
    Ok(deleted.rows_affected())
}
