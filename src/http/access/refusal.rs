//! The answer to a request that may not do what it asks for.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use crate::problem::{Code, Problem};

/// The challenge without which 401 must not be (RFC 9110, section 15.5.2).
const REALM: &str = "Bearer realm=\"member-mail\"";

/// Why a request is not let in.
#[derive(Debug)]
pub enum Refusal {
    KeyRequired,
    /// Malformed, unknown, expired or revoked: which of these, nobody outside is told.
    InvalidKey,
    /// The key is good, and lacks one of these scopes.
    InsufficientScope(Vec<String>),
    /// The view that the key has is not configured.
    ViewNotConfigured,
    /// It was not found out.
    Failed(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // Where no key was sent, no error is named (RFC 6750, section 3.1).
        let (code, challenge) = match self {
            Self::KeyRequired => (Code::AccessKeyRequired, REALM.to_owned()),
            Self::InvalidKey => (
                Code::InvalidAccessKey,
                format!("{REALM}, error=\"invalid_token\""),
            ),
            Self::InsufficientScope(scopes) => (
                Code::InsufficientScope,
                format!(
                    "{REALM}, error=\"insufficient_scope\", scope=\"{}\"",
                    scopes.join(" ")
                ),
            ),
            Self::ViewNotConfigured => {
                return Problem::from(Code::ViewNotConfigured).into_response();
            }
            Self::Failed(problem) => return problem.into_response(),
        };
        let mut response = Problem::from(code).into_response();
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
