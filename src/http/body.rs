//! The body of a request, read whole and within bounds.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Code, Problem};

/// How much of a body that is too large is read all the same, so that the client is still there to
/// read the answer: a connection that is closed under a sending client is reset.
const MAX_DISCARDED: usize = 16 * 1024 * 1024;
/// How many bodies of the largest size have room in memory at the same time. Further ones wait:
/// thousands of clients that begin a body and do not end it must not fill the machine.
const LARGEST_AT_ONCE: usize = 64;

/// The bounds of all bodies together.
#[derive(Debug, Clone)]
pub struct Bodies {
    /// Bytes of one body.
    max: usize,
    /// Bytes that are free.
    room: Arc<Semaphore>,
}

/// The room that a body takes, until it is dropped.
pub(super) type Place = Option<OwnedSemaphorePermit>;

impl Bodies {
    /// Bounds each body to `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Self {
        let room = max.saturating_mul(LARGEST_AT_ONCE);
        Self {
            max,
            room: Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS))),
        }
    }

    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(Bytes, Place), Problem> {
        if waits_to_send(headers) && body.size_hint().lower() > self.max as u64 {
            // Nothing is on its way yet, and nothing needs to come.
            return Err(Code::ContentTooLarge.into());
        }
        let mut body = Limited::new(body, self.max + MAX_DISCARDED);
        let mut bytes = Vec::new();
        let mut place = None;
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    return Code::ContentTooLarge.into();
                }
                let detail = "The body ends before its time, or its chunks cannot be read.";
                Problem::from(Code::MalformedJson).with_detail(detail)
            })?;
            if let Ok(data) = frame.into_data() {
                length += data.len();
                if length <= self.max {
                    self.make_room(&mut place, data.len()).await;
                    bytes.extend_from_slice(&data);
                }
            }
        }
        if length > self.max {
            let max = self.max;
            let detail = format!("The body holds {length} bytes; at most {max} are read.");
            return Err(Problem::from(Code::ContentTooLarge).with_detail(detail));
        }
        Ok((bytes.into(), place))
    }

    async fn make_room(&self, place: &mut Place, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        if let Ok(more) = self.room.clone().acquire_many_owned(bytes).await {
            match place {
                Some(place) => place.merge(more),
                None => *place = Some(more),
            }
        }
    }
}

/// Whether the client sends the body only when it is told to go on (RFC 9110, section 10.1.1).
fn waits_to_send(headers: &HeaderMap) -> bool {
    headers
        .get(header::EXPECT)
        .is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_body_waits_for_room_until_others_have_gone() {
        let bodies = Bodies::new(1000);
        let read = |bytes: usize| {
            let (headers, body) = (HeaderMap::new(), Body::from(vec![b' '; bytes]));
            let bodies = bodies.clone();
            async move { bodies.read(&headers, body).await }
        };
        let full = |bytes| read(bytes).now_or_never().expect("room").expect("a body");
        let mut held: Vec<_> = (0..LARGEST_AT_ONCE).map(|_| full(1000)).collect();
        assert!(read(1).now_or_never().is_none());
        held.pop();
        assert_eq!(full(1000).0.len(), 1000);
    }
}
