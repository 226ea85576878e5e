//! What all lists share. A resource names its columns and its sort keys ([`Listed`]) and writes its
//! filters ([`Selection`]); the rest is here.
//!
//! - [`order`]: by what a list is sorted
//! - [`cursor`]: opaque positions
//! - [`window`]: the statements that read a list
//! - [`view`]: the part that is asked for, and the answer with it
//! - [`form`]: a page, or one of the forms that are streamed
//! - [`page`]: the rows as a page
//! - `links`: where the other pages are
//! - `stream`: all rows, as the database gives them
//! - `encode`: rows as bytes

pub mod cursor;
mod encode;
pub mod form;
mod links;
pub mod order;
pub mod page;
mod stream;
pub mod view;
pub mod window;

use axum::{
    extract::FromRequestParts,
    http::{Method, header, request::Parts},
};
use serde::{Deserialize, de::DeserializeOwned};
use sqlx::{FromRow, Postgres, QueryBuilder, postgres::PgRow};
use utoipa::IntoParams;

use self::{
    cursor::Cursor,
    form::{Format, LastEvent, not_an_event},
    order::{Order, SortKey, Sorting},
    page::{Count, Natural},
    stream::Streaming,
    view::{Form, View},
};
use super::{
    extract::query_parameters,
    layers::RequestId,
    streams::Streams,
    views::{Resource, visible},
};
use crate::{
    problem::{Code, Documents, Problem},
    values::PublicUrl,
};

/// A resource that is listed.
pub trait Listed: for<'r> FromRow<'r, PgRow> + Send {
    /// By name and not by `*`: a column that a later version adds must not change what a statement,
    /// once prepared, answers.
    const COLUMNS: &'static str;
    /// The table, with the alias that the others use.
    const TABLE: &'static str;
    const ID: &'static str;
    const SORT_KEYS: &'static [SortKey];
    /// What one is called, as the name of an event.
    const NAME: &'static str;
    /// The fields as JSON names them, in their order.
    const FIELDS: &'static [&'static str];
    /// As views know it; none if nothing of it can be hidden.
    const RESOURCE: Option<&'static Resource> = None;
    /// Columns that are large and need not be read where their field is hidden: the field, the column as
    /// [`COLUMNS`](Self::COLUMNS) has it, and what stands in its place.
    const WIDE: &'static [(&'static str, &'static str, &'static str)] = &[];
}

/// What conditions are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The rows are read.
    Read,
    /// Nothing is read: the planner tells how many rows it expects.
    Estimate,
}

/// Which rows of its table a list has.
pub trait Selection: Sync {
    /// What it means that there is no such list.
    const ABSENT: Code = Code::RouteNotFound;

    /// Adds the conditions, each with ` AND ` in front.
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose);

    /// The order where the request names none: newest first, in the way in which these filters are
    /// cheap.
    fn default_order(&self) -> Order {
        Order::default()
    }

    /// Adds the `FROM` and `WHERE` of a row without which there is no such list.
    fn push_parent(&self, _query: &mut QueryBuilder<Postgres>) {}
}

/// Which part of a list is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Rows at most. On a page 500 or fewer, 50 where it is not given; in a stream all of them.
    #[serde(default)]
    #[param(inline)]
    limit: Option<Natural<1_000_000_000>>,
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
    /// The form of the answer, for links; else `Accept` chooses it.
    #[serde(default)]
    #[param(inline)]
    format: Option<Format>,
    /// Whether the cursor is that of the client's last event.
    #[serde(skip)]
    resumed: bool,
}

/// The list that a request asks for: its filters, and the view of it.
#[derive(Debug)]
pub struct List<F, R> {
    pub filter: F,
    pub view: View<R>,
}

impl<F, R, S> FromRequestParts<S> for List<F, R>
where
    F: DeserializeOwned + Selection,
    R: Listed,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let (pairs, mut parameters) = query_parameters(parts)?;
        let sorting = parameters.read::<Sorting<R>>();
        let (filter, paging) = (parameters.read::<F>(), parameters.read::<Paging>());
        let (Some(filter), Some(Sorting { order, .. }), Some(mut paging)) =
            (filter, sorting, paging)
        else {
            return Err(parameters.refused());
        };
        let form = form(parts, &mut paging)?;
        let order = order.unwrap_or_else(|| match &paging.cursor {
            // One that was given out while this was the default order still leads on in it.
            Some(cursor) if cursor.is_by_id() => Order::default(),
            _ => filter.default_order(),
        });
        let view = View::new(order, paging, form, &parts.uri, pairs, &visible()?)?;
        Ok(Self { filter, view })
    }
}

/// The form of the answer. Where a client of events goes on, its last event says from where.
fn form(parts: &Parts, paging: &mut Paging) -> Result<Form, Problem> {
    let format = Format::of(&parts.headers, paging.format)?;
    if format == Format::Json {
        return Ok(Form::Page);
    }
    if format == Format::Sse {
        match LastEvent::of(&parts.headers)? {
            Some(LastEvent::End) => return Ok(Form::Ended),
            Some(LastEvent::Row(cursor)) => {
                paging.cursor = Some(cursor.parse().map_err(|_| not_an_event())?);
                paging.resumed = true;
            }
            None => {}
        }
    }
    if parts.method == Method::HEAD {
        return Ok(Form::HeaderOnly(format));
    }
    let set_by_layers = (
        parts.extensions.get::<Streams>(),
        parts.extensions.get::<RequestId>(),
        parts.extensions.get::<PublicUrl>(),
    );
    let (Some(streams), Some(RequestId(request_id)), Some(public_url)) = set_by_layers else {
        return Err(Code::InternalError.into());
    };
    let streaming = Streaming {
        format,
        streams: streams.clone(),
        visible: visible()?,
        documents: Documents {
            request_id: request_id.clone(),
            public_url: public_url.clone(),
        },
        trailers: takes_trailers(parts),
    };
    Ok(Form::Stream(streaming, paging.limit.map(Natural::get)))
}

/// Whether the client reads what stands behind the body (RFC 9110, section 10.1.4).
fn takes_trailers(parts: &Parts) -> bool {
    let lines = parts.headers.get_all(header::TE).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}
