//! What is known of a key, as read and as written.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{
    key::Key,
    scopes::{ADMIN, Scopes},
};
use crate::{
    http::{conditional::Versioned, views::Views},
    values::{Invalid, Line, Timestamp, strict},
};

/// What is known of an access key. Its secret is not: only a hash of that is stored.
#[derive(Debug, Clone, Serialize, ToSchema, sqlx::FromRow)]
#[schema(example = json!({
    "id": "018cc251-f40a-7fff-8000-00000000000b",
    "name": "newsletter",
    "scopes": ["members:read", "mail:write"],
    "view": null,
    "created_at": "2024-01-01T12:00:00.000000Z",
    "expires_at": null,
    "revoked_at": null,
    "last_used_at": "2024-01-02T08:30:00.000000Z",
    "previous_valid_until": null,
    "updated_at": "2024-01-01T12:00:00.000000Z",
    "version": 1
}))]
pub struct AccessKey {
    /// UUIDv7 (RFC 9562, section 5.7), given by the service. It stands in the key, without hyphens.
    pub id: Uuid,
    /// Who or what uses it.
    pub name: Line<1, 200>,
    #[schema(inline)]
    pub scopes: Scopes,
    /// The view that bounds what it sees, in which what is hidden can be neither asked for nor written.
    /// Null: it sees everything.
    #[schema(required)]
    pub view: Option<Line<1, 100>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it opens nothing. Null: it does until it is revoked.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked. Null: it was not.
    #[schema(required)]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, a minute more or less. Null: not yet. It is no part of the `version`.
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
    /// Until when the secret before the last rotation opens too. Null: there is none.
    #[schema(required)]
    pub previous_valid_until: Option<Timestamp>,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// 1 at first, one more with each rotation and with the revocation.
    #[schema(minimum = 1)]
    pub version: i64,
}

impl Versioned for AccessKey {
    fn version(&self) -> i64 {
        self.version
    }
}

/// An access key with its secret, which is shown this once.
#[derive(Clone, Serialize, ToSchema)]
pub struct IssuedAccessKey {
    /// The key itself, for `Authorization: Bearer`. It cannot be read again.
    #[schema(pattern = "^mmk_[0-9a-f]{32}_[0-9a-f]{64}_[0-9a-f]{8}$")]
    pub key: String,
    #[serde(flatten)]
    pub access_key: AccessKey,
}

impl IssuedAccessKey {
    #[must_use]
    pub fn new(key: &Key, access_key: AccessKey) -> Self {
        Self {
            key: key.to_string(),
            access_key,
        }
    }
}

/// Without the secret, which a log must not have.
impl fmt::Debug for IssuedAccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.access_key.fmt(f)
    }
}

impl Versioned for IssuedAccessKey {
    fn version(&self) -> i64 {
        self.access_key.version
    }
}

/// An access key as the caller asks for one.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "newsletter", "scopes": ["members:read", "mail:write"]}))]
pub struct AccessKeyInput {
    /// Who or what is to use it.
    pub name: Line<1, 200>,
    #[schema(inline)]
    pub scopes: Scopes,
    /// From when on it opens nothing; never where it is not given.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// The name of the view that bounds what it sees, of those in the service's file of views; everything
    /// where it is not given. Not with the scope `admin`, by which it could make itself another key.
    #[serde(default)]
    pub view: Option<Line<1, 100>>,
}

impl AccessKeyInput {
    /// Why the key cannot have the view that is asked for, if it cannot.
    #[must_use]
    pub fn wrong_view(&self, views: &Views) -> Option<Invalid> {
        let view = self.view.as_ref()?.as_str();
        if views.get(view).is_none() {
            return Some(Invalid::new("unknown", views.unknown(view)));
        }
        let admin = self.scopes.as_slice().iter().any(|scope| scope == ADMIN);
        let detail =
            "A key with the scope `admin` takes no view: it could make itself another key.";
        admin.then(|| Invalid::new("conflict", detail))
    }
}

/// How a key is to be rotated.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"overlap_seconds": 3600}))]
pub struct RotationInput {
    /// For how many seconds the old secret opens beside the new one; 0 where it is not given.
    #[serde(default)]
    #[schema(value_type = u32, maximum = 2_592_000)]
    pub overlap_seconds: Overlap,
}

/// Seconds, up to 30 days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Overlap(f64);

impl Overlap {
    pub const MAX: u32 = 30 * 24 * 60 * 60;

    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0
    }
}

/// From a number, of which JSON may write 60 as `60.0`.
impl TryFrom<f64> for Overlap {
    type Error = Invalid;

    fn try_from(number: f64) -> Result<Self, Invalid> {
        let whole = number.fract() == 0.0 && (0.0..=f64::from(Self::MAX)).contains(&number);
        if !whole {
            let detail = format!("A whole number from 0 to {} is expected.", Self::MAX);
            return Err(Invalid::new("out_of_range", detail));
        }
        Ok(Self(number))
    }
}

/// Names one access key.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct AccessKeyPath {
    /// The access key's id.
    #[param(example = "018cc251-f40a-7fff-8000-00000000000b")]
    #[serde(deserialize_with = "strict::id")]
    pub id: Uuid,
}

/// Which access keys a list shows: all of them.
#[derive(Debug, Deserialize)]
pub struct AllAccessKeys {}
