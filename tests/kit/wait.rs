//! Waiting for what comes in its own time.

use std::{
    panic::Location,
    time::{Duration, Instant},
};

/// Generous: what is waited for comes far sooner, or the test fails.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A wait, which fails its test at the deadline.
pub(crate) struct Wait<'a> {
    what: &'a str,
    begin: Instant,
    place: &'static Location<'static>,
}

impl<'a> Wait<'a> {
    #[track_caller]
    pub(crate) fn new(what: &'a str) -> Self {
        Self {
            what,
            begin: Instant::now(),
            place: Location::caller(),
        }
    }

    /// How long to pause before the next look.
    pub(crate) fn pause(&self) -> Duration {
        let Self { what, place, .. } = self;
        assert!(
            self.begin.elapsed() < DEADLINE,
            "{place}: never came true: {what}"
        );
        Duration::from_millis(10)
    }
}

/// Returns when `condition` holds.
#[track_caller]
pub(crate) fn until(
    what: &str,
    mut condition: impl AsyncFnMut() -> bool,
) -> impl Future<Output = ()> {
    let wait = Wait::new(what);
    async move {
        while !condition().await {
            tokio::time::sleep(wait.pause()).await;
        }
    }
}
