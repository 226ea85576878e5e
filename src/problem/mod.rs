//! Errors as values: what a request is refused with, and the document that says so (RFC 9457).
//!
//! - [`catalogue`]: every problem, its status, code, title and text
//! - `database`: what a failed query becomes
//! - `document`: the body
//! - `openapi`: its place in the OpenAPI document

pub mod catalogue;
mod database;
mod document;
mod openapi;

use std::borrow::Cow;

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};

pub use catalogue::Code;
pub use database::{OnConstraint, QueryError};
pub use document::{Documents, ItemProblem, ProblemDocument, render};
pub use openapi::{document, document_problems, responses, takes};

/// RFC 5789, section 3.1.
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// One thing that is wrong with a request, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct FieldError {
    /// JSON pointer into the body, as a URI fragment (RFC 6901, section 6).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "#/email")]
    pub pointer: Option<String>,
    /// Name of the query or path parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "limit")]
    pub parameter: Option<String>,
    /// Name of the header field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "if-match")]
    pub header: Option<String>,
    /// Stable code of what is wrong: `required`, `unknown`, `repeated`, `invalid`, or a code of the
    /// parameter's own.
    #[schema(example = "invalid")]
    pub code: Cow<'static, str>,
    /// For people.
    pub detail: String,
}

impl FieldError {
    /// Names a field by its steps from the root of the body.
    pub fn at_pointer<'a>(
        steps: impl IntoIterator<Item = &'a str>,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        let mut pointer = String::from("#");
        for step in steps {
            pointer.push('/');
            pointer.push_str(&document::pointer_step(step));
        }
        Self {
            pointer: Some(pointer),
            ..Self::nowhere(code, detail)
        }
    }

    pub fn at_parameter(
        name: impl Into<String>,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            parameter: Some(name.into()),
            ..Self::nowhere(code, detail)
        }
    }

    pub fn at_header(
        name: impl Into<String>,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            header: Some(name.into()),
            ..Self::nowhere(code, detail)
        }
    }

    /// The same error of a body that stands at `steps` (`/items/3`) in another.
    #[must_use]
    pub fn within(mut self, steps: &str) -> Self {
        if let Some(pointer) = &mut self.pointer {
            pointer.insert_str(1, steps);
        }
        self
    }

    fn nowhere(code: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self {
            pointer: None,
            parameter: None,
            header: None,
            code: code.into(),
            detail: detail.into(),
        }
    }
}

/// What a request is refused with.
///
/// As a response it carries no body yet: [`render`] writes the document, where the request id is
/// known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", code.as_str())]
pub struct Problem {
    pub code: Code,
    pub detail: Option<String>,
    pub errors: Vec<FieldError>,
    /// For `Retry-After`, in seconds.
    pub retry_after: Option<u32>,
}

impl Problem {
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn with_errors(mut self, errors: Vec<FieldError>) -> Self {
        self.errors = errors;
        self
    }

    /// A problem that lies in one field of the body.
    #[must_use]
    pub fn at_field(code: Code, field: &str) -> Self {
        let error = FieldError::at_pointer([field], code.as_str(), code.entry().advice);
        Self::from(code).with_errors(vec![error])
    }

    /// One invalid field of the body.
    #[must_use]
    pub fn invalid_field(field: &str, code: &'static str, detail: impl Into<String>) -> Self {
        Self::from(Code::InvalidBody).with_errors(vec![FieldError::at_pointer(
            [field],
            code,
            detail,
        )])
    }
}

impl From<Code> for Problem {
    fn from(code: Code) -> Self {
        Self {
            code,
            detail: None,
            errors: Vec::new(),
            retry_after: code.passes().then_some(1),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        if let Some(seconds) = self.retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::UnsupportedPatchType {
            let types = HeaderValue::from_static("application/merge-patch+json");
            response.headers_mut().insert(ACCEPT_PATCH, types);
        }
        response.extensions_mut().insert(self);
        response
    }
}
