//! How many lists may be streamed at the same time.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::problem::{Code, Problem};

/// The bounds of all streams together: each holds a connection to the database for as long as its
/// client reads.
#[derive(Debug, Clone)]
pub struct Streams {
    places: Arc<Semaphore>,
    /// How long a request waits for a place.
    wait: Duration,
    /// How long a stream of events is silent before it says that it is still there.
    pub(super) heartbeat: Duration,
    /// How long the database may be silent in the middle of a list.
    pub silence: Duration,
}

impl Streams {
    #[must_use]
    pub fn new(max: usize, wait: Duration, heartbeat: Duration, silence: Duration) -> Self {
        Self {
            places: Arc::new(Semaphore::new(max)),
            wait,
            heartbeat,
            silence,
        }
    }

    /// # Errors
    /// [`Code::TooManyStreams`].
    pub async fn enter(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = timeout(self.wait, self.places.clone().acquire_owned()).await;
        // The semaphore is never closed.
        place
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| Code::TooManyStreams.into())
    }
}
