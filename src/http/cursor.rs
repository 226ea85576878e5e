//! Opaque positions in a list.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, de::Error};
use sha2::{Digest, Sha256};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};
use uuid::Uuid;

use crate::{
    problem::{Code, FieldError, Problem},
    values::Invalid,
};

/// First byte of every cursor; a later form gets another, so that both can be read.
const VERSION: u8 = 1;
const ID_LENGTH: usize = 16;
const CHECK_LENGTH: usize = 8;
const LENGTH: usize = 1 + ID_LENGTH + CHECK_LENGTH;

/// What a list is, apart from the position in it: its path, its filters and its order.
#[derive(Debug, Clone)]
pub struct Scope(Sha256);

impl Scope {
    /// Parameters that do not change what is listed.
    const POSITION: [&str; 2] = ["cursor", "limit"];

    pub(super) fn new(path: &str, query: &[(String, String)]) -> Self {
        let mut filters: Vec<_> = query
            .iter()
            .filter(|(name, _)| !Self::POSITION.contains(&name.as_str()))
            .collect();
        filters.sort();
        let mut hash = Sha256::new();
        for part in std::iter::once(path).chain(
            filters
                .iter()
                .flat_map(|(name, value)| [name.as_str(), value]),
        ) {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        Self(hash)
    }

    fn check(&self, id: Uuid) -> [u8; CHECK_LENGTH] {
        let digest = self
            .0
            .clone()
            .chain_update([VERSION])
            .chain_update(id)
            .finalize();
        let mut check = [0; CHECK_LENGTH];
        check.copy_from_slice(&digest[..CHECK_LENGTH]);
        check
    }

    /// The cursor behind the row `id`.
    #[must_use]
    pub fn cursor_after(&self, id: Uuid) -> Cursor {
        Cursor {
            id,
            check: self.check(id),
        }
    }

    /// The row that `cursor` stands behind.
    ///
    /// # Errors [`Code::InvalidParameter`] if the cursor is of another list or was altered: a wrong
    /// page would be worse than none.
    pub fn position(&self, cursor: Option<&Cursor>) -> Result<Option<Uuid>, Problem> {
        let Some(cursor) = cursor else {
            return Ok(None);
        };
        if cursor.check == self.check(cursor.id) {
            return Ok(Some(cursor.id));
        }
        let error = FieldError::at_parameter(
            "cursor",
            "invalid_cursor",
            "This cursor belongs to another list or other filters; start again without it.",
        );
        Err(Problem::from(Code::InvalidParameter).with_errors(vec![error]))
    }
}

/// A position in a list, with a check that binds it to that list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    id: Uuid,
    check: [u8; CHECK_LENGTH],
}

impl Cursor {
    fn decode(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let bytes: [u8; LENGTH] = bytes.try_into().ok()?;
        let (version, rest) = bytes.split_first()?;
        let (id, check) = rest.split_first_chunk::<ID_LENGTH>()?;
        (*version == VERSION).then_some(Self {
            id: Uuid::from_bytes(*id),
            check: check.try_into().ok()?,
        })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut bytes = [VERSION; LENGTH];
        bytes[1..=ID_LENGTH].copy_from_slice(self.id.as_bytes());
        bytes[1 + ID_LENGTH..].copy_from_slice(&self.check);
        f.write_str(&BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl PartialSchema for Cursor {
    /// Base64url, and no more: what is in it is nobody else's business.
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "A position in a list. Give it back as it came; what is in it may change.",
            ))
            .pattern(Some("^[A-Za-z0-9_-]+$"))
            .into()
    }
}

impl ToSchema for Cursor {}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::decode(&text).ok_or_else(|| {
            let detail = "This is not a cursor of this service; start again without it.";
            D::Error::custom(Invalid::new("invalid_cursor", detail))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope(path: &str, filter: &str) -> Scope {
        Scope::new(path, &[("status".to_owned(), filter.to_owned())])
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_row(id: u128, path in "[a-z/]{1,20}") {
            let id = Uuid::from_u128(id);
            let scope = scope(&path, "active");
            let text = scope.cursor_after(id).to_string();
            let cursor = Cursor::decode(&text).expect("own cursor");
            prop_assert_eq!(scope.position(Some(&cursor)).expect("own scope"), Some(id));
        }

        #[test]
        fn an_altered_cursor_leads_nowhere(id: u128, place in 0..LENGTH, bit in 0..8_u8) {
            let scope = scope("/list", "active");
            let text = scope.cursor_after(Uuid::from_u128(id)).to_string();
            let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(text).expect("base64");
            bytes[place] ^= 1 << bit;
            let altered = Cursor::decode(&BASE64_URL_SAFE_NO_PAD.encode(bytes));
            prop_assert!(altered.is_none_or(|cursor| scope.position(Some(&cursor)).is_err()));
        }

        #[test]
        fn text_that_is_no_cursor_is_refused(text in ".{0,60}") {
            if let Some(cursor) = Cursor::decode(&text) {
                prop_assert!(scope("/list", "active").position(Some(&cursor)).is_err());
            }
        }
    }

    #[test]
    fn a_cursor_of_another_list_or_filter_is_refused() {
        let cursor = scope("/a", "active").cursor_after(Uuid::nil());
        for other in [
            scope("/b", "active"),
            scope("/a", "ended"),
            Scope::new("/a", &[]),
        ] {
            assert!(other.position(Some(&cursor)).is_err());
        }
    }

    #[test]
    fn the_limit_may_change_between_pages() {
        let limited = |limit: &str| Scope::new("/a", &[("limit".to_owned(), limit.to_owned())]);
        let cursor = limited("5").cursor_after(Uuid::nil());
        assert!(limited("50").position(Some(&cursor)).is_ok());
    }
}
