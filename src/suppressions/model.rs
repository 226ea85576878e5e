//! What a suppression is, as read and as written.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    http::{conditional::Versioned, list::Listed, views::Resource},
    values::{EmailAddress, Timestamp, strict},
};

/// Why an address must not be mailed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SuppressionReason {
    /// Mail to it was returned for good: there is no such mailbox.
    HardBounce,
    /// Its owner reported mail as unwanted.
    Complaint,
    /// Its owner wants no marketing mail.
    Unsubscribe,
    /// Somebody decided so.
    #[default]
    Manual,
    /// It was found not to work before anything was sent to it.
    Invalid,
}

impl SuppressionReason {
    /// As the API has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HardBounce => "hard_bounce",
            Self::Complaint => "complaint",
            Self::Unsubscribe => "unsubscribe",
            Self::Manual => "manual",
            Self::Invalid => "invalid",
        }
    }
}

/// What mail must not be sent to the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SuppressionScope {
    /// None at all.
    All,
    /// Marketing mail; what belongs to a service that is used may be sent.
    Marketing,
}

/// How the service came to know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SuppressionOrigin {
    /// By what became of a mail.
    Event,
    /// By a request.
    Api,
    /// From a list that another system kept.
    Import,
}

/// How a suppression that is sent came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatedOrigin {
    #[default]
    Api,
    /// From a list that another system kept.
    Import,
}

impl From<StatedOrigin> for SuppressionOrigin {
    fn from(stated: StatedOrigin) -> Self {
        match stated {
            StatedOrigin::Api => Self::Api,
            StatedOrigin::Import => Self::Import,
        }
    }
}

/// An address that must not be mailed. No two have the same address, reason and scope.
#[derive(Debug, Clone, Serialize, ToSchema, sqlx::FromRow)]
#[schema(example = json!({
    "id": "018cc251-f409-7000-8fff-00000000000a",
    "address": "person-10@example.org",
    "reason": "hard_bounce",
    "scope": "all",
    "origin": "event",
    "source_mail_record_id": "018cc252-3e31-7000-8001-000000000001",
    "expires_at": null,
    "created_at": "2024-01-01T12:00:00.000000Z",
    "updated_at": "2024-01-01T12:00:00.000000Z",
    "version": 1
}))]
pub struct Suppression {
    /// UUIDv7 (RFC 9562, section 5.7), given by the service.
    pub id: Uuid,
    /// The address as typed. Null once the member is deleted whose it was: it stays blocked by a keyed
    /// hash, in any spelling that differs by case only.
    #[schema(required)]
    pub address: Option<EmailAddress>,
    pub reason: SuppressionReason,
    pub scope: SuppressionScope,
    pub origin: SuppressionOrigin,
    /// The mail record that it came from; null if it came from none, or from one of a member who is
    /// deleted.
    #[schema(required)]
    pub source_mail_record_id: Option<Uuid>,
    /// When it ends: from then on it blocks nothing, and is removed soon. Null if it never does.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// 1 at first, one more with each write.
    #[schema(minimum = 1)]
    pub version: i64,
}

/// Suppressions, as views know them.
pub const SUPPRESSIONS: Resource = Resource {
    name: "suppressions",
    schema: "Suppression",
    fields: <Suppression as Listed>::FIELDS,
    told_by: &[("confirm", &["reason"])],
    taken_from: &[],
};

/// A suppression as the caller writes one with POST.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "address": "ann.lee@example.org",
    "reason": "unsubscribe",
    "scope": "marketing",
    "origin": "import"
}))]
pub struct SuppressionInput {
    /// The address; it is blocked in any spelling that differs by case only.
    pub address: EmailAddress,
    /// `manual` where it is not given.
    #[serde(default, deserialize_with = "strict::word")]
    pub reason: SuppressionReason,
    /// Where it is not given, `marketing` for the reason `unsubscribe`, and `all` for any other.
    #[serde(default, deserialize_with = "strict::optional_word")]
    pub scope: Option<SuppressionScope>,
    /// `api` where it is not given.
    #[serde(default, deserialize_with = "strict::word")]
    pub origin: StatedOrigin,
    /// When it ends; never where it is not given.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// A suppression that is to be added, from wherever it comes.
#[derive(Debug, Clone)]
pub struct NewSuppression {
    pub address: EmailAddress,
    pub reason: SuppressionReason,
    pub scope: SuppressionScope,
    pub origin: SuppressionOrigin,
    pub source_mail_record_id: Option<Uuid>,
    pub expires_at: Option<Timestamp>,
}

impl From<SuppressionInput> for NewSuppression {
    fn from(input: SuppressionInput) -> Self {
        let usual = match input.reason {
            SuppressionReason::Unsubscribe => SuppressionScope::Marketing,
            _ => SuppressionScope::All,
        };
        Self {
            address: input.address,
            reason: input.reason,
            scope: input.scope.unwrap_or(usual),
            origin: input.origin.into(),
            source_mail_record_id: None,
            expires_at: input.expires_at,
        }
    }
}

impl Versioned for Suppression {
    fn version(&self) -> i64 {
        self.version
    }
}

/// Which suppressions a list shows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SuppressionFilter {
    /// Suppressions of this address, in any spelling that differs by case only, also where the address
    /// itself is not known any more. A `+` in it must be written `%2B`.
    #[serde(default)]
    pub address: Option<EmailAddress>,
    /// Suppressions for this reason.
    #[serde(default)]
    pub reason: Option<SuppressionReason>,
    /// Suppressions of this scope.
    #[serde(default)]
    pub scope: Option<SuppressionScope>,
    /// Suppressions of this origin.
    #[serde(default)]
    pub origin: Option<SuppressionOrigin>,
}

/// Names one suppression.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct SuppressionPath {
    /// The suppression's id.
    #[param(example = "018cc251-f409-7000-8fff-00000000000a")]
    #[serde(deserialize_with = "strict::id")]
    pub id: Uuid,
}

/// Says that a deletion is meant.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Confirmation {
    /// Whether one with the reason `complaint` is to be deleted too: who mails an address again that
    /// complained may be blocked by its provider.
    #[serde(default, deserialize_with = "strict::flag")]
    #[param(default = false)]
    pub confirm: bool,
}
