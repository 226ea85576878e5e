//! Many members in one request.

use axum::{http::HeaderMap, response::Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    model::{Member, MemberInput},
    queries,
};
use crate::{
    http::{
        audit::Audit,
        batch::{Batch, BatchInput, BatchParameters, BatchResults, ItemAnswer, prefer},
        extract::{Json, Query},
        idempotency::{IdempotencyKey, Once},
        prefer::Return,
    },
    problem::{ItemProblem, Problem},
    refusals,
};

refusals!(Refused: BatchRefused);

type MemberInputBatch = BatchInput<MemberInput>;

/// What became of one member of a batch.
#[derive(Debug, Serialize, ToSchema)]
struct MemberResult {
    /// The HTTP status that the item would have been answered with by itself: 201, or that of
    /// `problem`.
    #[schema(minimum = 201, maximum = 499, example = 201)]
    status: u16,
    /// Id of the new member.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<Uuid>,
    /// Version of the new member.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    version: Option<i64>,
    /// The new member; not with `Prefer: return=minimal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    member: Option<Member>,
    /// Why there is no new member.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<ItemProblem>,
}

impl From<ItemAnswer<Member>> for MemberResult {
    fn from(item: ItemAnswer<Member>) -> Self {
        Self {
            status: item.status,
            id: item.resource.as_ref().map(|member| member.id),
            version: item.resource.as_ref().map(|member| member.version),
            member: item.resource,
            problem: item.problem,
        }
    }
}

/// Create up to 1,000 members
///
/// Each item is created or refused as it would be by itself, in the order of the request: of two
/// with one key the first is created. `results` says in the same order what became of each. With
/// `atomic=true` all are created, or none if one is refused. The body as a whole is bounded as any
/// other: to 1 MiB, unless the service's settings say otherwise.
#[utoipa::path(
    post, path = "/api/v1/members/batch", operation_id = "create_members", tag = "members",
    params(BatchParameters, IdempotencyKey, Return), request_body = MemberInputBatch,
    security(("bearer" = ["members:write"])),
    responses(
        (status = 200, description = "What became of each item", body = BatchResults<MemberResult>),
        Refused,
    )
)]
pub(super) async fn create(
    headers: HeaderMap,
    Query(BatchParameters { atomic }): Query<BatchParameters>,
    audit: Audit,
    once: Once,
    batch: Batch<MemberInput>,
) -> Result<Response, Problem> {
    let answer = once
        .run(async |connection| {
            let answers = batch
                .write(connection, atomic, &audit, (), queries::insert_all)
                .await?;
            Ok(Json(BatchResults::<MemberResult>::new(answers)))
        })
        .await?;
    prefer(&headers, answer).await
}
