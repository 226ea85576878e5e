use axum::{
    Extension,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use sqlx::PgPool;
use uuid::Uuid;

use super::{
    key::Key,
    keys::Keys,
    model::{
        AccessKey, AccessKeyInput, AccessKeyPath, AllAccessKeys, IssuedAccessKey, RotationInput,
    },
    queries::{self, Rotated},
};
use crate::{
    http::{
        answer::{Created, Entity},
        audit::Audit,
        conditional::Preconditions,
        extract::{Json, Path},
        list::{List, Paging, order::Sorting, page::Page},
        views::Views,
    },
    problem::{Code, Problem},
    refusals,
    values::Invalid,
};

refusals!(NotFound: AccessKeyNotFound);
refusals!(Ended: AccessKeyEnded);

/// Create an access key
///
/// The answer is the only one that has the key itself. So it is not kept for an `Idempotency-Key`: when
/// it is lost, revoke the key that the list shows, and create another.
#[utoipa::path(
    post, path = "/api/v1/access-keys", operation_id = "create_access_key", tag = "access-keys",
    request_body = AccessKeyInput,
    security(("bearer" = ["admin"])),
    responses((status = 201, description = "Created", body = IssuedAccessKey, headers(
        ("Location" = String, description = "Path of the new access key"),
        ("ETag" = String, description = "Entity tag of the version"),
    )))
)]
pub(super) async fn create(
    State(pool): State<PgPool>,
    Extension(keys): Extension<Keys>,
    Extension(views): Extension<Views>,
    audit: Audit,
    Json(input): Json<AccessKeyInput>,
) -> Result<Response, Problem> {
    if let Some(Invalid { code, detail }) = input.wrong_view(&views) {
        return Err(Problem::invalid_field("view", code, detail));
    }
    let key = generate(Uuid::now_v7())?;
    let created = queries::create(&pool, key.id, &key.secret_hash(), &input, &audit).await?;
    keys.forget();
    Ok(secret(Created {
        location: format!("/api/v1/access-keys/{}", created.id),
        entity: IssuedAccessKey::new(&key, created),
    }))
}

/// List access keys, newest first unless sorted
///
/// Those that have expired or were revoked too.
#[utoipa::path(
    get, path = "/api/v1/access-keys", operation_id = "list_access_keys", tag = "access-keys",
    params(Sorting<AccessKey>, Paging),
    security(("bearer" = ["admin"])),
    responses(
        (status = 200, description = "A page of access keys, or all of them", body = Page<AccessKey>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
    )
)]
pub(super) async fn list(
    State(pool): State<PgPool>,
    List { filter, view }: List<AllAccessKeys, AccessKey>,
) -> Result<Response, Problem> {
    view.answer(&pool, filter).await
}

/// Read an access key
///
/// Its secret is not stored, and so not shown again.
#[utoipa::path(
    get, path = "/api/v1/access-keys/{id}", operation_id = "read_access_key", tag = "access-keys",
    params(AccessKeyPath, Preconditions),
    security(("bearer" = ["admin"])),
    responses((status = 200, description = "The access key", body = AccessKey), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(AccessKeyPath { id }): Path<AccessKeyPath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    let access_key = queries::get(&pool, id).await?;
    preconditions.answer(access_key.ok_or(Code::AccessKeyNotFound)?)
}

/// Rotate an access key
///
/// It gets another secret, and keeps its id, name and scopes. The old secret opens until the overlap is
/// over, or the next rotation. The answer is the only one that has the new key, and is not kept for an
/// `Idempotency-Key`: when it is lost, rotate again.
#[utoipa::path(
    post, path = "/api/v1/access-keys/{id}/rotate", operation_id = "rotate_access_key",
    tag = "access-keys", params(AccessKeyPath), request_body = RotationInput,
    security(("bearer" = ["admin"])),
    responses(
        (status = 200, description = "The access key with its new secret", body = IssuedAccessKey,
            headers(("ETag" = String, description = "Entity tag of the version"))),
        NotFound, Ended,
    )
)]
pub(super) async fn rotate(
    State(pool): State<PgPool>,
    Extension(keys): Extension<Keys>,
    Path(AccessKeyPath { id }): Path<AccessKeyPath>,
    audit: Audit,
    Json(RotationInput { overlap_seconds }): Json<RotationInput>,
) -> Result<Response, Problem> {
    let key = generate(id)?;
    let hash = key.secret_hash();
    let rotated = queries::rotate(&pool, id, &hash, overlap_seconds, &audit).await?;
    keys.forget();
    match rotated {
        Rotated::Rotated(rotated) => Ok(secret(Entity(IssuedAccessKey::new(&key, rotated)))),
        Rotated::Ended => Err(Code::AccessKeyEnded.into()),
        Rotated::NotFound => Err(Code::AccessKeyNotFound.into()),
    }
}

/// Revoke an access key
///
/// For good: it opens nothing any more, and stays in the list. One that is revoked stays as it is.
#[utoipa::path(
    post, path = "/api/v1/access-keys/{id}/revoke", operation_id = "revoke_access_key",
    tag = "access-keys", params(AccessKeyPath),
    security(("bearer" = ["admin"])),
    responses(
        (status = 200, description = "The access key, revoked", body = AccessKey,
            headers(("ETag" = String, description = "Entity tag of the version"))),
        NotFound,
    )
)]
pub(super) async fn revoke(
    State(pool): State<PgPool>,
    Extension(keys): Extension<Keys>,
    Path(AccessKeyPath { id }): Path<AccessKeyPath>,
    audit: Audit,
) -> Result<Entity<AccessKey>, Problem> {
    let revoked = queries::revoke(&pool, id, &audit).await?;
    keys.forget();
    revoked
        .map(Entity)
        .ok_or_else(|| Code::AccessKeyNotFound.into())
}

fn generate(id: Uuid) -> Result<Key, Problem> {
    Key::generate(id).map_err(|error| {
        tracing::error!("no random numbers: {error}");
        Code::InternalError.into()
    })
}

/// An answer that nobody between keeps.
fn secret(answer: impl IntoResponse) -> Response {
    let mut answer = answer.into_response();
    let no_store = HeaderValue::from_static("no-store");
    answer.headers_mut().insert(header::CACHE_CONTROL, no_store);
    answer
}
