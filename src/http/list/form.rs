//! In which form a list is answered: one list, four forms.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::negotiate::choose;
use crate::problem::{Code, FieldError, Problem};

/// `Last-Event-ID` behind the last event: there is nothing left to resume.
pub(super) const END: &str = "end";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The form of a list, where it is not chosen by `Accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A page, as JSON.
    Json,
    /// The whole list, an object in each line.
    Ndjson,
    /// The whole list, for spreadsheets (RFC 4180).
    Csv,
    /// The whole list, as Server-Sent Events.
    Sse,
}

impl Format {
    const ALL: [Self; 4] = [Self::Json, Self::Ndjson, Self::Csv, Self::Sse];

    /// What `format` says, or else what the client likes best.
    ///
    /// # Errors
    /// [`Code::NotAcceptable`] if it likes none.
    pub(super) fn of(headers: &HeaderMap, asked: Option<Self>) -> Result<Self, Problem> {
        if let Some(format) = asked {
            return Ok(format);
        }
        let offers = Self::ALL.map(Self::essence);
        let chosen = choose(headers, &offers).and_then(|chosen| {
            let mut all = Self::ALL.into_iter();
            all.find(|format| format.essence() == chosen)
        });
        chosen.ok_or_else(|| {
            let detail = format!("This list is there as {}.", offers.join(", "));
            Problem::from(Code::NotAcceptable).with_detail(detail)
        })
    }

    const fn essence(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Sse => "text/event-stream",
        }
    }

    pub(super) fn media_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            other => other.essence(),
        })
    }

    /// The end of a file's name, for the forms that are saved as files.
    pub(super) const fn extension(self) -> Option<&'static str> {
        match self {
            Self::Ndjson => Some("ndjson"),
            Self::Csv => Some("csv"),
            Self::Json | Self::Sse => None,
        }
    }
}

/// Where a client of events stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LastEvent {
    /// Behind the row that this cursor stands for.
    Row(String),
    End,
}

impl LastEvent {
    /// # Errors
    /// [`Code::InvalidHeader`] if it is no text at all.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(value) = headers.get(LAST_EVENT_ID) else {
            return Ok(None);
        };
        match value.to_str() {
            Ok("") => Ok(None),
            Ok(END) => Ok(Some(Self::End)),
            Ok(cursor) => Ok(Some(Self::Row(cursor.to_owned()))),
            Err(_) => Err(not_an_event()),
        }
    }
}

/// What `Last-Event-ID` is refused with.
pub(super) fn not_an_event() -> Problem {
    let detail = "This is not the id of an event of this list; start again without it.";
    let error = FieldError::at_header(LAST_EVENT_ID.as_str(), "invalid", detail);
    Problem::from(Code::InvalidHeader).with_errors(vec![error])
}
