//! The part of a list that a request asks for, and the answer with it.

use axum::{
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use sqlx::PgPool;

use super::{
    Listed, Paging, Selection,
    cursor::{self, Place, Scope, foreign},
    form::{Format, not_an_event},
    links::Address,
    order::Order,
    page::{Count, Natural, Page, PageInfo},
    stream::{self, Streaming},
    window::{Positioned, Rows, Start, Window, estimate},
};
use crate::{
    http::{
        extract::{Json, canonical_path},
        views::Visible,
    },
    problem::{Code, FieldError, Problem},
};

/// Rows on a page where the request does not say how many.
const DEFAULT_ROWS: u32 = 50;
/// Rows on a page at most. A stream has as many as are wanted.
const MAX_ROWS: u32 = 500;
/// How far into a list a page may reach by its number: the rows in front of it are read as well.
const MAX_DEPTH: u32 = 10_000;

/// The part of a list that a request asks for.
#[derive(Debug)]
pub struct View<R> {
    window: Window<R>,
    /// Where pages are numbered, which one it is.
    number: Option<u32>,
    count: Option<Count>,
    scope: Scope,
    address: Address,
    form: Form,
}

/// What the answer is.
#[derive(Debug)]
pub(super) enum Form {
    Page,
    /// All rows, or so many.
    Stream(Streaming, Option<u32>),
    /// What a stream would begin with.
    HeaderOnly(Format),
    /// Nothing is left to be streamed.
    Ended,
}

impl<R: Listed> View<R> {
    pub(super) fn new(
        order: Order,
        paging: Paging,
        form: Form,
        uri: &Uri,
        query: Vec<(String, String)>,
        visible: &Visible,
    ) -> Result<Self, Problem> {
        match form {
            Form::Page => check_rows(&paging)?,
            _ => check_stream(&paging)?,
        }
        let number = page_number(&paging)?;
        let scope = Scope::new(&canonical_path(uri), &query);
        let limit = paging.limit.map(Natural::get);
        let size = paging.size.map(Natural::get);
        let rows = limit.or(size).unwrap_or(DEFAULT_ROWS);
        let start = match paging.cursor {
            Some(cursor) => {
                let foreign = || {
                    if paging.resumed {
                        not_an_event()
                    } else {
                        foreign()
                    }
                };
                let place = scope.place(cursor).map_err(|_| foreign())?;
                let streamed_backward = place.backward && !matches!(form, Form::Page);
                if !order.has(&place.position) || streamed_backward {
                    return Err(foreign());
                }
                Start::At(place)
            }
            None => Start::Offset((number.unwrap_or(1) - 1) * rows),
        };
        Ok(Self {
            window: Window::new(order, start, rows, visible),
            number,
            count: paging.count,
            scope,
            address: Address::new(uri.path(), query),
            form,
        })
    }

    /// Answers with the list of what `selection` has.
    ///
    /// # Errors
    /// [`Selection::ABSENT`] if the list itself is not there.
    pub async fn answer<S: Selection + Send + 'static>(
        self,
        pool: &PgPool,
        selection: S,
    ) -> Result<Response, Problem>
    where
        R: Serialize + 'static,
    {
        let answer = match self.form {
            Form::Page => {
                let rows = self.read(pool, &selection).await?;
                rows.map(|rows| self.page(rows))
            }
            Form::Stream(streaming, limit) => {
                stream::stream(pool, selection, self.window, limit, self.scope, streaming).await?
            }
            Form::HeaderOnly(format) => {
                let there = self.window.parent_is_there(pool, &selection).await?;
                there.then(|| stream::header_only::<R>(format))
            }
            Form::Ended => Some(StatusCode::NO_CONTENT.into_response()),
        };
        let mut answer = answer.ok_or(S::ABSENT)?;
        let varies = HeaderValue::from_static("accept");
        answer.headers_mut().append(header::VARY, varies);
        Ok(answer)
    }

    /// Reads the page; none if the list itself is not there.
    async fn read(
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
    fn page(&self, rows: Rows<R>) -> Response
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
        ([(header::LINK, links)], Json(page)).into_response()
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
        let by_number = |relation, number: u32| {
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
fn reaches(number: u32, rows: u32) -> bool {
    number * rows <= MAX_DEPTH
}

/// A page has a bound that a stream has not.
fn check_rows(paging: &Paging) -> Result<(), Problem> {
    if paging.limit.is_none_or(|rows| rows.get() <= MAX_ROWS) {
        return Ok(());
    }
    let detail = format!(
        "A page has at most {MAX_ROWS} rows; `format=ndjson` and other forms that are streamed take more."
    );
    let error = FieldError::at_parameter("limit", "out_of_range", detail);
    Err(Problem::from(Code::InvalidParameter).with_errors(vec![error]))
}

/// A stream has no pages, and tells at its end how many rows it had.
fn check_stream(paging: &Paging) -> Result<(), Problem> {
    let given = [
        ("page", paging.page.is_some()),
        ("size", paging.size.is_some()),
        ("count", paging.count.is_some()),
    ];
    let errors: Vec<_> = given
        .into_iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| {
            let detail = "Only a list that is answered as JSON has pages.";
            FieldError::at_parameter(name, "conflict", detail)
        })
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(Problem::from(Code::InvalidParameter).with_errors(errors))
}

/// The number of the page, where pages are numbered.
fn page_number(paging: &Paging) -> Result<Option<u32>, Problem> {
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
