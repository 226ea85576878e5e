//! What all lists share. A resource names its columns and its sort keys ([`Listed`]) and writes its
//! filters ([`Selection`]); the rest is here.
//!
//! - [`order`]: by what a list is sorted
//! - [`cursor`]: opaque positions
//! - [`window`]: the rows that are asked for, as one statement
//! - [`page`]: the rows as a page
//! - `links`: where the other pages are

pub mod cursor;
mod links;
pub mod order;
pub mod page;
pub mod window;

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, header, request::Parts},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder, postgres::PgRow};
use utoipa::IntoParams;

use self::{
    cursor::{Cursor, Place, Scope, foreign},
    links::Address,
    order::{Order, SortKey, Sorting},
    page::{Count, Natural, Page, PageInfo},
    window::{Positioned, Rows, Start, Window, estimate},
};
use super::extract::{Json, query_parameters};
use crate::problem::{Code, FieldError, Problem};

/// Rows on a page where the request does not say how many.
const DEFAULT_ROWS: u16 = 50;
/// How far into a list a page may reach by its number: the rows in front of it are read as well.
const MAX_DEPTH: u16 = 10_000;

/// A resource that is listed.
pub trait Listed: for<'r> FromRow<'r, PgRow> + Send {
    /// By name and not by `*`: a column that a later version adds must not change what a statement,
    /// once prepared, answers.
    const COLUMNS: &'static str;
    /// The table, with the alias that the others use.
    const TABLE: &'static str;
    const ID: &'static str;
    const SORT_KEYS: &'static [SortKey];
}

/// Which rows of its table a list has.
pub trait Selection {
    /// Adds the conditions, each with ` AND ` in front.
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>);

    /// Adds the `FROM` and `WHERE` of a row without which there is no such list.
    fn push_parent(&self, _query: &mut QueryBuilder<Postgres>) {}
}

/// Which part of a list is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Rows on a page; 50 where it is not given.
    #[serde(default)]
    #[param(inline)]
    limit: Option<Natural<500>>,
    /// `next_cursor` or `prev_cursor` of another page, with the same filters and `sort`.
    #[serde(default)]
    cursor: Option<Cursor>,
    /// The page's number, for lists that are leafed through by number; not together with `limit` or
    /// `cursor`. `page` times `size` is at most 10,000: further on, follow `next_cursor`.
    #[serde(default)]
    #[param(inline)]
    page: Option<Natural<10_000>>,
    /// Rows on a numbered page; 50 where it is not given.
    #[serde(default)]
    #[param(inline)]
    size: Option<Natural<500>>,
    /// Whether the answer says how many rows the whole list has: `exact` reads them all, `estimated`
    /// tells what the database expects, and costs nothing.
    #[serde(default)]
    #[param(inline)]
    count: Option<Count>,
}

/// The list that a request asks for: its filters, and the view of it.
#[derive(Debug)]
pub struct List<F, R> {
    pub filter: F,
    pub view: View<R>,
}

/// The page of a list that a request asks for.
#[derive(Debug)]
pub struct View<R> {
    window: Window<R>,
    /// Where pages are numbered, which one it is.
    number: Option<u16>,
    count: Option<Count>,
    scope: Scope,
    address: Address,
}

/// A page as an answer, with links to the others.
pub type PageAnswer<R> = ([(HeaderName, String); 1], Json<Page<R>>);

impl<F, R, S> FromRequestParts<S> for List<F, R>
where
    F: DeserializeOwned,
    R: Listed,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let (pairs, mut parameters) = query_parameters(parts)?;
        let sorting = parameters.read::<Sorting<R>>();
        let (filter, paging) = (parameters.read(), parameters.read());
        let (Some(filter), Some(Sorting { order, .. }), Some(paging)) = (filter, sorting, paging)
        else {
            return Err(parameters.refused());
        };
        let view = View::new(order, paging, parts.uri.path(), pairs)?;
        Ok(Self { filter, view })
    }
}

impl<R: Listed> View<R> {
    fn new(
        order: Order,
        paging: Paging,
        path: &str,
        query: Vec<(String, String)>,
    ) -> Result<Self, Problem> {
        let number = page_number(&paging)?;
        let scope = Scope::new(path, &query);
        let rows = paging.limit.or(paging.size);
        let rows = rows.map_or(DEFAULT_ROWS, Natural::get);
        let start = match paging.cursor {
            Some(cursor) => {
                let place = scope.place(cursor)?;
                if !order.has(&place.position) {
                    return Err(foreign());
                }
                Start::At(place)
            }
            None => Start::Offset((number.unwrap_or(1) - 1) * rows),
        };
        Ok(Self {
            window: Window::new(order, start, rows),
            number,
            count: paging.count,
            scope,
            address: Address::new(path, query),
        })
    }

    /// Reads the page; none if the list itself is not there.
    pub async fn read(
        &self,
        pool: &PgPool,
        selection: &impl Selection,
    ) -> sqlx::Result<Option<Rows<R>>> {
        let exact = self.count == Some(Count::Exact);
        let read = self.window.read(pool, selection, exact).await?;
        let Some(mut rows) = read else {
            return Ok(None);
        };
        if self.count == Some(Count::Estimated) && self.counted(&rows).is_none() {
            rows.total = Some(estimate::<R>(pool, selection).await?);
        }
        Ok(Some(rows))
    }

    /// How many rows the list has, if the page shows it: it holds the last one, and how many are in
    /// front of it is known.
    fn counted(&self, rows: &Rows<R>) -> Option<i64> {
        let Start::Offset(before) = self.window.start else {
            return None;
        };
        let ends = !rows.more && (before == 0 || !rows.positioned.is_empty());
        let on_page = i64::try_from(rows.positioned.len()).ok()?;
        ends.then_some(i64::from(before) + on_page)
    }

    fn total(&self, rows: &Rows<R>) -> Option<(i64, Count)> {
        let asked = self.count?;
        match self.counted(rows) {
            Some(total) => Some((total, Count::Exact)),
            None => rows.total.map(|total| (total, asked)),
        }
    }

    /// Makes the answer of what was read.
    #[must_use]
    pub fn page(&self, rows: Rows<R>) -> PageAnswer<R>
    where
        R: Serialize,
    {
        let total = self.total(&rows);
        let cursor = |place| self.scope.cursor(place).to_string();
        let prev_cursor = self.place_before(&rows).map(cursor);
        let next_cursor = self.place_behind(&rows).map(cursor);
        let links = self.links(prev_cursor.as_deref(), next_cursor.as_deref());
        let info = PageInfo {
            next_cursor,
            prev_cursor,
            total: total.map(|(total, _)| total),
            total_kind: total.map(|(_, kind)| kind),
        };
        let page = Page {
            data: rows.into_rows(),
            page: info,
        };
        ([(header::LINK, links)], Json(page))
    }

    /// The place in front of the page, unless nothing is known to be there. Where the page is empty,
    /// it is where it was read from.
    fn place_before(&self, rows: &Rows<R>) -> Option<Place> {
        let first = rows.positioned.first().map(position);
        let first = first.map(Place::before);
        match &self.window.start {
            Start::Offset(0) => None,
            Start::Offset(_) => first,
            Start::At(place) if place.backward => first.filter(|_| rows.more),
            Start::At(place) => first.or_else(|| Some(place.turned())),
        }
    }

    /// As [`place_before`](Self::place_before), behind the page.
    fn place_behind(&self, rows: &Rows<R>) -> Option<Place> {
        let last = rows.positioned.last().map(position);
        let last = last.map(Place::after);
        match &self.window.start {
            Start::At(place) if place.backward => last.or_else(|| Some(place.turned())),
            _ => last.filter(|_| rows.more),
        }
    }

    fn links(&self, prev: Option<&str>, next: Option<&str>) -> String {
        let rows = self.window.rows;
        // From a numbered page one goes on by number as far as numbers go, and then by cursor.
        let by_number = |relation, number: u16| {
            let number = Some(number.to_string());
            self.address.link(relation, &[("page", number)])
        };
        let by_cursor = |relation, cursor: Option<&str>| {
            let limit = Some(rows.to_string());
            let cursor = cursor.map(str::to_owned);
            let changed = [
                ("page", None),
                ("size", None),
                ("limit", limit),
                ("cursor", cursor),
            ];
            self.address.link(relation, &changed)
        };
        let next = next.map(|cursor| match self.number {
            Some(number) if reaches(number + 1, rows) => by_number("next", number + 1),
            _ => by_cursor("next", Some(cursor)),
        });
        let prev = match self.number {
            Some(number) => (number > 1).then(|| by_number("prev", number - 1)),
            None => prev.map(|cursor| by_cursor("prev", Some(cursor))),
        };
        let first = match self.number {
            Some(_) => by_number("first", 1),
            None => by_cursor("first", None),
        };
        let links: Vec<_> = next.into_iter().chain(prev).chain([first]).collect();
        links.join(", ")
    }
}

fn position<R>(row: &Positioned<R>) -> cursor::Position {
    row.position.clone()
}

/// Whether a page may be asked for by this number.
fn reaches(number: u16, rows: u16) -> bool {
    u32::from(number) * u32::from(rows) <= u32::from(MAX_DEPTH)
}

/// The number of the page, where pages are numbered.
fn page_number(paging: &Paging) -> Result<Option<u16>, Problem> {
    let numbered = [
        ("page", paging.page.is_some()),
        ("size", paging.size.is_some()),
    ];
    let followed = [
        ("limit", paging.limit.is_some()),
        ("cursor", paging.cursor.is_some()),
    ];
    let given = |parameters: [(&'static str, bool); 2]| {
        let given = parameters.into_iter().filter(|(_, given)| *given);
        given.map(|(name, _)| name).collect::<Vec<_>>()
    };
    let (numbered, followed) = (given(numbered), given(followed));
    if numbered.is_empty() {
        return Ok(None);
    }
    if !followed.is_empty() {
        let names = numbered.into_iter().chain(followed);
        let errors = names.map(|name| {
            let detail = "Give either `page` and `size`, or `cursor` and `limit`.";
            FieldError::at_parameter(name, "conflict", detail)
        });
        return Err(Problem::from(Code::InvalidParameter).with_errors(errors.collect()));
    }
    let number = paging.page.map_or(1, Natural::get);
    let rows = paging.size.map_or(DEFAULT_ROWS, Natural::get);
    if !reaches(number, rows) {
        let detail = format!(
            "`page` times `size` is at most {MAX_DEPTH}; to go further, follow `next_cursor` of a page."
        );
        let error = FieldError::at_parameter("page", "too_deep", detail);
        return Err(Problem::from(Code::InvalidParameter).with_errors(vec![error]));
    }
    Ok(Some(number))
}
