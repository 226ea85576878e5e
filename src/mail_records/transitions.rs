//! A mail that is called back, and a mail that is tried again.

use axum::{
    Extension,
    response::{IntoResponse, Response},
};
use sqlx::Connection;

use super::{
    events::{
        consequences::FailureLimit,
        model::{MailEventInput, MailEventType},
        queries::report_on,
    },
    model::{MailRecord, MailRecordInput, MailRecordPath, MailStatus},
    queries::{self, Added},
};
use crate::{
    http::{
        answer::{Created, Entity},
        audit::Audit,
        extract::Path,
        idempotency::{IdempotencyKey, Once},
        prefer::Return,
    },
    problem::{Code, Problem},
    refusals,
};

refusals!(NotFound: MemberNotFound, MailRecordNotFound);
refusals!(NotAllowed: InvalidTransition);

/// Call a mail back
///
/// Adds an event `canceled`. Only a mail that is not known to be sent, and whose status is `recorded`,
/// `scheduled` or `queued`, can be called back; one that was called back before is answered as it is. Nothing
/// is told to whoever sends the mail. Should it turn out to be sent all the same, that counts.
#[utoipa::path(
    post, path = "/api/v1/members/{member_id}/mail-records/{id}/cancel",
    operation_id = "cancel_mail_record", tag = "mail-records",
    params(MailRecordPath, IdempotencyKey, Return), extensions(("x-reads" = json!(["status"]))),
    security(("bearer" = ["mail:write"])),
    responses(
        (status = 200, description = "The mail record as it is now", body = MailRecord,
            headers(("ETag" = String, description = "Entity tag of the version"))),
        NotFound,
        NotAllowed,
    )
)]
pub(super) async fn cancel(
    Path(MailRecordPath { member_id, id }): Path<MailRecordPath>,
    Extension(limit): Extension<FailureLimit>,
    audit: Audit,
    once: Once,
) -> Result<Response, Problem> {
    once.run(async |connection| {
        let mut transaction = connection.begin().await?;
        let Some(record) = queries::lock(&mut *transaction, member_id, id).await? else {
            return Err(queries::missing(&mut *transaction, member_id).await);
        };
        let status = record.status;
        match status {
            MailStatus::Canceled => return Ok(Entity(record)),
            MailStatus::Recorded | MailStatus::Scheduled | MailStatus::Queued => {}
            _ => return Err(not_allowed(status, "called back")),
        }
        let canceled = MailEventInput::of_type(MailEventType::Canceled);
        let reported = report_on(&mut transaction, record, vec![canceled], limit, &audit).await?;
        // An older event may say that it was sent.
        if reported.record.status != MailStatus::Canceled {
            return Err(not_allowed(status, "called back, since it was sent"));
        }
        transaction.commit().await?;
        Ok(Entity(reported.record))
    })
    .await
}

/// Try a mail again
///
/// Makes a new mail record of the same mail to the same recipient, with status `recorded` and without the
/// keys of the first; `retry_of` and `retried_by` lead from one to the other. Only a mail that ended
/// without being delivered (`failed`, `bounced`, `canceled` or `suppressed`) is tried again, and once:
/// after that, the newest attempt is.
#[utoipa::path(
    post, path = "/api/v1/members/{member_id}/mail-records/{id}/retry",
    operation_id = "retry_mail_record", tag = "mail-records",
    params(MailRecordPath, IdempotencyKey, Return),
    extensions(("x-reads" = json!(["status", "retried_by"]))),
    security(("bearer" = ["mail:write"])),
    responses(
        (status = 201, description = "The new attempt", body = MailRecord, headers(
            ("Location" = String, description = "Path of the new mail record"),
            ("ETag" = String, description = "Entity tag of the version"),
        )),
        NotFound,
        NotAllowed,
    )
)]
pub(super) async fn retry(
    Path(MailRecordPath { member_id, id }): Path<MailRecordPath>,
    Extension(limit): Extension<FailureLimit>,
    audit: Audit,
    once: Once,
) -> Result<Response, Problem> {
    once.run(async |connection| {
        let mut transaction = connection.begin().await?;
        let Some(record) = queries::lock(&mut *transaction, member_id, id).await? else {
            return Err(queries::missing(&mut *transaction, member_id).await);
        };
        if let Some(retry) = record.retried_by {
            let detail = format!("The mail was tried again already, as {retry}.");
            return Err(Problem::from(Code::InvalidTransition).with_detail(detail));
        }
        match record.status {
            MailStatus::Failed
            | MailStatus::Bounced
            | MailStatus::Canceled
            | MailStatus::Suppressed => {}
            status => return Err(not_allowed(status, "tried again")),
        }
        let again = another_attempt(record);
        let given = again.fingerprint();
        let added =
            queries::add(&mut transaction, member_id, &again, &given, limit, &audit).await?;
        let Some(Added::Created(entity)) = added else {
            return Err(Code::MemberNotFound.into());
        };
        transaction.commit().await?;
        let location = format!("/api/v1/members/{member_id}/mail-records/{}", entity.id);
        Ok(Created { location, entity }.into_response())
    })
    .await
}

fn another_attempt(record: MailRecord) -> MailRecordInput {
    MailRecordInput {
        recipient: Some(record.recipient),
        sender: record.sender,
        subject: record.subject,
        category: record.category,
        tags: record.tags,
        metadata: record.metadata,
        message_id: None,
        provider: record.provider,
        provider_message_id: None,
        external_id: None,
        retry_of: Some(record.id),
        status: MailStatus::Recorded,
        status_at: None,
        status_reason: None,
    }
}

fn not_allowed(status: MailStatus, what: &str) -> Problem {
    // A status has a JSON form.
    let status = serde_json::to_value(status).unwrap_or_default();
    let status = status.as_str().unwrap_or_default();
    let detail = format!("A mail that is `{status}` cannot be {what}.");
    Problem::from(Code::InvalidTransition).with_detail(detail)
}
