//! What happens to every request, from the outside in: an id, a log line and the answer's end, the host that
//! it is for, a place among those that run, the limits of the header, the body read whole, a deadline, and
//! writes kept from being cancelled.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span, error, info, info_span};
use uuid::Uuid;

use super::{body::Bodies, conditional::Demanded, host::Hosts, server::Shutdown};
use crate::{
    problem::{Code, Problem, render},
    values::PublicUrl,
};

/// Bytes of the path and query of a URI.
const MAX_URI: usize = 8 * 1024;
/// Bytes of all header fields together.
const MAX_HEADER: usize = 32 * 1024;
/// How often a write is run that others are in the way of. Each time, one of those gets through.
const WRITE_ATTEMPTS: usize = 10;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The bounds of a request, and where running writes are counted.
#[derive(Debug, Clone)]
pub struct Limits {
    /// From the end of the header to the answer.
    pub request_timeout: Duration,
    pub bodies: Bodies,
    pub hosts: Hosts,
    pub running: Running,
    /// Whether a write that changes what is there must say which version it has seen.
    pub require_if_match: bool,
    /// Writes that go on when their client has left.
    pub writes: TaskTracker,
    pub second_attempts: SecondAttempts,
    pub shutdown: Shutdown,
}

/// The places of requests that run at the same time.
#[derive(Debug, Clone)]
pub struct Running(Arc<Semaphore>);

impl Running {
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new(max)))
    }
}

/// The place of one of them.
#[derive(Debug, Clone)]
struct Place(#[expect(dead_code, reason = "it is given back by drop")] Arc<OwnedSemaphorePermit>);

/// The turn of writes that the database undid in favour of others: one at a time, so that those that
/// were in each other's way once are not so again.
#[derive(Debug, Clone, Default)]
pub struct SecondAttempts(Arc<Mutex<()>>);

/// The id by which the log names a request.
#[derive(Debug, Clone)]
pub(super) struct RequestId(pub(super) String);

/// The body as it came in, for those who need it beside what is read from it.
#[derive(Debug, Clone)]
pub(super) struct RequestBody(pub(super) Bytes);

/// Gives the request an id, ends the answer, and writes the log line.
///
/// Here what is refused becomes a problem document, and what refers to the service does so by its
/// public URL.
pub(super) async fn identify_and_log(
    State(public_url): State<PublicUrl>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request_id(&request);
    let extensions = request.extensions_mut();
    extensions.insert(RequestId(id.clone()));
    extensions.insert(public_url.clone());
    let span = info_span!("request", request_id = %id);
    let line = LogLine {
        span: span.clone(),
        method: request.method().clone(),
        route: request.extensions().get::<MatchedPath>().cloned(),
        start: Instant::now(),
        answered: false,
    };
    let response = next.run(request).instrument(span).await;
    let problem = response
        .extensions()
        .get::<Problem>()
        .map(|problem| problem.code.as_str());
    let mut response = render(response, &id, &public_url);
    refer_by(&public_url, response.headers_mut());
    line.write(response.status(), problem);
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Completes references to the service's own paths, which begin with `/`.
fn refer_by(public_url: &PublicUrl, headers: &mut HeaderMap) {
    for (name, value) in headers.iter_mut() {
        let complete = match value.to_str() {
            Ok(path) if name == header::LOCATION && path.starts_with('/') => {
                public_url.reference(path)
            }
            Ok(links) if name == header::LINK => {
                links.replace("</", &format!("<{}", public_url.reference("/")))
            }
            _ => continue,
        };
        if let Ok(complete) = HeaderValue::try_from(complete) {
            *value = complete;
        }
    }
}

/// Answers a panic as the failure that it is, to be ended as any other answer.
pub(super) async fn catch_panics(request: Request, next: Next) -> Response {
    AssertUnwindSafe(next.run(request))
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| failed(&*panic).into_response())
}

/// The one line in the log that each request has, also the one whose client leaves before the
/// answer.
///
/// It names the route and not the path, and never the query: those hold ids and addresses.
struct LogLine {
    span: Span,
    method: Method,
    route: Option<MatchedPath>,
    start: Instant,
    answered: bool,
}

impl LogLine {
    fn write(mut self, status: StatusCode, problem: Option<&str>) {
        self.answered = true;
        info!(
            parent: &self.span,
            method = %self.method,
            route = self.route(),
            status = status.as_u16(),
            problem,
            milliseconds = self.milliseconds(),
            "request"
        );
    }

    fn route(&self) -> Option<&str> {
        self.route.as_ref().map(MatchedPath::as_str)
    }

    fn milliseconds(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        if !self.answered {
            info!(
                parent: &self.span,
                method = %self.method,
                route = self.route(),
                milliseconds = self.milliseconds(),
                "the client left before the answer"
            );
        }
    }
}

/// Says in the log, under the request's id, what a panic said.
fn failed(panic: &(dyn Any + Send)) -> Problem {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    error!("the request panicked: {}", text.unwrap_or("no text"));
    Code::InternalError.into()
}

/// The caller's own id where it is short and plain, so that a log line cannot be forged by it.
fn request_id(request: &Request) -> String {
    request
        .headers()
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok())
        .filter(|id| (1..=64).contains(&id.len()))
        .filter(|id| {
            id.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        })
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

/// Lets in what is for this host, and of that as many requests as may run at the same time, until the head of
/// the answer; it sheds the rest before they cost anything.
pub async fn admit(State(limits): State<Limits>, mut request: Request, next: Next) -> Response {
    if let Err(problem) = limits.hosts.check(&request) {
        return problem.into_response();
    }
    let Ok(place) = limits.running.0.clone().try_acquire_owned() else {
        return Problem::from(Code::Overloaded).into_response();
    };
    let place = Place(Arc::new(place));
    // A write that goes on without its client keeps the place.
    request.extensions_mut().insert(place.clone());
    let response = next.run(request).await;
    drop(place);
    response
}

/// Bounds the request, reads its body, and runs it under the deadline.
pub async fn bound(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    run_bounded(&limits, request, next)
        .await
        .unwrap_or_else(IntoResponse::into_response)
}

async fn run_bounded(limits: &Limits, request: Request, next: Next) -> Result<Response, Problem> {
    check_header(&request)?;
    let deadline = Instant::now() + limits.request_timeout;
    if limits.shutdown.is_draining() {
        return Err(Code::ShuttingDown.into());
    }
    if request.method().is_safe() {
        // A read is dropped at the deadline, and when its client leaves.
        return timeout_at(deadline, next.run(request))
            .await
            .map_err(|_| Code::TimedOut.into());
    }
    let (mut parts, body) = request.into_parts();
    if limits.require_if_match {
        parts.extensions.insert(Demanded);
    }
    let (body, place) = timeout_at(deadline, limits.bodies.read(&parts.headers, body))
        .await
        .map_err(|_| Problem::from(Code::RequestTimeout))??;
    parts.extensions.insert(RequestBody(body.clone()));
    // A write runs to its end in a task of its own. Cancelled half way, it would stop between two
    // statements, or give a connection back inside an open transaction.
    let write = write(limits.second_attempts.clone(), parts, body, next).in_current_span();
    let write = limits.writes.spawn(async move {
        let response = write.await;
        drop(place);
        response
    });
    match timeout_at(deadline, write).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(failure)) => Err(match failure.try_into_panic() {
            Ok(panic) => failed(&*panic),
            Err(_cancelled) => Code::InternalError.into(),
        }),
        Err(_elapsed) => Err(Code::TimedOut.into()),
    }
}

/// Runs a write, and runs it again where the database undid it in favour of another.
async fn write(again: SecondAttempts, parts: Parts, body: Bytes, next: Next) -> Response {
    let run = || {
        let request = Request::from_parts(parts.clone(), Body::from(body.clone()));
        next.clone().run(request)
    };
    let mut response = run().await;
    if !was_undone(&response) {
        return response;
    }
    let _turn = again.0.lock().await;
    for _ in 1..WRITE_ATTEMPTS {
        response = run().await;
        if !was_undone(&response) {
            break;
        }
    }
    response
}

fn was_undone(response: &Response) -> bool {
    let problem = response.extensions().get::<Problem>();
    problem.is_some_and(|problem| problem.code == Code::WriteConflict)
}

fn check_header(request: &Request) -> Result<(), Problem> {
    let uri = request
        .uri()
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    if uri > MAX_URI {
        let detail = format!("Path and query hold {uri} bytes; at most {MAX_URI} are read.");
        return Err(Problem::from(Code::UriTooLong).with_detail(detail));
    }
    let fields = request.headers().iter();
    let header: usize = fields
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if header > MAX_HEADER {
        let detail = format!("The header holds {header} bytes; at most {MAX_HEADER} are read.");
        return Err(Problem::from(Code::HeaderFieldsTooLarge).with_detail(detail));
    }
    Ok(())
}

/// Answers of the API are the caller's own business: no cache keeps them, and no browser guesses
/// their type.
pub(super) async fn protect(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers
        .entry(header::X_CONTENT_TYPE_OPTIONS)
        .or_insert(HeaderValue::from_static("nosniff"));
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("private, no-cache"));
    response
}
