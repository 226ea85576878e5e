//! A page of a list.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};
use uuid::Uuid;

use super::cursor::{Cursor, Scope};
use crate::values::Invalid;

/// How many rows a page holds at most: 1 to `MAX`, `DEFAULT` where it is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit<const DEFAULT: u16, const MAX: u16>(u16);

impl<const DEFAULT: u16, const MAX: u16> Limit<DEFAULT, MAX> {
    /// The number of rows to ask the database for: one more than wanted tells whether more follow.
    #[must_use]
    pub fn and_one(self) -> i64 {
        i64::from(self.0) + 1
    }

    #[must_use]
    pub fn rows(self) -> i64 {
        i64::from(self.0)
    }
}

impl<const DEFAULT: u16, const MAX: u16> Default for Limit<DEFAULT, MAX> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<'de, const DEFAULT: u16, const MAX: u16> Deserialize<'de> for Limit<DEFAULT, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits
            .then(|| text.parse().ok())
            .flatten()
            .filter(|rows| (1..=MAX).contains(rows))
            .map(Self)
            .ok_or_else(|| {
                let detail = format!("A whole number from 1 to {MAX} is expected.");
                D::Error::custom(Invalid::new("out_of_range", detail))
            })
    }
}

impl<const DEFAULT: u16, const MAX: u16> PartialSchema for Limit<DEFAULT, MAX> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX))
            .default(Some(DEFAULT.into()))
            .into()
    }
}

impl<const DEFAULT: u16, const MAX: u16> ToSchema for Limit<DEFAULT, MAX> {}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// The rows, in the order of the list.
    pub data: Vec<T>,
    pub page: PageInfo,
}

/// Where a page stands in its list.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageInfo {
    /// Give it as `cursor`, with the same filters, for the next page; null on the last one.
    #[schema(required, value_type = Option<Cursor>)]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page of rows that were asked for with [`Limit::and_one`].
    pub fn new<const DEFAULT: u16, const MAX: u16>(
        mut rows: Vec<T>,
        limit: Limit<DEFAULT, MAX>,
        scope: &Scope,
        id: impl Fn(&T) -> Uuid,
    ) -> Self {
        let wanted = usize::from(limit.0);
        let more = rows.len() > wanted;
        rows.truncate(wanted);
        let last = rows.last().filter(|_| more);
        let next_cursor = last.map(|row| scope.cursor_after(id(row)).to_string());
        Self {
            data: rows,
            page: PageInfo { next_cursor },
        }
    }
}
