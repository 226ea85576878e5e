//! The order of a list: by one key, and by id where two rows have the same, so that every order is
//! total.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, de::Error};
use utoipa::{
    IntoParams,
    openapi::{
        ObjectBuilder, Required,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::Type,
    },
};

use super::{Listed, cursor::Position};
use crate::values::{Date, Invalid, Timestamp};

/// What a list can be sorted by.
#[derive(Debug, PartialEq, Eq)]
pub struct SortKey {
    /// As `sort` names it.
    name: &'static str,
    /// In SQL, as its index has it. Never NULL: a comparison with NULL would end the list.
    pub(super) expression: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Date,
    Timestamp,
}

impl SortKey {
    #[must_use]
    pub const fn text(name: &'static str, expression: &'static str) -> Self {
        Self {
            name,
            expression,
            kind: Kind::Text,
        }
    }

    /// A date that may be `infinity`.
    #[must_use]
    pub const fn date(name: &'static str, expression: &'static str) -> Self {
        Self {
            name,
            expression,
            kind: Kind::Date,
        }
    }

    #[must_use]
    pub const fn timestamp(name: &'static str, expression: &'static str) -> Self {
        Self {
            name,
            expression,
            kind: Kind::Timestamp,
        }
    }

    pub(super) const fn sql_type(&self) -> &'static str {
        match self.kind {
            Kind::Text => "text",
            Kind::Date => "date",
            Kind::Timestamp => "timestamptz",
        }
    }

    /// Whether Postgres reads `value` as one of this key.
    fn accepts(&self, value: &str) -> bool {
        match self.kind {
            Kind::Text => !value.contains('\0'),
            Kind::Date => value == "infinity" || value.parse::<Date>().is_ok(),
            Kind::Timestamp => value.parse::<Timestamp>().is_ok(),
        }
    }
}

/// The order of a list; without a key, that of the ids.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub(super) key: Option<&'static SortKey>,
    pub(super) descending: bool,
}

impl Default for Order {
    /// Newest first: an id begins with the time at which it was made.
    fn default() -> Self {
        Self {
            key: None,
            descending: true,
        }
    }
}

impl Order {
    #[must_use]
    pub const fn descending(key: &'static SortKey) -> Self {
        Self {
            key: Some(key),
            descending: true,
        }
    }

    /// Whether `position` can be one of this order.
    pub(super) fn has(&self, position: &Position) -> bool {
        match (self.key, &position.sort_value) {
            (Some(key), Some(value)) => key.accepts(value),
            (None, None) => true,
            _ => false,
        }
    }
}

/// The parameter `sort`: one of the keys of `R`, with `-` in front for descending.
#[derive(Debug, Deserialize)]
#[serde(bound = "")]
pub struct Sorting<R: Listed> {
    #[serde(rename = "sort", default, deserialize_with = "order_of::<R, _>")]
    pub(super) order: Option<Order>,
    #[serde(skip)]
    of: PhantomData<fn() -> R>,
}

fn order_of<'de, R: Listed, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Order>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let (name, descending) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text.as_str(), false),
    };
    let key = R::SORT_KEYS.iter().find(|key| key.name == name);
    let key = key.ok_or_else(|| {
        let detail = format!("One of {} is expected.", words::<R>().join(", "));
        D::Error::custom(Invalid::new("invalid", detail))
    })?;
    Ok(Some(Order {
        key: Some(key),
        descending,
    }))
}

fn words<R: Listed>() -> Vec<String> {
    R::SORT_KEYS
        .iter()
        .flat_map(|key| [key.name.to_owned(), format!("-{}", key.name)])
        .collect()
}

impl<R: Listed> IntoParams for Sorting<R> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let schema = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(words::<R>()));
        let description = "What to sort by, with `-` in front for descending. Rows that have the same \
                           stand by id, in the same direction. Where it is not given, the newest come \
                           first, by id.";
        let sort = ParameterBuilder::new()
            .name("sort")
            .parameter_in(ParameterIn::Query)
            .required(Required::False)
            .description(Some(description))
            .schema(Some(schema));
        vec![sort.build()]
    }
}
