//! What a member is, as read and as written.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    http::{
        conditional::Versioned,
        list::{Listed, page::Limit},
        views::Resource,
    },
    mail_records::{model::MailRecord, summary::MailSummary},
    patch_schema,
    values::{Date, EmailAddress, JsonObject, Line, SearchTerm, Tags, Timestamp, strict},
};

/// The caller's own key of a member.
pub type ExternalId = Line<1, 255>;

/// Where a membership stands. It says nothing about consent or about whether the address works.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum MemberStatus {
    /// Applied for, or not confirmed yet.
    Pending,
    #[default]
    Active,
    /// Paused by the club or the member.
    Suspended,
    /// Left, or expelled.
    Ended,
}

/// Whether a member can be mailed: whether the address works, and what she wants. It follows from the
/// suppressions of the address and from what she consented to, and says nothing about the membership.
/// Where several hold, it is the first of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Mailability {
    /// No address is known.
    NoAddress,
    /// The address must not be mailed.
    Suppressed,
    /// No marketing mail is wanted; what belongs to the membership may be sent.
    Unsubscribed,
    /// Nothing is in the way.
    Ok,
}

/// A member of the register.
#[derive(Debug, Clone, Serialize, ToSchema, sqlx::FromRow)]
#[schema(example = json!({
    "id": "018cc251-f400-7000-8000-000000000001",
    "external_id": "member-1",
    "email": "ann.lee@example.org",
    "name": "Ann Lee",
    "birth": "1970-01-01",
    "joined": "1997-05-19",
    "status": "active",
    "tags": ["board"],
    "attributes": {"locker": 12},
    "mailability": "ok",
    "created_at": "2024-01-01T12:00:00.000000Z",
    "updated_at": "2024-01-01T12:00:00.000000Z",
    "version": 1
}))]
pub struct Member {
    /// UUIDv7 (RFC 9562, section 5.7), given by the service.
    pub id: Uuid,
    /// The caller's own key, unique among members; null if none was given.
    #[schema(required)]
    pub external_id: Option<ExternalId>,
    /// E-mail address as typed (NFC); no two members share one, whatever the case. Null if none is
    /// known.
    #[schema(required)]
    pub email: Option<EmailAddress>,
    /// The whole name, as it is to be shown.
    pub name: Line<1, 200>,
    /// Date of birth; null if it is not known.
    #[schema(required)]
    pub birth: Option<Date>,
    /// The day on which the membership began.
    pub joined: Date,
    pub status: MemberStatus,
    pub tags: Tags,
    /// The caller's own data about the member.
    pub attributes: JsonObject,
    /// It changes in the moment in which a suppression ends; `version`, and with it the entity tag, follows
    /// within about a minute.
    pub mailability: Mailability,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// 1 at first, one more with each write, and with each change of what she can be mailed.
    #[schema(minimum = 1)]
    pub version: i64,
}

/// Members, as views know them.
pub const MEMBERS: Resource = Resource {
    name: "members",
    schema: "Member",
    fields: <Member as Listed>::FIELDS,
    told_by: &[
        ("member_id", &["id"]),
        ("joined_from", &["joined"]),
        ("joined_to", &["joined"]),
        ("q", &["name", "email"]),
        ("tag", &["tags"]),
    ],
    taken_from: &[],
};

/// A member as the caller writes one: with POST, and in full with PUT.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "name": "Ann Lee",
    "birth": "1970-01-01",
    "joined": "1997-05-19",
    "status": "active",
    "tags": ["board"],
    "attributes": {"locker": 12}
}))]
pub struct MemberInput {
    /// The caller's own key, unique among members.
    #[serde(default)]
    pub external_id: Option<ExternalId>,
    /// E-mail address; no two members share one, whatever the case.
    #[serde(default)]
    pub email: Option<EmailAddress>,
    /// The whole name, as it is to be shown.
    pub name: Line<1, 200>,
    /// Date of birth.
    #[serde(default)]
    pub birth: Option<Date>,
    /// The day on which the membership began. Where it is not given, today (UTC) for a new member,
    /// and the day that stands for one who is replaced.
    #[serde(default)]
    pub joined: Option<Date>,
    /// `active` where it is not given.
    #[serde(default, deserialize_with = "strict::word")]
    pub status: MemberStatus,
    #[serde(default)]
    pub tags: Tags,
    /// The caller's own data about the member.
    #[serde(default)]
    pub attributes: JsonObject,
}

patch_schema!(MemberPatch, MemberInput, always_there: ["joined"]);

impl From<Member> for MemberInput {
    fn from(member: Member) -> Self {
        Self {
            external_id: member.external_id,
            email: member.email,
            name: member.name,
            birth: member.birth,
            joined: Some(member.joined),
            status: member.status,
            tags: member.tags,
            attributes: member.attributes,
        }
    }
}

impl Versioned for Member {
    fn version(&self) -> i64 {
        self.version
    }
}

/// Which members a list shows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemberFilter {
    /// Members with this status.
    #[serde(default)]
    pub status: Option<MemberStatus>,
    /// The member with this e-mail address, in any spelling that differs by case only. A `+` in it
    /// must be written `%2B`.
    #[serde(default)]
    pub email: Option<EmailAddress>,
    /// The member with this external id.
    #[serde(default)]
    pub external_id: Option<ExternalId>,
    /// Members who joined on this day or later.
    #[serde(default)]
    pub joined_from: Option<Date>,
    /// Members who joined before this day.
    #[serde(default)]
    pub joined_to: Option<Date>,
    /// Members in whose name or e-mail address this stands, whatever the case and the accents: `muller`
    /// finds `Müller`. Each character stands for itself. White space at its ends counts.
    #[serde(default)]
    #[param(inline)]
    pub q: Option<SearchTerm<0>>,
    /// Members with this tag.
    #[serde(default)]
    pub tag: Option<Line<1, 100>>,
    /// Members who can be mailed so far.
    #[serde(default)]
    pub mailability: Option<Mailability>,
}

/// A member together with the newest mail, and what became of all mail.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberWithMailRecords {
    pub member: Member,
    pub mail_summary: MailSummary,
    /// Newest first.
    pub mail_records: Vec<MailRecord>,
}

/// How much mail is read with a member.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NewestMailRecords {
    /// Mail records to read at most.
    #[serde(default)]
    #[param(inline)]
    pub limit: Limit<20, 500>,
}

/// Names one member.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MemberPath {
    /// The member's id.
    #[param(example = "018cc251-f400-7000-8000-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub member_id: Uuid,
}

/// Names one member by the caller's own key.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ExternalIdPath {
    /// The member's external id; a `/` in it must be written `%2F`.
    #[param(example = "person-1")]
    pub external_id: ExternalId,
}

/// Names one member by e-mail address.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct EmailPath {
    /// The member's e-mail address, in any spelling that differs by case only; a `/` in it must be
    /// written `%2F`.
    #[param(example = "person-1@example.org")]
    pub email: EmailAddress,
}
