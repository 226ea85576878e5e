//! `Idempotency-Key`: a write that is sent again is done once
//! (draft-ietf-httpapi-idempotency-key-header).
//!
//! What the write does and the answer to it are committed in one transaction, together with the key.
//! So the answer is kept if and only if the write was done, wherever a connection is cut, and a
//! request that is lost half way leaves nothing behind that could hold its key.
//!
//! - `key`: the key, as it stands in the header
//! - `store`: the answers that are kept, in their table

mod key;
mod store;

use std::time::Duration;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderName, HeaderValue, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use sha2::{Digest as _, Sha256};
use sqlx::{PgConnection, PgPool};

pub use key::IdempotencyKey;
use store::Kept;
pub use store::{delete_expired, erase};

use super::{
    access::Caller,
    extract::canonical_path,
    layers::{RequestBody, RequestId},
    prefer::without_representation,
    views::visible,
};
use crate::{
    problem::{Code, Problem, render},
    values::{PlainJson, PublicUrl},
};

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
type Digest = [u8; 32];

/// How long an answer is kept.
#[derive(Debug, Clone, Copy)]
pub struct Retention(pub Duration);

/// Does a write once for each idempotency key, and without a key each time.
#[derive(Debug)]
pub struct Once {
    pool: PgPool,
    keyed: Option<Keyed>,
}

/// A request that has a key.
#[derive(Debug)]
struct Keyed {
    /// The id of the access key; empty without one.
    caller: String,
    /// What stands for the view that the answer is written for.
    view: String,
    /// Of caller, method, path and key.
    scope: Digest,
    /// Of query and body.
    fingerprint: Digest,
    request_id: RequestId,
    public_url: PublicUrl,
    retention: Retention,
}

impl Once {
    /// Runs `write`, or repeats the answer that it had when it was run before.
    ///
    /// Without a key, each statement of `write` is committed by itself.
    ///
    /// # Errors
    /// What `write` fails with; [`Code::IdempotencyKeyInUse`] while it runs for another request,
    /// [`Code::IdempotencyKeyReused`] if it was run for a request that asked for something else,
    /// [`Code::AnswerErased`] if its answer told of what was deleted since.
    pub async fn run<A: IntoResponse>(
        self,
        write: impl AsyncFnOnce(&mut PgConnection) -> Result<A, Problem>,
    ) -> Result<Response, Problem> {
        let Some(keyed) = self.keyed else {
            let mut connection = self.pool.acquire().await?;
            return write(&mut connection)
                .await
                .map(IntoResponse::into_response);
        };
        let mut transaction = self.pool.begin().await?;
        match keyed.run(&mut transaction, write).await {
            Ok(answer) => {
                transaction.commit().await?;
                Ok(answer)
            }
            Err(problem) => {
                // Should the connection be gone, so is the transaction.
                transaction.rollback().await.ok();
                Err(problem)
            }
        }
    }
}

impl Keyed {
    /// Runs in a transaction that is to be committed if there is an answer.
    async fn run<A: IntoResponse>(
        &self,
        connection: &mut PgConnection,
        write: impl AsyncFnOnce(&mut PgConnection) -> Result<A, Problem>,
    ) -> Result<Response, Problem> {
        if !store::lock(&mut *connection, &self.scope).await? {
            return Err(Code::IdempotencyKeyInUse.into());
        }
        if let Some(kept) = store::find(&mut *connection, &self.scope).await? {
            if kept.is_erased() {
                return Err(Code::AnswerErased.into());
            }
            if kept.fingerprint != self.fingerprint {
                return Err(Code::IdempotencyKeyReused.into());
            }
            let replayed = [(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"))];
            let other_view = kept.view != self.view;
            let answer = (replayed, kept).into_response();
            // What one view shows another may hide: that it was done is all that both may know.
            return Ok(if other_view && answer.status().is_success() {
                without_representation(answer)
            } else {
                answer
            });
        }
        sqlx::raw_sql("SAVEPOINT write")
            .execute(&mut *connection)
            .await?;
        let answer = match write(&mut *connection).await {
            Ok(answer) => answer.into_response(),
            Err(problem) if is_decision(&problem) => {
                sqlx::raw_sql("ROLLBACK TO SAVEPOINT write")
                    .execute(&mut *connection)
                    .await?;
                render(
                    problem.into_response(),
                    &self.request_id.0,
                    &self.public_url,
                )
            }
            Err(problem) => return Err(problem),
        };
        let (parts, body) = answer.into_parts();
        // It is in memory already.
        let body = body.collect().await.map_err(|_| Code::InternalError)?;
        let body = body.to_bytes();
        let fingerprint = &self.fingerprint;
        let kept = Kept::new(fingerprint, &self.view, parts.status, &parts.headers, &body);
        let Retention(retention) = self.retention;
        if !store::insert(
            &mut *connection,
            &self.scope,
            &self.caller,
            &kept,
            retention,
        )
        .await?
        {
            return Err(Code::IdempotencyKeyInUse.into());
        }
        Ok(Response::from_parts(parts, body.into()))
    }
}

/// Whether the write itself decided so, of what the register has: that is an answer like any other.
/// What could not be read, is not there or has failed was not decided, and is tried again.
fn is_decision(problem: &Problem) -> bool {
    let decisions = [StatusCode::CONFLICT, StatusCode::UNPROCESSABLE_ENTITY];
    decisions.contains(&problem.code.status())
}

impl<S> FromRequestParts<S> for Once
where
    PgPool: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let key = IdempotencyKey::of(&parts.headers)?;
        Ok(Self {
            pool: PgPool::from_ref(state),
            keyed: key.map(|key| Keyed::new(&key, parts)).transpose()?,
        })
    }
}

impl Keyed {
    fn new(key: &IdempotencyKey, parts: &Parts) -> Result<Self, Problem> {
        let set_by_layers = (
            parts.extensions.get::<RequestBody>(),
            parts.extensions.get::<RequestId>(),
            parts.extensions.get::<PublicUrl>(),
            parts.extensions.get::<Retention>(),
            parts.extensions.get::<Caller>(),
        );
        let (
            Some(RequestBody(body)),
            Some(request_id),
            Some(public_url),
            Some(retention),
            Some(Caller(caller)),
        ) = set_by_layers
        else {
            return Err(Code::InternalError.into());
        };
        let (method, path) = (parts.method.as_str(), canonical_path(&parts.uri));
        let query = parts.uri.query().unwrap_or_default();
        let caller = caller.map_or_else(String::new, |id| id.to_string());
        Ok(Self {
            scope: digest([&caller, method, &path, key.as_str()].map(str::as_bytes)),
            fingerprint: digest([query.as_bytes(), &canonical(body)]),
            caller,
            view: visible()?.tag(),
            request_id: request_id.clone(),
            public_url: public_url.clone(),
            retention: *retention,
        })
    }
}

/// The one text of what a body says, whatever its white space and the order of its keys.
fn canonical(body: &[u8]) -> Vec<u8> {
    serde_json::from_slice(body)
        .and_then(|PlainJson(value)| serde_json::to_vec(&value))
        // It is refused when it is read.
        .unwrap_or_else(|_| body.to_vec())
}

fn digest<const N: usize>(parts: [&[u8]; N]) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_body_says_does_not_depend_on_order_and_white_space() {
        let text = canonical(br#"{"name":"Ann","attributes":{"b":[1,2],"a":"\u00e9"}}"#);
        for same in [
            &br#"{"attributes": {"a": "\u00e9", "b": [1, 2]}, "name": "Ann"}"#[..],
            "\n{\"name\":\"Ann\",\n\"attributes\":{\"a\":\"é\",\"b\":[1,2]}}\n".as_bytes(),
        ] {
            assert_eq!(canonical(same), text);
        }
        for other in [
            &br#"{"name":"Ann","attributes":{"b":[2,1],"a":"\u00e9"}}"#[..],
            br#"{"name":"Anna","attributes":{"b":[1,2],"a":"\u00e9"}}"#,
            br#"{"name":"Ann","attributes":{"b":[1,2]}}"#,
        ] {
            assert_ne!(canonical(other), text);
        }
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(digest([b"ab", b"c"]), digest([b"a", b"bc"]));
    }
}
