//! What a consent is, as read and as written.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    http::{conditional::Versioned, list::Listed, views::Resource},
    values::{JsonObject, Line, Timestamp, strict},
};

/// What a marketing mail is about, in the caller's own words.
pub type Topic = Line<1, 100>;

/// What a member said to marketing mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ConsentState {
    /// She agreed.
    Granted,
    /// She was asked to confirm that she agrees, and has not done so yet.
    Pending,
    /// She does not agree, or no longer.
    Withdrawn,
}

/// What a member said to marketing mail once. It is never changed: of all that she said, what occurred
/// last counts; of two of the same time the stricter one.
#[derive(Debug, Clone, Serialize, ToSchema, sqlx::FromRow)]
#[schema(example = json!({
    "id": "018cc251-f400-7000-8ffe-000000000001",
    "member_id": "018cc251-f400-7000-8000-000000000001",
    "topic": "newsletter",
    "state": "granted",
    "source": "form on the web site",
    "evidence": {"form": "join-2024", "ip": "192.0.2.7"},
    "occurred_at": "2024-01-01T12:00:00.000000Z",
    "created_at": "2024-01-01T12:00:00.000000Z"
}))]
pub struct Consent {
    /// UUIDv7 (RFC 9562, section 5.7), given by the service.
    pub id: Uuid,
    /// Who said so.
    pub member_id: Uuid,
    /// What the mail is about; null for all marketing mail, whatever was said about a topic before.
    #[schema(required)]
    pub topic: Option<Topic>,
    pub state: ConsentState,
    /// Where she said so; null if it is not known.
    #[schema(required)]
    pub source: Option<Line<1, 200>>,
    /// What proves it, in the caller's own form.
    pub evidence: JsonObject,
    /// When she said so.
    pub occurred_at: Timestamp,
    /// When it was written down.
    pub created_at: Timestamp,
}

/// Consents, as views know them.
pub const CONSENTS: Resource = Resource {
    name: "consents",
    schema: "Consent",
    fields: <Consent as Listed>::FIELDS,
    told_by: &[("current", &["topic", "state", "occurred_at"])],
    taken_from: &[],
};

/// A consent as the caller writes one with POST.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "topic": "newsletter",
    "state": "granted",
    "source": "form on the web site",
    "evidence": {"form": "join-2024", "ip": "192.0.2.7"}
}))]
pub struct ConsentInput {
    /// What the mail is about, in a word of the caller's own that is always spelled the same: `News` is
    /// another topic than `news`. All marketing mail where it is not given, whatever was said about a topic
    /// before.
    #[serde(default)]
    pub topic: Option<Topic>,
    #[serde(deserialize_with = "strict::word")]
    pub state: ConsentState,
    /// Where she said so.
    #[serde(default)]
    pub source: Option<Line<1, 200>>,
    /// What proves it, in the caller's own form.
    #[serde(default)]
    pub evidence: JsonObject,
    /// When she said so; now where it is not given. At most five minutes ahead of the service's clock.
    #[serde(default)]
    pub occurred_at: Option<Timestamp>,
}

impl Versioned for Consent {
    /// It is never changed.
    fn version(&self) -> i64 {
        1
    }
}

/// Which consents a list shows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ConsentFilter {
    /// Consents on this topic, and not those on marketing mail as a whole.
    #[serde(default)]
    pub topic: Option<Topic>,
    /// Consents that say this.
    #[serde(default)]
    pub state: Option<ConsentState>,
    /// `true`: those alone that count today, for a topic or for marketing mail as a whole.
    #[serde(default, deserialize_with = "strict::flag")]
    #[param(default = false)]
    pub current: bool,
}

/// Names one member's consents.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ConsentsPath {
    /// The member's id.
    #[param(example = "018cc251-f400-7000-8000-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub member_id: Uuid,
}

/// Names one consent.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ConsentPath {
    /// The member's id.
    #[param(example = "018cc251-f400-7000-8000-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub member_id: Uuid,
    /// The consent's id.
    #[param(example = "018cc251-f400-7000-8ffe-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub id: Uuid,
}
