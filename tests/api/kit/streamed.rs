//! An answer that is read as it comes.

use http_body_util::BodyExt;
use hyper::{HeaderMap, Response, StatusCode, body::Incoming};
use tokio::time::timeout;

use super::wait::DEADLINE;

pub(crate) struct Streamed {
    pub(crate) headers: HeaderMap,
    pub(crate) trailers: Option<HeaderMap>,
    /// What has come so far.
    pub(crate) text: String,
    body: Incoming,
}

impl Streamed {
    #[track_caller]
    pub(crate) fn new(response: Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        assert_eq!(parts.status, StatusCode::OK);
        Self {
            headers: parts.headers,
            trailers: None,
            text: String::new(),
            body,
        }
    }

    /// Reads more; false at the end, an error if the transfer breaks.
    pub(crate) async fn more(&mut self) -> hyper::Result<bool> {
        let frame = timeout(DEADLINE, self.body.frame()).await;
        let Some(frame) = frame.expect("more, or an end").transpose()? else {
            return Ok(false);
        };
        match frame.into_data() {
            Ok(data) => self.text.push_str(str::from_utf8(&data).expect("UTF-8")),
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
        Ok(true)
    }

    /// Reads until so many lines have come.
    pub(crate) async fn lines(&mut self, count: usize) {
        while self.text.matches('\n').count() < count {
            assert!(self.more().await.expect("more"), "too few: {}", self.text);
        }
    }

    /// Reads the rest.
    pub(crate) async fn rest(&mut self) -> hyper::Result<&str> {
        while self.more().await? {}
        Ok(&self.text)
    }
}

/// An event (HTML, section 9.2.6), as a client sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: String,
}

/// The events in `text`, but for one that is not complete.
pub(crate) fn events(text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut event = Event::default();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            break;
        };
        if line.is_empty() {
            let id = event.id.clone();
            if !event.data.is_empty() {
                events.push(std::mem::take(&mut event));
            }
            event = Event {
                id,
                ..Event::default()
            };
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => value.clone_into(&mut event.id),
            "event" => value.clone_into(&mut event.name),
            "data" => event.data.push_str(value),
            _ => {}
        }
    }
    events
}
