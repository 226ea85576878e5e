//! What a mail event is, as read and as written.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    http::{list::Listed, views::Resource},
    mail_records::model::{MailRecord, MailStatus, fingerprint},
    values::{EnhancedCode, Line, SmtpCode, Text, Timestamp, strict},
};

/// What happened to a mail.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum MailEventType {
    /// It was written down.
    Recorded,
    /// It is to be sent later.
    Scheduled,
    /// It waits to be sent.
    Queued,
    /// It was handed to a mail server.
    Sent,
    /// The recipient's server put it off; it is tried again.
    Deferred,
    /// It was called back before it was sent.
    Canceled,
    /// It was not sent, since the address must not be mailed.
    Suppressed,
    /// It was given up before the recipient's server took it.
    Failed,
    /// The recipient's server took it.
    Delivered,
    /// The recipient's server returned it.
    Bounced,
    /// It was opened.
    Opened,
    /// A link in it was followed.
    Clicked,
    /// The recipient called it spam.
    Complained,
    /// The recipient wants no more of its kind.
    Unsubscribed,
}

impl From<MailStatus> for MailEventType {
    fn from(status: MailStatus) -> Self {
        match status {
            MailStatus::Recorded => Self::Recorded,
            MailStatus::Scheduled => Self::Scheduled,
            MailStatus::Queued => Self::Queued,
            MailStatus::Sent => Self::Sent,
            MailStatus::Deferred => Self::Deferred,
            MailStatus::Canceled => Self::Canceled,
            MailStatus::Suppressed => Self::Suppressed,
            MailStatus::Failed => Self::Failed,
            MailStatus::Delivered => Self::Delivered,
            MailStatus::Bounced => Self::Bounced,
        }
    }
}

/// What became of an event that was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum MailEventEffect {
    /// It changed what the mail record says.
    Applied,
    /// It changed nothing: what was known already weighs more.
    Superseded,
    /// It had been reported before, and was not added again. Only the answer to a report says so.
    Duplicate,
}

/// What happened to one mail, as it was reported. It never changes.
#[derive(Debug, Clone, Serialize, ToSchema, sqlx::FromRow)]
#[schema(example = json!({
    "id": "018cc252-49e9-7000-8002-000000000001",
    "member_id": "018cc251-f400-7000-8000-000000000001",
    "mail_record_id": "018cc252-3e31-7000-8001-000000000001",
    "type": "bounced",
    "occurred_at": "2024-01-01T12:00:02.000000Z",
    "received_at": "2024-01-01T12:00:03.250000Z",
    "source": "postmark",
    "provider_event_id": "4323372036854775807",
    "smtp_code": 550,
    "enhanced_code": "5.1.1",
    "diagnostic": "550 5.1.1 no such user",
    "remote_mta": "mx.example.org",
    "url": null,
    "effect": "applied"
}))]
pub struct MailEvent {
    /// UUIDv7 (RFC 9562, section 5.7), given by the service; that of the mail record for the event that
    /// the record was created with.
    pub id: Uuid,
    /// Whom the mail was for.
    pub member_id: Uuid,
    /// To which mail it happened.
    pub mail_record_id: Uuid,
    #[serde(rename = "type")]
    #[sqlx(rename = "type")]
    pub kind: MailEventType,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// When it was reported.
    pub received_at: Timestamp,
    /// Who reported it; null if it is not known.
    #[schema(required)]
    pub source: Option<Line<1, 100>>,
    /// The reporter's own id of the event; null if none was given.
    #[schema(required)]
    pub provider_event_id: Option<Line<1, 255>>,
    /// The reply code of the mail server (RFC 5321, section 4.2); null if none was given.
    #[schema(required)]
    pub smtp_code: Option<SmtpCode>,
    /// The enhanced status code (RFC 3463); null if none was given.
    #[schema(required)]
    pub enhanced_code: Option<EnhancedCode>,
    /// What the mail server said, or what else explains the event; null if nothing was said.
    #[schema(required)]
    pub diagnostic: Option<Text<1, 4000>>,
    /// The mail server that said it; null if it is not known.
    #[schema(required)]
    pub remote_mta: Option<Line<1, 255>>,
    /// The link that was followed; null for other events, or if it is not known.
    #[schema(required)]
    pub url: Option<Line<1, 2048>>,
    pub effect: MailEventEffect,
    /// By what a repetition is told; none of an event that a mail record was created with.
    #[serde(skip)]
    #[schema(ignore)]
    #[sqlx(default)]
    pub(super) dedupe_key: Option<Vec<u8>>,
}

/// Mail events, as views know them.
pub const MAIL_EVENTS: Resource = Resource {
    name: "mail_events",
    schema: "MailEvent",
    fields: <MailEvent as Listed>::FIELDS,
    told_by: &[("event_id", &["id"])],
    taken_from: &[],
};

impl MailEvent {
    /// The event that a mail record was created with.
    pub(super) fn first_of(record: &MailRecord) -> Self {
        let report = MailEventInput {
            occurred_at: Some(record.status_at),
            diagnostic: record.status_reason.clone(),
            ..MailEventInput::of_type(record.status.into())
        };
        let (_, event) = Self::reported(record, report);
        Self {
            id: record.id,
            dedupe_key: None,
            ..event
        }
    }

    /// The event of a mail record that a report tells of, and by what a repetition of it is told.
    pub(super) fn reported(record: &MailRecord, report: MailEventInput) -> (Vec<u8>, Self) {
        let now = Timestamp::now();
        let report = MailEventInput {
            occurred_at: report.occurred_at.or(Some(now)),
            ..report
        };
        let dedupe_key = report.dedupe_key();
        let event = Self {
            id: Uuid::now_v7(),
            member_id: record.member_id,
            mail_record_id: record.id,
            kind: report.kind,
            occurred_at: report.occurred_at.unwrap_or(now),
            received_at: now,
            source: report.source,
            provider_event_id: report.provider_event_id,
            smtp_code: report.smtp_code,
            enhanced_code: report.enhanced_code,
            diagnostic: report.diagnostic,
            remote_mta: report.remote_mta,
            url: report.url,
            effect: MailEventEffect::Applied,
            dedupe_key: Some(dedupe_key.clone()),
        };
        (dedupe_key, event)
    }
}

/// What happened to a mail, as the caller reports it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "type": "delivered",
    "occurred_at": "2024-01-01T12:00:03.25Z",
    "source": "postmark",
    "provider_event_id": "4323372036854775808",
    "smtp_code": 250,
    "enhanced_code": "2.0.0",
    "diagnostic": "250 2.0.0 OK",
    "remote_mta": "mx.example.org"
}))]
pub struct MailEventInput {
    #[serde(rename = "type", deserialize_with = "strict::word")]
    pub kind: MailEventType,
    /// When it happened; now where it is not given.
    #[serde(default)]
    pub occurred_at: Option<Timestamp>,
    /// Who reports it: a provider, say, or a program.
    #[serde(default)]
    pub source: Option<Line<1, 100>>,
    /// The reporter's own id of the event. One that the mail record has an event with already is a
    /// repetition, whatever else it says.
    #[serde(default)]
    pub provider_event_id: Option<Line<1, 255>>,
    /// The reply code of the mail server (RFC 5321, section 4.2).
    #[serde(default)]
    pub smtp_code: Option<SmtpCode>,
    /// The enhanced status code (RFC 3463).
    #[serde(default)]
    pub enhanced_code: Option<EnhancedCode>,
    /// What the mail server said, or what else explains the event.
    #[serde(default)]
    pub diagnostic: Option<Text<1, 4000>>,
    /// The mail server that said it.
    #[serde(default)]
    pub remote_mta: Option<Line<1, 255>>,
    /// The link that was followed.
    #[serde(default)]
    pub url: Option<Line<1, 2048>>,
}

impl MailEventInput {
    /// An event of now that nobody but the service reports.
    pub(in crate::mail_records) fn of_type(kind: MailEventType) -> Self {
        Self {
            kind,
            occurred_at: None,
            source: None,
            provider_event_id: None,
            smtp_code: None,
            enhanced_code: None,
            diagnostic: None,
            remote_mta: None,
            url: None,
        }
    }

    /// By what a repetition is told: the reporter's id of the event, or else all that it says.
    fn dedupe_key(&self) -> Vec<u8> {
        match &self.provider_event_id {
            Some(id) => Sha256::digest(format!("id {id}")).to_vec(),
            None => fingerprint(self),
        }
    }
}

/// Several events, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub struct MailEvents {
    pub data: Vec<MailEvent>,
}

/// What a report of events is answered with: as many as were reported, alone or as a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum MailEventAnswer {
    One(Box<MailEvent>),
    Many(MailEvents),
}

/// Which events a list shows.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MailEventFilter {
    /// Events of this type.
    #[serde(default, rename = "type")]
    #[param(inline)]
    pub kind: Option<MailEventType>,
}

/// Names one event.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MailEventPath {
    /// The member's id.
    #[param(example = "018cc251-f400-7000-8000-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub member_id: Uuid,
    /// The mail record's id.
    #[param(example = "018cc252-3e31-7000-8001-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub id: Uuid,
    /// The event's id.
    #[param(example = "018cc252-3e31-7000-8001-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub event_id: Uuid,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So that one that a later version adds makes no repetition a new event.
    #[test]
    fn a_field_that_is_not_given_does_not_count_in_what_a_repetition_is_told_by() {
        let at: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let opened = MailEventInput {
            occurred_at: Some(at),
            ..MailEventInput::of_type(MailEventType::Opened)
        };
        let said = r#"{"occurred_at":"2026-01-01T00:00:00.000000Z","type":"opened"}"#;
        assert_eq!(opened.dedupe_key(), Sha256::digest(said).to_vec());
    }
}
