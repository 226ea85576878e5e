//! How many requests a client may send (draft-ietf-httpapi-ratelimit-headers).
//!
//! The count is this process's own: of several instances, each lets as many through.

use std::{convert::Infallible, num::NonZeroU32, sync::Arc, time::Duration};

use axum::{
    http::{HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use governor::{
    Quota, RateLimiter, clock::DefaultClock, middleware::StateInformationMiddleware,
    state::keyed::DefaultKeyedStateStore,
};
use tokio::time::sleep;
use utoipa::openapi::{OpenApi, Ref, RefOr, path::Operation};
use uuid::Uuid;

use super::{
    access::GUARDED,
    client_address::ClientAddress,
    openapi::{operations_of, text},
};
use crate::problem::{Code, Problem, responses};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// How often clients that have sent nothing lately are forgotten.
const FORGET_INTERVAL: Duration = Duration::from_secs(10);
/// How many clients are told apart; addresses that come when there are more share one place.
const MAX_CLIENTS: usize = 100_000;

/// Who is counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    Key(Uuid),
    Address(ClientAddress),
    /// All addresses for which there was no room.
    Crowd,
}

/// The requests that each client has left.
#[derive(Debug, Clone)]
pub struct RateLimit(Option<Arc<Limited>>);

#[derive(Debug)]
struct Limited {
    per_second: NonZeroU32,
    limiter: RateLimiter<
        Client,
        DefaultKeyedStateStore<Client>,
        DefaultClock,
        StateInformationMiddleware,
    >,
}

impl RateLimit {
    /// Lets each client send this many requests in a second, all at once if it likes; 0: any number.
    #[must_use]
    pub fn new(per_second: u32) -> Self {
        let limited = NonZeroU32::new(per_second).map(|per_second| Limited {
            per_second,
            limiter: RateLimiter::keyed(Quota::per_second(per_second)).with_middleware(),
        });
        Self(limited.map(Arc::new))
    }

    /// Runs `answer` if the client has a request left, and says in the answer how many are.
    pub async fn run(&self, client: Client, answer: impl Future<Output = Response>) -> Response {
        let Some(limited) = &self.0 else {
            return answer.await;
        };
        let (mut response, left) = match limited.limiter.check_key(&limited.place_of(client)) {
            Ok(state) => (answer.await, state.remaining_burst_capacity()),
            // One is left again within a second, after which the problem says to come back.
            Err(_) => (Problem::from(Code::RateLimited).into_response(), 0),
        };
        let headers = response.headers_mut();
        let policy = format!("\"default\";q={};w=1", limited.per_second);
        for (name, value) in [
            (RATE_LIMIT_POLICY, policy),
            (RATE_LIMIT, format!("\"default\";r={left};t=1")),
        ] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        response
    }

    /// Forgets clients that have all their requests left, for as long as it is polled.
    pub async fn forget_idle(&self) -> Infallible {
        loop {
            sleep(FORGET_INTERVAL).await;
            if let Some(limited) = &self.0 {
                limited.limiter.retain_recent();
            }
        }
    }
}

impl Limited {
    /// There are no more keys than were made, but more addresses than memory.
    fn place_of(&self, client: Client) -> Client {
        match client {
            Client::Address(_) if self.limiter.len() >= MAX_CLIENTS => Client::Crowd,
            client => client,
        }
    }
}

/// Adds the limit to the document.
pub fn document_rate_limit(openapi: &mut OpenApi) {
    let components = openapi.components.get_or_insert_default();
    for (name, description) in [
        (
            "RateLimit-Policy",
            "How many requests (`q`) each access key, or each address without one, may send in how many \
             seconds (`w`); not there if the service's settings have no limit",
        ),
        (
            "RateLimit",
            "How many requests are left (`r`), and in how many seconds all are again (`t`)",
        ),
    ] {
        let header = RefOr::T(text(description));
        components.headers.insert(name.to_owned(), header);
    }
    let guarded = openapi.paths.paths.iter_mut();
    for (_, item) in guarded.filter(|(path, _)| path.starts_with(GUARDED)) {
        operations_of(item).for_each(document_limited);
    }
}

/// The fields are in all answers; they are named where a client looks for them.
fn document_limited(operation: &mut Operation) {
    let answers = &mut operation.responses.responses;
    answers.extend(responses(&[Code::RateLimited, Code::TooManyFailedSignIns]));
    for (status, answer) in answers {
        if let RefOr::T(answer) = answer
            && (status.starts_with('2') || status == "429")
        {
            for name in ["RateLimit-Policy", "RateLimit"] {
                let reference = Ref::new(format!("#/components/headers/{name}"));
                let reference = RefOr::Ref(reference);
                answer.headers.insert(name.to_owned(), reference);
            }
        }
    }
}
