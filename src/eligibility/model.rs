//! What is asked and answered.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    consents::model::Topic,
    http::views::Resource,
    suppressions::model::{SuppressionReason, SuppressionScope},
    values::{Timestamp, strict},
};

/// What a mail is sent for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum MailCategory {
    /// Part of a service that the member uses: a receipt, a password reset.
    #[default]
    Transactional,
    /// Anything else: a newsletter, an offer.
    Marketing,
}

/// Whether a member may be mailed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "allowed": false,
    "reasons": [{
        "code": "suppressed",
        "suppression_id": "018cc251-f409-7000-8fff-00000000000a",
        "reason": "hard_bounce",
        "scope": "all",
        "expires_at": null
    }]
}))]
pub struct MailEligibility {
    /// Whether nothing is in the way.
    pub allowed: bool,
    /// All that is in the way.
    pub reasons: Vec<Obstacle>,
}

/// What is told by saying whether a member may be mailed.
pub const MAILABILITY: &[&str] = &[
    "members.mailability",
    "members.email",
    "consents.state",
    "suppressions.address",
    "suppressions.reason",
    "suppressions.scope",
    "suppressions.expires_at",
];

/// Whether a member may be mailed, as views know it.
pub const ELIGIBILITY: Resource = Resource {
    name: "eligibility",
    schema: "MailEligibility",
    fields: &["allowed", "reasons"],
    told_by: &[
        ("member_id", MAILABILITY),
        ("category", &[]),
        ("topic", &["consents.topic"]),
    ],
    taken_from: &[],
};

/// What is in the way of a mail; `code` says which it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Obstacle {
    /// No address is known.
    NoAddress,
    /// The address must not be mailed.
    Suppressed {
        /// The suppression that says so.
        suppression_id: Uuid,
        reason: SuppressionReason,
        scope: SuppressionScope,
        /// When it ends; null if it never does.
        #[schema(required)]
        expires_at: Option<Timestamp>,
    },
    /// The member does not agree to marketing mail, or no longer.
    ConsentWithdrawn {
        /// The consent that says so.
        consent_id: Uuid,
    },
    /// The member was asked to confirm that she agrees to marketing mail, and has not done so yet.
    ConsentPending {
        /// The consent that says so.
        consent_id: Uuid,
    },
}

impl Obstacle {
    /// Its `code`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoAddress => "no_address",
            Self::Suppressed { .. } => "suppressed",
            Self::ConsentWithdrawn { .. } => "consent_withdrawn",
            Self::ConsentPending { .. } => "consent_pending",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => f.write_str("No address is known."),
            Self::Suppressed { reason, .. } => {
                write!(f, "The address is suppressed: {}.", reason.as_str())
            }
            Self::ConsentWithdrawn { .. } => f.write_str("Marketing mail is not wanted."),
            Self::ConsentPending { .. } => f.write_str("Marketing mail was not agreed to yet."),
        }
    }
}

/// Which mail is asked about.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EligibilityQuestion {
    /// What the mail is sent for; `marketing` where it is not given, in whose way more can be.
    #[serde(default)]
    pub category: Option<MailCategory>,
    /// What a marketing mail is about: what the member said on that counts, too. Where it is not given,
    /// what she said to marketing mail as a whole.
    #[serde(default)]
    pub topic: Option<Topic>,
}

/// Names one member's eligibility.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct EligibilityPath {
    /// The member's id.
    #[param(example = "018cc251-f400-7000-8000-000000000001")]
    #[serde(deserialize_with = "strict::id")]
    pub member_id: Uuid,
}
