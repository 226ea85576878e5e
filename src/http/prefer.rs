//! `Prefer: return=minimal` (RFC 7240, section 4.2).

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

use super::openapi::header_parameter;

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// How much of a resource a write answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// Nothing but the header.
    Minimal,
    Representation,
}

impl Return {
    /// What the request prefers, if it says so. The first counts where one is repeated, and what is
    /// not known or cannot be read is passed over (RFC 7240, section 2).
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        headers
            .get_all(PREFER)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| split_unquoted(line, ','))
            .filter_map(|preference| {
                let preference = split_unquoted(preference, ';').next()?;
                preference.split_once('=')
            })
            .filter(|(name, _)| name.trim().eq_ignore_ascii_case("return"))
            .map(|(_, value)| {
                let value = value.trim();
                let quoted = value
                    .strip_prefix('"')
                    .and_then(|rest| rest.strip_suffix('"'));
                quoted.unwrap_or(value)
            })
            .next()
            .and_then(|value| match value {
                "minimal" => Some(Self::Minimal),
                "representation" => Some(Self::Representation),
                _ => None,
            })
    }

    /// As `Preference-Applied` says it.
    #[must_use]
    pub fn applied(self) -> (HeaderName, HeaderValue) {
        let value = match self {
            Self::Minimal => "return=minimal",
            Self::Representation => "return=representation",
        };
        (PREFERENCE_APPLIED, HeaderValue::from_static(value))
    }
}

/// Splits where `separator` stands outside of quotes (RFC 9110, section 5.6.4).
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |character| {
        let ends = character == separator && !quoted;
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        ends
    })
}

/// Leaves the representation out of the answer to a write, where the client prefers that.
///
/// What a write answers with a tag is the one resource that it wrote. The answer as a whole is what
/// is kept and repeated; how much of it goes out is each request's own.
pub async fn prefer(request: Request, next: Next) -> Response {
    let preferred = Return::of(request.headers()).filter(|_| !request.method().is_safe());
    let mut response = next.run(request).await;
    let Some(preferred) = preferred else {
        return response;
    };
    if !response.status().is_success() || !response.headers().contains_key(header::ETAG) {
        return response;
    }
    let (name, value) = preferred.applied();
    response.headers_mut().insert(name, value);
    match preferred {
        Return::Minimal => without_representation(response),
        Return::Representation => response,
    }
}

/// Leaves an answer of success its header alone.
pub(super) fn without_representation(mut response: Response) -> Response {
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    *response.body_mut() = Body::empty();
    response.headers_mut().remove(header::CONTENT_TYPE);
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response
}

impl IntoParams for Return {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![header_parameter(
            "Prefer",
            ".*",
            "`return=minimal`: answer without the representation (RFC 7240, section 4.2).",
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_preference_counts_and_what_is_not_known_is_passed_over() {
        for (lines, expected) in [
            (&["return=minimal"][..], Some(Return::Minimal)),
            (&["Return=\"minimal\""], Some(Return::Minimal)),
            (&["return = minimal; foo=1"], Some(Return::Minimal)),
            (
                &["respond-async, wait=10", "return=minimal"],
                Some(Return::Minimal),
            ),
            (
                &["return=representation, return=minimal"],
                Some(Return::Representation),
            ),
            (&["note=\"a, return=minimal\""], None),
            (
                &["note=\"a\\\", b\", return=minimal"],
                Some(Return::Minimal),
            ),
            (&["return=\"\"minimal\"\""], None),
            (&["return=nothing"], None),
            (&["minimal"], None),
            (&[""], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(PREFER, HeaderValue::from_static(line));
            }
            assert_eq!(Return::of(&headers), expected, "{lines:?}");
        }
    }
}
