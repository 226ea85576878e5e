//! What a key can be allowed to do.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, ObjectBuilder, RefOr, Schema, Type},
};

use crate::values::Invalid;

/// The scope by which other keys are made.
pub const ADMIN: &str = "admin";

/// Each scope, and what it allows.
pub const SCOPES: [(&str, &str); 10] = [
    ("members:read", "read members, and what they agreed to"),
    ("members:write", "add and change members"),
    ("members:delete", "delete members"),
    ("mail:read", "read mail records and events"),
    (
        "mail:write",
        "write down mail, change it, report events, cancel and retry",
    ),
    ("mail:delete", "delete mail records"),
    ("suppressions:read", "read suppressions"),
    ("suppressions:write", "add and delete suppressions"),
    ("privacy", "read all that is stored about a person at once"),
    (
        ADMIN,
        "make, rotate and revoke access keys, and read the audit log",
    ),
];

/// The scopes of a key: one at least, each once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[serde(try_from = "Vec<String>")]
#[sqlx(transparent, no_pg_array)]
pub struct Scopes(Vec<String>);

impl Scopes {
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Scopes {
    type Error = Invalid;

    fn try_from(scopes: Vec<String>) -> Result<Self, Invalid> {
        if scopes.is_empty() {
            return Err(Invalid::new("too_short", "At least one scope is needed."));
        }
        let is_known = |scope: &String| SCOPES.iter().any(|(name, _)| name == scope);
        if !scopes.iter().all(is_known) {
            let names = SCOPES.map(|(name, _)| name).join(", ");
            let detail = format!("The scopes are: {names}.");
            return Err(Invalid::new("invalid", detail));
        }
        let mut seen = HashSet::new();
        if !scopes.iter().all(|scope| seen.insert(scope)) {
            return Err(Invalid::new("repeated", "Each scope may stand only once."));
        }
        Ok(Self(scopes))
    }
}

impl PartialSchema for Scopes {
    fn schema() -> RefOr<Schema> {
        let meanings = SCOPES.map(|(name, meaning)| format!("`{name}`: {meaning}"));
        ArrayBuilder::new()
            .description(Some(format!(
                "What the key allows, each once. {}.",
                meanings.join("; ")
            )))
            .items(
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .enum_values(Some(SCOPES.map(|(name, _)| name))),
            )
            .min_items(Some(1))
            .unique_items(true)
            .into()
    }
}

impl ToSchema for Scopes {}
