//! What a mail record is, as read and as written.

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

pub use crate::eligibility::model::MailCategory;
use crate::{
    eligibility::model::MAILABILITY,
    http::{conditional::Versioned, list::Listed, views::Resource},
    patch_schema,
    values::{EmailAddress, JsonObject, Line, SearchTerm, Tags, Text, Timestamp, strict},
};

/// What became of a mail.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum MailStatus {
    /// Written down; nothing is known yet.
    #[default]
    Recorded,
    /// To be sent later.
    Scheduled,
    /// Waiting to be sent.
    Queued,
    /// Handed to a mail server.
    Sent,
    /// Put off by the recipient's server; it is tried again.
    Deferred,
    /// Called back before it was sent.
    Canceled,
    /// Not sent, since the address must not be mailed.
    Suppressed,
    /// Given up before the recipient's server took it.
    Failed,
    /// Taken by the recipient's server.
    Delivered,
    /// Returned by the recipient's server.
    Bounced,
}

/// One message to one recipient.
#[derive(Debug, Clone, Serialize, ToSchema, sqlx::FromRow)]
#[schema(example = json!({
    "id": "018cc252-3e31-7000-8001-000000000001",
    "member_id": "018cc251-f400-7000-8000-000000000001",
    "recipient": "ann.lee@example.org",
    "sender": "news@club.example",
    "subject": "Your membership card",
    "category": "transactional",
    "tags": ["card"],
    "metadata": {"campaign": "spring"},
    "message_id": "20240101.1@club.example",
    "provider": "postmark",
    "provider_message_id": "b7bc2f4a-e38e-4336-af7d-e6c392c2f817",
    "external_id": "card-1",
    "retry_of": null,
    "retried_by": null,
    "status": "delivered",
    "status_at": "2024-01-01T12:00:03.250000Z",
    "status_reason": "250 2.0.0 OK",
    "status_event_id": "018cc252-49e9-7000-8002-000000000001",
    "delivered_at": "2024-01-01T12:00:03.250000Z",
    "bounced_at": null,
    "opened_count": 0,
    "first_opened_at": null,
    "clicked_count": 0,
    "first_clicked_at": null,
    "complained_at": null,
    "unsubscribed_at": null,
    "created_at": "2024-01-01T12:00:00.000000Z",
    "updated_at": "2024-01-01T12:00:03.250000Z",
    "version": 2
}))]
pub struct MailRecord {
    /// UUIDv7 (RFC 9562, section 5.7), given by the service.
    pub id: Uuid,
    /// Whom the mail was for.
    pub member_id: Uuid,
    /// The address as it was when the mail was sent.
    pub recipient: EmailAddress,
    /// The address that it was sent from; null if it is not known.
    #[schema(required)]
    pub sender: Option<EmailAddress>,
    /// `Subject` of the mail (RFC 5322, section 3.6.5), decoded; may be empty.
    pub subject: Line<0, 998>,
    pub category: MailCategory,
    pub tags: Tags,
    /// The caller's own data about the mail.
    pub metadata: JsonObject,
    /// `Message-ID` of the mail, without the angle brackets (RFC 5322, section 3.6.4); null if it
    /// is not known.
    #[schema(required)]
    pub message_id: Option<Line<1, 255>>,
    /// Who sent the mail; null if it is not known.
    #[schema(required)]
    pub provider: Option<Line<1, 100>>,
    /// The provider's id of the mail, unique for a member and provider; null if it is not known.
    #[schema(required)]
    pub provider_message_id: Option<Line<1, 255>>,
    /// The caller's own key, unique among the member's mail records; null if none was given.
    #[schema(required)]
    pub external_id: Option<Line<1, 255>>,
    /// The mail record that this one is another attempt of; null for a first attempt.
    #[schema(required)]
    pub retry_of: Option<Uuid>,
    /// The newest other attempt, whose `retry_of` is this mail record; null if there is none.
    #[schema(required)]
    pub retried_by: Option<Uuid>,
    /// What became of the mail, as all its events say together.
    pub status: MailStatus,
    /// Since when the status holds: when the event occurred that decides on it.
    pub status_at: Timestamp,
    /// What the event says that decides on the status: its diagnostic, or else its codes; null if it
    /// says nothing.
    #[schema(required)]
    pub status_reason: Option<Text<1, 4000>>,
    /// The event that decides on the status; null for what was not written by the service.
    #[schema(required)]
    pub status_event_id: Option<Uuid>,
    /// When it was delivered, even if it was returned later; null if it is not known to be.
    #[schema(required)]
    pub delivered_at: Option<Timestamp>,
    /// When it was returned; null if it is not known to be.
    #[schema(required)]
    pub bounced_at: Option<Timestamp>,
    /// How often it was reported to be opened.
    #[schema(minimum = 0)]
    pub opened_count: i64,
    /// When it was first opened; null if it is not known to be.
    #[schema(required)]
    pub first_opened_at: Option<Timestamp>,
    /// How often links in it were reported to be followed.
    #[schema(minimum = 0)]
    pub clicked_count: i64,
    /// When a link in it was first followed; null if none is known to be.
    #[schema(required)]
    pub first_clicked_at: Option<Timestamp>,
    /// When the recipient called it spam; null if that is not known.
    #[schema(required)]
    pub complained_at: Option<Timestamp>,
    /// When the recipient unsubscribed by it; null if that is not known.
    #[schema(required)]
    pub unsubscribed_at: Option<Timestamp>,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// 1 at first, one more with each write.
    #[schema(minimum = 1)]
    pub version: i64,
}

/// Mail records, as views know them.
pub const MAIL_RECORDS: Resource = Resource {
    name: "mail_records",
    schema: "MailRecord",
    fields: <MailRecord as Listed>::FIELDS,
    told_by: &[
        ("created_from", &["created_at"]),
        ("created_to", &["created_at"]),
        ("if_eligible", MAILABILITY),
        ("otherwise", MAILABILITY),
        ("topic", &["consents.topic"]),
    ],
    taken_from: &[("recipient", "members.email")],
};

/// A mail record as the caller writes one with POST.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "recipient": "ann.lee@example.org",
    "sender": "news@club.example",
    "subject": "Your membership card",
    "category": "transactional",
    "status": "sent"
}))]
pub struct MailRecordInput {
    /// The member's address where it is not given; required for a member without one.
    #[serde(default)]
    pub recipient: Option<EmailAddress>,
    /// The address that the mail is sent from.
    #[serde(default)]
    pub sender: Option<EmailAddress>,
    /// `Subject` of the mail (RFC 5322, section 3.6.5), decoded; may be empty.
    pub subject: Line<0, 998>,
    /// `transactional` where it is not given.
    #[serde(default, deserialize_with = "strict::word")]
    pub category: MailCategory,
    #[serde(default)]
    pub tags: Tags,
    /// The caller's own data about the mail.
    #[serde(default)]
    pub metadata: JsonObject,
    /// `Message-ID` of the mail, without the angle brackets (RFC 5322, section 3.6.4).
    #[serde(default)]
    pub message_id: Option<Line<1, 255>>,
    /// Who sends the mail.
    #[serde(default)]
    pub provider: Option<Line<1, 100>>,
    /// The provider's id of the mail, unique for a member and provider; an unnamed provider
    /// counts as one.
    #[serde(default)]
    pub provider_message_id: Option<Line<1, 255>>,
    /// The caller's own key, unique among the member's mail records.
    #[serde(default)]
    pub external_id: Option<Line<1, 255>>,
    /// The mail record of the same member that this one is another attempt of.
    #[serde(default, deserialize_with = "strict::optional_id")]
    pub retry_of: Option<Uuid>,
    /// What is known already of what became of the mail; `recorded` where it is not given. It is the
    /// mail record's first event.
    #[serde(default, deserialize_with = "strict::word")]
    pub status: MailStatus,
    /// When that event occurred; now where it is not given.
    #[serde(default)]
    pub status_at: Option<Timestamp>,
    /// What explains it.
    #[serde(default)]
    pub status_reason: Option<Text<1, 4000>>,
}

/// A mail record as the caller replaces one with PUT. What became of the mail, and which mail it is
/// another attempt of, stay as they are.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "recipient": "ann.lee@example.org",
    "sender": "news@club.example",
    "subject": "Your new membership card",
    "category": "transactional",
    "tags": ["card"]
}))]
pub struct MailRecordReplacement {
    /// The address as it was when the mail was sent; stays as it is where it is not given.
    #[serde(default)]
    pub recipient: Option<EmailAddress>,
    /// The address that the mail was sent from.
    #[serde(default)]
    pub sender: Option<EmailAddress>,
    /// `Subject` of the mail (RFC 5322, section 3.6.5), decoded; may be empty.
    pub subject: Line<0, 998>,
    /// `transactional` where it is not given.
    #[serde(default, deserialize_with = "strict::word")]
    pub category: MailCategory,
    #[serde(default)]
    pub tags: Tags,
    /// The caller's own data about the mail.
    #[serde(default)]
    pub metadata: JsonObject,
    /// `Message-ID` of the mail, without the angle brackets (RFC 5322, section 3.6.4).
    #[serde(default)]
    pub message_id: Option<Line<1, 255>>,
    /// Who sent the mail.
    #[serde(default)]
    pub provider: Option<Line<1, 100>>,
    /// The provider's id of the mail, unique for a member and provider; an unnamed provider
    /// counts as one.
    #[serde(default)]
    pub provider_message_id: Option<Line<1, 255>>,
    /// The caller's own key, unique among the member's mail records.
    #[serde(default)]
    pub external_id: Option<Line<1, 255>>,
    #[serde(
        rename = "status",
        default,
        skip_serializing,
        deserialize_with = "follows_from_events"
    )]
    #[schema(ignore)]
    _status: (),
    #[serde(
        rename = "status_at",
        default,
        skip_serializing,
        deserialize_with = "follows_from_events"
    )]
    #[schema(ignore)]
    _status_at: (),
    #[serde(
        rename = "status_reason",
        default,
        skip_serializing,
        deserialize_with = "follows_from_events"
    )]
    #[schema(ignore)]
    _status_reason: (),
}

fn follows_from_events<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let instead = "It follows from the mail record's events: report what became of the mail with POST to \
                   …/events, call the mail back with …/cancel, or try it again with …/retry.";
    strict::read_only(deserializer, instead)
}

impl MailRecordInput {
    /// Tells a repetition from another mail under the same key: SHA-256 of what was given, whatever
    /// its order.
    ///
    /// A field that is not given does not count, so that one that a later version adds changes
    /// nothing.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        fingerprint(self)
    }
}

/// A fingerprint of what an input says.
pub(super) fn fingerprint(input: &impl Serialize) -> Vec<u8> {
    // Every part of a body that was read has a JSON form.
    let mut fields = serde_json::to_value(input).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Sha256::digest(fields.to_string()).to_vec()
}

patch_schema!(MailRecordPatch, MailRecordReplacement, always_there: ["recipient"]);

impl From<MailRecord> for MailRecordReplacement {
    fn from(record: MailRecord) -> Self {
        Self {
            recipient: Some(record.recipient),
            sender: record.sender,
            subject: record.subject,
            category: record.category,
            tags: record.tags,
            metadata: record.metadata,
            message_id: record.message_id,
            provider: record.provider,
            provider_message_id: record.provider_message_id,
            external_id: record.external_id,
            _status: (),
            _status_at: (),
            _status_reason: (),
        }
    }
}

impl Versioned for MailRecord {
    fn version(&self) -> i64 {
        self.version
    }
}

/// Which mail records a list shows.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MailRecordFilter {
    /// Mail records with this status.
    #[serde(default)]
    pub status: Option<MailStatus>,
    /// Mail records to this address, in any spelling that differs by case only. A `+` in it must be
    /// written `%2B`.
    #[serde(default)]
    pub recipient: Option<EmailAddress>,
    /// Mail records of this category.
    #[serde(default)]
    pub category: Option<MailCategory>,
    /// Mail records in whose subject this stands, whatever the case and the accents. Each character
    /// stands for itself; at least three letters or digits in a row are needed.
    #[serde(default)]
    #[param(inline)]
    pub subject: Option<SearchTerm<3>>,
    /// Mail records created at this time or later.
    #[serde(default)]
    pub created_from: Option<Timestamp>,
    /// Mail records created before this time.
    #[serde(default)]
    pub created_to: Option<Timestamp>,
}

/// Names one member's mail records.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MailRecordsPath {
    /// The member's id.
    #[param(example = "018cc251-f400-7000-8000-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub member_id: Uuid,
}

/// Names one mail record.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MailRecordPath {
    /// The member's id.
    #[param(example = "018cc251-f400-7000-8000-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub member_id: Uuid,
    /// The mail record's id.
    #[param(example = "018cc252-3e31-7000-8001-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub id: Uuid,
}
