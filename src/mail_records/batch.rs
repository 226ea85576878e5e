//! Many mail records in one request.

use axum::{Extension, http::HeaderMap, response::Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{events::consequences::FailureLimit, item::MailRecordItem, model::MailRecord, queries};
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

type MailRecordItemBatch = BatchInput<MailRecordItem>;

/// What became of one mail record of a batch.
#[derive(Debug, Serialize, ToSchema)]
struct MailRecordResult {
    /// The HTTP status that the item would have been answered with by itself: 201, 200 if the mail
    /// record was there already, or that of `problem`.
    #[schema(minimum = 200, maximum = 499, example = 201)]
    status: u16,
    /// Id of the mail record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<Uuid>,
    /// Version of the mail record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    version: Option<i64>,
    /// The mail record; not with `Prefer: return=minimal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    mail_record: Option<MailRecord>,
    /// Why it was not written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<ItemProblem>,
}

impl From<ItemAnswer<MailRecord>> for MailRecordResult {
    fn from(item: ItemAnswer<MailRecord>) -> Self {
        Self {
            status: item.status,
            id: item.resource.as_ref().map(|record| record.id),
            version: item.resource.as_ref().map(|record| record.version),
            mail_record: item.resource,
            problem: item.problem,
        }
    }
}

/// Create up to 1,000 mail records
///
/// Each item is a mail record with its `member_id`, and is created, found to be there already, or
/// refused as it would be by itself, in the order of the request. `results` says in the same order
/// what became of each; one that was there already counts neither as `created` nor as `failed`. With
/// `atomic=true` all are written, or none if one is refused. The body as a whole is bounded as any
/// other: to 1 MiB, unless the service's settings say otherwise.
#[utoipa::path(
    post, path = "/api/v1/mail-records/batch", operation_id = "create_mail_records",
    tag = "mail-records", params(BatchParameters, IdempotencyKey, Return),
    request_body = MailRecordItemBatch,
    security(("bearer" = ["mail:write"])),
    responses(
        (status = 200, description = "What became of each item", body = BatchResults<MailRecordResult>),
        Refused,
    )
)]
pub(super) async fn create(
    headers: HeaderMap,
    Query(BatchParameters { atomic }): Query<BatchParameters>,
    Extension(limit): Extension<FailureLimit>,
    audit: Audit,
    once: Once,
    batch: Batch<MailRecordItem>,
) -> Result<Response, Problem> {
    let answer = once
        .run(async |connection| {
            let write = queries::add_all;
            let answers = batch
                .write(connection, atomic, &audit, limit, write)
                .await?;
            Ok(Json(BatchResults::<MailRecordResult>::new(answers)))
        })
        .await?;
    prefer(&headers, answer).await
}
