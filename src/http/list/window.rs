//! The statements that read a list: a page as one, which tells all that the page shows, and a stretch
//! of a stream.

use std::{borrow::Cow, marker::PhantomData};

use serde_json::Value;
use sqlx::{
    FromRow, PgExecutor, Postgres, QueryBuilder, Row,
    postgres::PgRow,
    types::{Json, Uuid},
};

use super::{
    Listed, Purpose, Selection,
    cursor::{Place, Position},
    order::Order,
};
use crate::http::views::Visible;

/// Where a window begins.
#[derive(Debug, Clone)]
pub(super) enum Start {
    /// So many rows behind the first.
    Offset(u32),
    At(Place),
}

/// A part of a list, in an order.
#[derive(Debug, Clone)]
pub struct Window<R> {
    pub(super) order: Order,
    pub(super) start: Start,
    /// Rows at most.
    pub(super) rows: u32,
    columns: Cow<'static, str>,
    of: PhantomData<fn() -> R>,
}

/// A row, and where it stands.
#[derive(Debug)]
pub struct Positioned<R> {
    pub row: R,
    pub position: Position,
}

impl<'r, R: FromRow<'r, PgRow>> FromRow<'r, PgRow> for Positioned<R> {
    fn from_row(row: &'r PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            row: R::from_row(row)?,
            position: Position {
                sort_value: row.try_get("sort_value")?,
                id: row.try_get("id")?,
            },
        })
    }
}

/// What was read of a list.
#[derive(Debug)]
pub struct Rows<R> {
    /// In the order of the list.
    pub(super) positioned: Vec<Positioned<R>>,
    /// Whether more follow, in the direction of reading.
    pub(super) more: bool,
    /// How many rows the whole list has, where that was asked for.
    pub(super) total: Option<i64>,
}

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Self {
            positioned: Vec::new(),
            more: false,
            total: None,
        }
    }
}

impl<R> Rows<R> {
    #[must_use]
    pub fn into_rows(self) -> Vec<R> {
        self.positioned.into_iter().map(|row| row.row).collect()
    }
}

impl<R: Listed> Window<R> {
    pub(super) fn new(order: Order, start: Start, rows: u32, visible: &Visible) -> Self {
        let columns = match R::RESOURCE {
            Some(resource) => visible.columns(resource, R::COLUMNS, R::WIDE),
            None => R::COLUMNS.into(),
        };
        Self {
            order,
            start,
            rows,
            columns,
            of: PhantomData,
        }
    }

    #[must_use]
    pub fn newest(rows: u32, visible: &Visible) -> Self {
        Self::new(Order::default(), Start::Offset(0), rows, visible)
    }

    fn backward(&self) -> bool {
        matches!(&self.start, Start::At(place) if place.backward)
    }

    /// Reads the window, and counts the whole list in the same snapshot if `count` says so; none if
    /// the list itself is not there.
    pub async fn read(
        &self,
        executor: impl PgExecutor<'_>,
        selection: &impl Selection,
        count: bool,
    ) -> sqlx::Result<Option<Rows<R>>> {
        let read = self
            .query(selection, count)
            .build()
            .fetch_all(executor)
            .await?;
        let Some(first) = read.first() else {
            return Ok(None);
        };
        let total = first.try_get("total")?;
        let mut rows = Vec::with_capacity(read.len());
        for row in &read {
            if row.try_get::<Option<Uuid>, _>("id")?.is_some() {
                rows.push(Positioned::from_row(row)?);
            }
        }
        let wanted = usize::try_from(self.rows).unwrap_or(usize::MAX);
        let more = rows.len() > wanted;
        rows.truncate(wanted);
        if self.backward() {
            rows.reverse();
        }
        Ok(Some(Rows {
            positioned: rows,
            more,
            total,
        }))
    }

    /// One statement, and so one snapshot, that tells whether the list is there (no row: it is not),
    /// how many rows it has, and which are in the window (a row of nulls: none).
    ///
    /// Asked for apart, a member deleted in between would look like one with an emptied history, and
    /// a total would be of another list than the page.
    fn query(&self, selection: &impl Selection, count: bool) -> QueryBuilder<Postgres> {
        let mut query = QueryBuilder::new("SELECT l.total, r.* FROM (SELECT ");
        if count {
            query.push("(SELECT count(*)");
            push_from::<R>(&mut query, selection, Purpose::Read);
            query.push(")");
        } else {
            query.push("NULL::bigint");
        }
        query.push(" AS total");
        selection.push_parent(&mut query);
        query.push(") l LEFT JOIN (");
        self.push_rows(&mut query, selection, i64::from(self.rows) + 1);
        query.push(") r ON true");
        let key = self.order.key.map(|_| "r.sort_key");
        self.push_order(&mut query, key, "r.id");
        query
    }

    /// The first rows of the window by themselves.
    pub(super) fn stretch(&self, selection: &impl Selection, rows: u32) -> QueryBuilder<Postgres> {
        let mut query = QueryBuilder::new("");
        self.push_rows(&mut query, selection, rows.into());
        query
    }

    /// What follows the row at `position`, in the same order.
    pub(super) fn behind(self, position: Position) -> Self {
        let start = Start::At(Place::after(position));
        Self { start, ..self }
    }

    /// Whether the list itself is there.
    pub(super) async fn parent_is_there(
        &self,
        executor: impl PgExecutor<'_>,
        selection: &impl Selection,
    ) -> sqlx::Result<bool> {
        let mut query = QueryBuilder::new("SELECT true");
        let alone = query.sql().as_str().len();
        selection.push_parent(&mut query);
        if query.sql().as_str().len() == alone {
            return Ok(true);
        }
        let found = query.build().fetch_optional(executor).await?;
        Ok(found.is_some())
    }

    fn push_rows(
        &self,
        query: &mut QueryBuilder<Postgres>,
        selection: &impl Selection,
        limit: i64,
    ) {
        let key = self.order.key.map(|key| key.expression);
        query.push("SELECT ").push(&self.columns);
        match key {
            // As JSON has it: the same text whatever the session's date style, to the microsecond.
            Some(key) => query.push(format_args!(
                ", {key} AS sort_key, to_json({key}) #>> '{{}}' AS sort_value"
            )),
            None => query.push(", NULL AS sort_value"),
        };
        push_from::<R>(query, selection, Purpose::Read);
        if let Start::At(place) = &self.start {
            self.push_place(query, place);
        }
        self.push_order(query, key, R::ID);
        // Bound, and not written out although it is a number: with a limit that is not known, a plan
        // for all values is reckoned dear, and Postgres keeps to one for the values given. What is
        // right for a common value would read the whole table for a rare one.
        query.push(" LIMIT ").push_bind(limit);
        if let Start::Offset(rows @ 1..) = self.start {
            query.push(" OFFSET ").push_bind(i64::from(rows));
        }
    }

    /// As one comparison of rows, which an index on key and id answers from the place on.
    fn push_place(&self, query: &mut QueryBuilder<Postgres>, place: &Place) {
        let Position { sort_value, id } = &place.position;
        let comparison = match (self.falls(), place.inclusive) {
            (true, true) => "<=",
            (true, false) => "<",
            (false, true) => ">=",
            (false, false) => ">",
        };
        match self.order.key {
            Some(key) => query
                .push(format_args!(
                    " AND ({}, {}) {comparison} (",
                    key.expression,
                    R::ID
                ))
                .push_bind(sort_value.clone())
                .push(format_args!("::{}, ", key.sql_type()))
                .push_bind(*id)
                .push(")"),
            None => query
                .push(format_args!(" AND {} {comparison} ", R::ID))
                .push_bind(*id),
        };
    }

    fn push_order(&self, query: &mut QueryBuilder<Postgres>, key: Option<&str>, id: &str) {
        let direction = if self.falls() { "DESC" } else { "ASC" };
        query.push(" ORDER BY ");
        if let Some(key) = key {
            query.push(format_args!("{key} {direction}, "));
        }
        query.push(format_args!("{id} {direction}"));
    }

    /// Whether the rows are read from the greatest to the least.
    fn falls(&self) -> bool {
        self.order.descending != self.backward()
    }
}

fn push_from<R: Listed>(
    query: &mut QueryBuilder<Postgres>,
    selection: &impl Selection,
    purpose: Purpose,
) {
    query.push(" FROM ").push(R::TABLE).push(" WHERE true");
    selection.push_filters(query, purpose);
}

/// How many rows the planner expects the list to have. Nothing is read for it.
pub(super) async fn estimate<R: Listed>(
    executor: impl PgExecutor<'_>,
    selection: &impl Selection,
) -> sqlx::Result<i64> {
    let mut query = QueryBuilder::new("EXPLAIN (FORMAT JSON) SELECT 1");
    push_from::<R>(&mut query, selection, Purpose::Estimate);
    let Json(plan): Json<Value> = query.build_query_scalar().fetch_one(executor).await?;
    let rows = plan[0]["Plan"]["Plan Rows"].as_f64();
    #[expect(clippy::cast_possible_truncation, reason = "a number of rows")]
    Ok(rows.unwrap_or_default() as i64)
}
