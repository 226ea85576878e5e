//! A page of a list.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

use super::cursor::Cursor;
use crate::values::Invalid;

/// A whole number from 1 to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Natural<const MAX: u32>(u32);

impl<const MAX: u32> Natural<MAX> {
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<'de, const MAX: u32> Deserialize<'de> for Natural<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits
            .then(|| text.parse().ok())
            .flatten()
            .filter(|number| (1..=MAX).contains(number))
            .map(Self)
            .ok_or_else(|| {
                let detail = format!("A whole number from 1 to {MAX} is expected.");
                D::Error::custom(Invalid::new("out_of_range", detail))
            })
    }
}

impl<const MAX: u32> PartialSchema for Natural<MAX> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX))
            .into()
    }
}

impl<const MAX: u32> ToSchema for Natural<MAX> {}

/// How many rows are read at most: 1 to `MAX`, `DEFAULT` where it is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Limit<const DEFAULT: u32, const MAX: u32>(Natural<MAX>);

impl<const DEFAULT: u32, const MAX: u32> Limit<DEFAULT, MAX> {
    #[must_use]
    pub fn rows(self) -> u32 {
        self.0.get()
    }
}

impl<const DEFAULT: u32, const MAX: u32> Default for Limit<DEFAULT, MAX> {
    fn default() -> Self {
        Self(Natural(DEFAULT))
    }
}

impl<const DEFAULT: u32, const MAX: u32> PartialSchema for Limit<DEFAULT, MAX> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX))
            .default(Some(DEFAULT.into()))
            .into()
    }
}

impl<const DEFAULT: u32, const MAX: u32> ToSchema for Limit<DEFAULT, MAX> {}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<R> {
    /// The rows, in the order of the list.
    pub data: Vec<R>,
    pub page: PageInfo,
}

/// Where a page stands in its list.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageInfo {
    /// Give it as `cursor`, with the same filters and `sort`, for the next page; null on the last
    /// one.
    #[schema(required, value_type = Option<Cursor>)]
    pub next_cursor: Option<String>,
    /// Give it as `cursor`, with the same filters and `sort`, for the page before; null on the first
    /// one.
    #[schema(required, value_type = Option<Cursor>)]
    pub prev_cursor: Option<String>,
    /// Rows on all pages together; only where `count` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    pub total: Option<i64>,
    /// Whether `total` was counted, in the moment in which the page was read, or estimated; where
    /// the list ends on the page, it was counted. Only where `count` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total_kind: Option<Count>,
}

/// How rows are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    Exact,
    Estimated,
}
