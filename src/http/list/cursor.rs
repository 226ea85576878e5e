//! Opaque positions in a list.

use std::iter;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, de::Error};
use sha2::{Digest, Sha256};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};
use uuid::Uuid;

use crate::{
    http::views::FIELDS,
    problem::{Code, FieldError, Problem},
    values::Invalid,
};

/// First byte of every cursor that is given out. Those of version 1, which know no order but newest
/// first and no way but forward, are read for ever.
const VERSION: u8 = 2;
const CHECK_LENGTH: usize = 8;

/// Flags in the second byte.
const BACKWARD: u8 = 1;
const INCLUSIVE: u8 = 2;
const SORTED: u8 = 4;

/// Where a row stands in the order of its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The row's sort key as text; none in the order of the ids.
    pub sort_value: Option<String>,
    pub id: Uuid,
}

/// A place in a list, between two rows, and the way to read from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub position: Position,
    /// Towards the beginning of the list.
    pub backward: bool,
    /// Whether the row at the position, if it is still there, is the first to be read.
    pub inclusive: bool,
}

impl Place {
    #[must_use]
    pub fn after(position: Position) -> Self {
        Self {
            position,
            backward: false,
            inclusive: false,
        }
    }

    #[must_use]
    pub fn before(position: Position) -> Self {
        Self {
            position,
            backward: true,
            inclusive: false,
        }
    }

    /// The same place, read the other way.
    #[must_use]
    pub fn turned(&self) -> Self {
        Self {
            position: self.position.clone(),
            backward: !self.backward,
            inclusive: !self.inclusive,
        }
    }

    fn encode(&self, version: u8) -> Vec<u8> {
        let Position { sort_value, id } = &self.position;
        if version == 1 {
            return id.as_bytes().to_vec();
        }
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.backward, BACKWARD)
            | flag(self.inclusive, INCLUSIVE)
            | flag(sort_value.is_some(), SORTED);
        let value = sort_value.as_deref().unwrap_or_default();
        [&[flags], id.as_bytes().as_slice(), value.as_bytes()].concat()
    }

    fn decode(version: u8, bytes: &[u8]) -> Option<Self> {
        let (flags, bytes) = match version {
            1 => (0, bytes),
            VERSION => bytes.split_first().map(|(flags, rest)| (*flags, rest))?,
            _ => return None,
        };
        let (id, value) = bytes.split_first_chunk()?;
        let value = str::from_utf8(value).ok()?;
        let sorted = flags & SORTED != 0;
        let unknown = flags & !(BACKWARD | INCLUSIVE | SORTED) != 0;
        if unknown || (!sorted && !value.is_empty()) {
            return None;
        }
        Some(Self {
            position: Position {
                sort_value: sorted.then(|| value.to_owned()),
                id: Uuid::from_bytes(*id),
            },
            backward: flags & BACKWARD != 0,
            inclusive: flags & INCLUSIVE != 0,
        })
    }
}

/// What a list is, apart from the place in it: its path, its filters and its order.
#[derive(Debug, Clone)]
pub struct Scope(Sha256);

impl Scope {
    /// Parameters that do not change what is listed.
    const FORM: [&str; 7] = ["cursor", "limit", "page", "size", "count", "format", FIELDS];

    pub(super) fn new(path: &str, query: &[(String, String)]) -> Self {
        let mut filters: Vec<_> = query
            .iter()
            .filter(|(name, _)| !Self::FORM.contains(&name.as_str()))
            .collect();
        filters.sort();
        let mut hash = Sha256::new();
        for part in iter::once(path).chain(
            filters
                .iter()
                .flat_map(|(name, value)| [name.as_str(), value]),
        ) {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        Self(hash)
    }

    fn check(&self, version: u8, place: &Place) -> [u8; CHECK_LENGTH] {
        let digest = self
            .0
            .clone()
            .chain_update([version])
            .chain_update(place.encode(version))
            .finalize();
        let mut check = [0; CHECK_LENGTH];
        check.copy_from_slice(&digest[..CHECK_LENGTH]);
        check
    }

    #[must_use]
    pub fn cursor(&self, place: Place) -> Cursor {
        Cursor {
            version: VERSION,
            check: self.check(VERSION, &place),
            place,
        }
    }

    /// The place that `cursor` stands for.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] if the cursor is of another list or was altered: a wrong page would be
    /// worse than none.
    pub fn place(&self, cursor: Cursor) -> Result<Place, Problem> {
        if cursor.check == self.check(cursor.version, &cursor.place) {
            Ok(cursor.place)
        } else {
            Err(foreign())
        }
    }
}

pub(super) fn foreign() -> Problem {
    let error = FieldError::at_parameter(
        "cursor",
        "invalid_cursor",
        "This cursor belongs to another list, other filters or another order; start again without it.",
    );
    Problem::from(Code::InvalidParameter).with_errors(vec![error])
}

/// A place in a list, with a check that binds it to that list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    version: u8,
    place: Place,
    check: [u8; CHECK_LENGTH],
}

impl Cursor {
    /// Whether it is of the order of the ids.
    pub(super) fn is_by_id(&self) -> bool {
        self.place.position.sort_value.is_none()
    }

    fn decode(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (version, rest) = bytes.split_first()?;
        let (place, check) = rest.split_last_chunk()?;
        Some(Self {
            version: *version,
            place: Place::decode(*version, place)?,
            check: *check,
        })
    }
}

impl std::str::FromStr for Cursor {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::decode(text).ok_or_else(|| {
            let detail = "This is not a cursor of this service; start again without it.";
            Invalid::new("invalid_cursor", detail)
        })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.place.encode(self.version);
        let bytes = [&[self.version], place.as_slice(), &self.check].concat();
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
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope(path: &str, filter: &str) -> Scope {
        Scope::new(path, &[("status".to_owned(), filter.to_owned())])
    }

    fn of_version_1(scope: &Scope, id: Uuid) -> Cursor {
        let place = Place::after(Position {
            sort_value: None,
            id,
        });
        Cursor {
            version: 1,
            check: scope.check(1, &place),
            place,
        }
    }

    fn any_place() -> impl Strategy<Value = Place> {
        (
            any::<u128>(),
            any::<Option<String>>(),
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(|(id, sort_value, backward, inclusive)| Place {
                position: Position {
                    sort_value,
                    id: Uuid::from_u128(id),
                },
                backward,
                inclusive,
            })
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_place(place in any_place(), path in "[a-z/]{1,20}") {
            let scope = scope(&path, "active");
            let text = scope.cursor(place.clone()).to_string();
            let cursor = Cursor::decode(&text).expect("own cursor");
            prop_assert_eq!(scope.place(cursor).expect("own scope"), place);
        }

        #[test]
        fn an_altered_cursor_leads_nowhere(place in any_place(), at: prop::sample::Index, bit in 0..8_u8) {
            let scope = scope("/list", "active");
            let old = of_version_1(&scope, place.position.id);
            for text in [scope.cursor(place).to_string(), old.to_string()] {
                let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(text).expect("base64");
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
                let altered = Cursor::decode(&BASE64_URL_SAFE_NO_PAD.encode(&bytes));
                prop_assert!(altered.is_none_or(|cursor| scope.place(cursor).is_err()));
                bytes[at] ^= 1 << bit;
                let cut = Cursor::decode(&BASE64_URL_SAFE_NO_PAD.encode(&bytes[..at]));
                prop_assert!(cut.is_none_or(|cursor| scope.place(cursor).is_err()));
            }
        }

        #[test]
        fn text_that_is_no_cursor_is_refused(text in ".{0,60}") {
            if let Some(cursor) = Cursor::decode(&text) {
                prop_assert!(scope("/list", "active").place(cursor).is_err());
            }
        }

        #[test]
        fn a_place_that_is_turned_twice_is_the_same(place in any_place()) {
            prop_assert_eq!(place.turned().turned(), place);
        }
    }

    #[test]
    fn a_cursor_of_another_list_or_filter_is_refused() {
        let cursor = of_version_1(&scope("/a", "active"), Uuid::nil());
        for other in [
            scope("/b", "active"),
            scope("/a", "ended"),
            Scope::new("/a", &[]),
        ] {
            assert!(other.place(cursor.clone()).is_err());
        }
    }

    #[test]
    fn what_does_not_change_the_list_may_change_between_pages() {
        let cursor = of_version_1(&Scope::new("/a", &[]), Uuid::nil());
        for name in Scope::FORM {
            let scope = Scope::new("/a", &[(name.to_owned(), "5".to_owned())]);
            assert!(scope.place(cursor.clone()).is_ok(), "{name}");
        }
    }
}
