//! The problem document, and the one place that writes it.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Code, FieldError, Problem};
use crate::values::PublicUrl;

pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// What went wrong, for programs and for people (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument {
    /// URI of the kind of problem, which leads to what it means. Without a public URL in the
    /// service's settings it begins with `/problems`, below the service's root.
    #[serde(rename = "type")]
    #[schema(format = "uri-reference", example = "/problems/member_not_found")]
    pub problem_type: String,
    /// The kind of problem in words, the same each time.
    #[schema(example = "There is no such member")]
    pub title: &'static str,
    /// The HTTP status of this answer.
    #[schema(minimum = 400, maximum = 599, example = 404)]
    pub status: u16,
    /// What to do about this occurrence.
    #[schema(example = "The member does not exist, or no longer does.")]
    pub detail: String,
    /// The kind of problem as a stable code.
    #[schema(example = "member_not_found")]
    pub code: &'static str,
    /// What is wrong where; empty if the problem lies in no single place.
    pub errors: Vec<FieldError>,
    /// Identifies the request in the service's log; the same as `X-Request-Id`, or in an answer that
    /// is replayed for its `Idempotency-Key`, that of the first request.
    #[schema(example = "019ad2b0-5cf1-7b7e-a1f0-0b0e5b2f9c11")]
    pub request_id: String,
}

impl ProblemDocument {
    pub(super) fn new(problem: Problem, request_id: &str, public_url: &PublicUrl) -> Self {
        let entry = problem.code.entry();
        Self {
            problem_type: problem.code.type_uri(public_url),
            title: entry.title,
            status: entry.status.as_u16(),
            detail: problem.detail.unwrap_or_else(|| entry.advice.to_owned()),
            code: entry.code,
            errors: problem.errors,
            request_id: request_id.to_owned(),
        }
    }
}

/// Writes documents of one request where they are not the answer, but a part of it.
#[derive(Debug, Clone)]
pub struct Documents {
    pub request_id: String,
    pub public_url: PublicUrl,
}

impl Documents {
    #[must_use]
    pub fn write(&self, problem: Problem) -> Vec<u8> {
        let document = ProblemDocument::new(problem, &self.request_id, &self.public_url);
        // Strings and numbers always have a JSON form.
        serde_json::to_vec(&document).unwrap_or_default()
    }
}

/// Why an item of a batch was refused.
#[derive(Debug, Serialize, ToSchema)]
pub struct ItemProblem {
    /// URI of the kind of problem, as in a problem document.
    #[serde(rename = "type")]
    #[schema(format = "uri-reference", example = "/problems/email_taken")]
    pub problem_type: String,
    /// The kind of problem in words, the same each time.
    #[schema(example = "Another member has this e-mail address")]
    pub title: &'static str,
    /// The HTTP status that the item would have had by itself.
    #[schema(minimum = 400, maximum = 499, example = 409)]
    pub status: u16,
    /// What to do about this occurrence.
    pub detail: String,
    /// The kind of problem as a stable code.
    #[schema(example = "email_taken")]
    pub code: &'static str,
    /// What is wrong where in the request; at most 10.
    pub errors: Vec<FieldError>,
}

impl ItemProblem {
    #[must_use]
    pub fn new(problem: Problem, public_url: &PublicUrl) -> Self {
        // An item is of no request of its own.
        let document = ProblemDocument::new(problem, "", public_url);
        Self {
            problem_type: document.problem_type,
            title: document.title,
            status: document.status,
            detail: document.detail,
            code: document.code,
            errors: document.errors,
        }
    }
}

/// Writes the document of a refused request into its response.
///
/// The framework refuses some requests itself, in plain text (no such route, wrong method): those
/// become problems here too, and keep their header fields, `Allow` among them. What has a document
/// already, since it is replayed for an idempotency key, is left as it is.
pub fn render(mut response: Response, request_id: &str, public_url: &PublicUrl) -> Response {
    let problem = response.extensions().get::<Problem>().cloned().or_else(|| {
        let content_type = response.headers().get(header::CONTENT_TYPE);
        if content_type.is_some_and(|content_type| content_type == MEDIA_TYPE) {
            return None;
        }
        Some(Problem::from(match response.status() {
            StatusCode::NOT_FOUND => Code::RouteNotFound,
            StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
            status if status.is_server_error() => Code::InternalError,
            status if status.is_client_error() => Code::InvalidParameter,
            _ => return None,
        }))
    });
    let Some(problem) = problem else {
        return response;
    };
    let status = problem.code.status();
    let document = ProblemDocument::new(problem, request_id, public_url);
    *response.status_mut() = status;
    // Strings and numbers always have a JSON form.
    *response.body_mut() = serde_json::to_vec(&document).unwrap_or_default().into();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Escapes one step of a JSON pointer for a URI fragment (RFC 6901, sections 3 and 6).
pub(super) fn pointer_step(step: &str) -> String {
    const FRAGMENT: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'#')
        .add(b'%')
        .add(b'<')
        .add(b'>')
        .add(b'[')
        .add(b'\\')
        .add(b']')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    let escaped = step.replace('~', "~0").replace('/', "~1");
    utf8_percent_encode(&escaped, FRAGMENT).to_string()
}
