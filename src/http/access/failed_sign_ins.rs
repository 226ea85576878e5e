//! Keys that opened nothing, counted by where they came from.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    http::client_address::ClientAddress,
    problem::{Code, Problem},
};

const WINDOW: Duration = Duration::from_mins(1);
/// How many addresses are told apart; those that come when there are more share one count.
const MAX_ADDRESSES: usize = 100_000;

/// How many sign-ins of each address have failed within the minute. The count is this process's own.
#[derive(Debug, Clone)]
pub struct FailedSignIns {
    /// 0: any number.
    per_minute: u32,
    minute: Arc<Mutex<Minute>>,
}

#[derive(Debug)]
struct Minute {
    begun: Instant,
    /// None: all addresses for which there was no room.
    failures: HashMap<Option<ClientAddress>, u32>,
}

impl FailedSignIns {
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        let minute = Minute {
            begun: Instant::now(),
            failures: HashMap::new(),
        };
        Self {
            per_minute,
            minute: Arc::new(Mutex::new(minute)),
        }
    }

    /// # Errors
    /// [`Code::TooManyFailedSignIns`] if as many have failed as may.
    pub fn check(&self, address: ClientAddress) -> Result<(), Problem> {
        let minute = self.minute();
        let failures = minute.failures.get(&minute.place_of(address));
        if self.per_minute == 0 || failures.is_none_or(|failures| *failures < self.per_minute) {
            return Ok(());
        }
        let left = WINDOW.saturating_sub(minute.begun.elapsed()).as_secs() + 1;
        let mut problem = Problem::from(Code::TooManyFailedSignIns);
        problem.retry_after = u32::try_from(left).ok();
        Err(problem)
    }

    pub fn count(&self, address: ClientAddress) {
        let mut minute = self.minute();
        let place = minute.place_of(address);
        *minute.failures.entry(place).or_default() += 1;
    }

    /// The present minute, the next one if the last is over.
    fn minute(&self) -> MutexGuard<'_, Minute> {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.begun.elapsed() >= WINDOW {
            *minute = Minute {
                begun: Instant::now(),
                failures: HashMap::new(),
            };
        }
        minute
    }
}

impl Minute {
    fn place_of(&self, address: ClientAddress) -> Option<ClientAddress> {
        let room = self.failures.len() < MAX_ADDRESSES;
        (room || self.failures.contains_key(&Some(address))).then_some(address)
    }
}
