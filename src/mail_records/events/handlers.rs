use axum::{
    Extension,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use sqlx::PgPool;

use super::{
    consequences::FailureLimit,
    model::{
        MailEvent, MailEventAnswer, MailEventEffect, MailEventFilter, MailEventInput,
        MailEventPath, MailEvents,
    },
    queries::{self, OfMailRecord},
};
use crate::{
    http::{
        audit::Audit,
        extract::{Json, Path},
        idempotency::{IdempotencyKey, Once},
        list::{List, Paging, order::Sorting, page::Page},
        one_or_many::OneOrMany,
    },
    mail_records::{model::MailRecordPath, queries::missing},
    problem::{Code, Problem},
    refusals,
};

refusals!(NoMailRecord: MemberNotFound, MailRecordNotFound);
refusals!(NoEvent: MemberNotFound, MailRecordNotFound, MailEventNotFound);

type MailEventInputOrList = OneOrMany<MailEventInput>;

/// Report what became of a mail
///
/// One event, or a list of up to 1,000, which is added as a whole or not at all. Events may come late,
/// repeatedly and in any order: the mail record's `status`, and all that it tells beside it, follow from
/// the set of its events alone. No event is refused for what is known already; `effect` says what became
/// of it. One that was reported before is answered with the event that stands, and changes nothing. That is
/// told by its `provider_event_id`, whoever reports it; or without one by all that it says, if it says when
/// it occurred.
#[utoipa::path(
    post, path = "/api/v1/members/{member_id}/mail-records/{id}/events",
    operation_id = "report_mail_events", tag = "mail-events", params(MailRecordPath, IdempotencyKey),
    request_body = MailEventInputOrList,
    security(("bearer" = ["mail:write"])),
    responses(
        (status = 201, description = "Added", body = MailEvent,
            headers(("Location" = String, description = "Path of the new event"))),
        (status = 200, description = "The event that stands; or of a list, what became of each",
            body = MailEventAnswer),
        NoMailRecord,
    )
)]
pub(in crate::mail_records) async fn report(
    Path(path): Path<MailRecordPath>,
    Extension(limit): Extension<FailureLimit>,
    audit: Audit,
    once: Once,
    reports: MailEventInputOrList,
) -> Result<Response, Problem> {
    once.run(async |connection| {
        let MailRecordPath { member_id, id } = path;
        let (reports, alone) = match reports {
            OneOrMany::One(report) => (vec![report], true),
            OneOrMany::Many(reports) => (reports, false),
        };
        let Some(reported) =
            queries::report(&mut *connection, member_id, id, reports, limit, &audit).await?
        else {
            return Err(missing(connection, member_id).await);
        };
        let mut data = reported.events;
        if !alone {
            return Ok(Json(MailEventAnswer::Many(MailEvents { data })).into_response());
        }
        let event = data.pop().ok_or(Code::InternalError)?;
        if event.effect == MailEventEffect::Duplicate {
            return Ok(Json(MailEventAnswer::One(Box::new(event))).into_response());
        }
        let record = format!("/api/v1/members/{member_id}/mail-records/{id}");
        let location = format!("{record}/events/{}", event.id);
        let header = [(header::LOCATION, location)];
        Ok((StatusCode::CREATED, header, Json(event)).into_response())
    })
    .await
}

/// List what became of a mail, as it was reported last first unless sorted
///
/// Sorted by `occurred_at` it is the mail's timeline.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/mail-records/{id}/events",
    operation_id = "list_mail_events", tag = "mail-events",
    params(MailRecordPath, MailEventFilter, Sorting<MailEvent>, Paging),
    security(("bearer" = ["mail:read"])),
    responses(
        (status = 200, description = "A page of events, or all of them", body = Page<MailEvent>,
            headers(("Link" = String, description = "Paths of the `next`, `prev` and `first` page (RFC 8288)"))),
        NoMailRecord,
    )
)]
pub(in crate::mail_records) async fn list(
    State(pool): State<PgPool>,
    Path(MailRecordPath { member_id, id }): Path<MailRecordPath>,
    List { filter, view }: List<MailEventFilter, MailEvent>,
) -> Result<Response, Problem> {
    let selection = OfMailRecord {
        member_id,
        mail_record_id: id,
        filter,
    };
    match view.answer(&pool, selection).await {
        Err(problem) if problem.code == Code::MailRecordNotFound => {
            Err(missing(&pool, member_id).await)
        }
        answer => answer,
    }
}

/// Read an event
///
/// The first one of a mail record has the record's own id. An event never changes.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/mail-records/{id}/events/{event_id}",
    operation_id = "read_mail_event", tag = "mail-events", params(MailEventPath),
    security(("bearer" = ["mail:read"])),
    responses((status = 200, description = "The event", body = MailEvent), NoEvent)
)]
pub(in crate::mail_records) async fn read(
    State(pool): State<PgPool>,
    Path(path): Path<MailEventPath>,
) -> Result<Json<MailEvent>, Problem> {
    let MailEventPath {
        member_id,
        id,
        event_id,
    } = path;
    if let Some(event) = queries::get(&pool, member_id, id, event_id).await? {
        return Ok(Json(event));
    }
    match crate::mail_records::queries::get(&pool, member_id, id).await? {
        Some(_) => Err(Code::MailEventNotFound.into()),
        None => Err(missing(&pool, member_id).await),
    }
}
