use axum::{extract::State, response::Response};
use sqlx::PgPool;

use super::{
    model::{Consent, ConsentFilter, ConsentInput, ConsentPath, ConsentsPath},
    queries::{self, OfMember},
};
use crate::{
    http::{
        answer::Created,
        audit::Audit,
        conditional::Preconditions,
        extract::{Json, Path},
        idempotency::{IdempotencyKey, Once},
        list::{List, Paging, order::Sorting, page::Page},
        prefer::Return,
    },
    problem::{Code, Problem},
    refusals,
};

refusals!(NoMember: MemberNotFound);
refusals!(NotFound: MemberNotFound, ConsentNotFound);

/// Write down what a member said to marketing mail
///
/// It is added to what was said before, and counts from the time on at which it occurred, also if it
/// comes late. Who never said anything may be sent marketing mail as far as this service knows.
#[utoipa::path(
    post, path = "/api/v1/members/{member_id}/consents", operation_id = "create_consent",
    tag = "consents", params(ConsentsPath, IdempotencyKey, Return), request_body = ConsentInput,
    security(("bearer" = ["members:write"])),
    responses(
        (status = 201, description = "Created", body = Consent, headers(
            ("Location" = String, description = "Path of the new consent"),
            ("ETag" = String, description = "Entity tag"),
        )),
        NoMember,
    )
)]
pub(super) async fn create(
    Path(ConsentsPath { member_id }): Path<ConsentsPath>,
    audit: Audit,
    once: Once,
    Json(input): Json<ConsentInput>,
) -> Result<Response, Problem> {
    once.run(async |connection| {
        let consent = queries::add(connection, member_id, &input, &audit).await?;
        let consent = consent.ok_or(Code::MemberNotFound)?;
        Ok(Created {
            location: format!("/api/v1/members/{member_id}/consents/{}", consent.id),
            entity: consent,
        })
    })
    .await
}

/// List what a member said to marketing mail, newest first unless sorted
///
/// Filters narrow the list together. A member who never said anything has an empty list; only an
/// unknown member is not found.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/consents", operation_id = "list_consents_of_member",
    tag = "consents", params(ConsentsPath, ConsentFilter, Sorting<Consent>, Paging),
    security(("bearer" = ["members:read"])),
    responses(
        (status = 200, description = "A page of consents, or all of them", body = Page<Consent>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
        NoMember,
    )
)]
pub(super) async fn list(
    State(pool): State<PgPool>,
    Path(ConsentsPath { member_id }): Path<ConsentsPath>,
    List { filter, view }: List<ConsentFilter, Consent>,
) -> Result<Response, Problem> {
    view.answer(&pool, OfMember { member_id, filter }).await
}

/// Read a consent
///
/// It is never changed, and neither is its tag.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/consents/{id}", operation_id = "read_consent",
    tag = "consents", params(ConsentPath, Preconditions),
    security(("bearer" = ["members:read"])),
    responses((status = 200, description = "The consent", body = Consent), NotFound)
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(ConsentPath { member_id, id }): Path<ConsentPath>,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    match queries::get(&pool, member_id, id).await? {
        Some(consent) => preconditions.answer(consent),
        None => Err(queries::missing(&pool, member_id).await),
    }
}
