//! Body, query and path, with rejections that are problems.

use std::borrow::Cow;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, MatchedPath, Request},
    http::{HeaderMap, HeaderValue, Uri, header, request::Parts},
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;
use serde::{Serialize, de::DeserializeOwned};
use utoipa::PartialSchema;
use uuid::fmt::Hyphenated;

use super::{
    decode::{self, Parameters},
    unknown_parameters::Unknown,
    views,
};
use crate::problem::{Code, FieldError, Problem};

/// A JSON body, of a request and of an answer. An answer has what is visible to its caller.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/json");
        match views::to_json(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, json)], body).into_response(),
            Err(problem) => problem.into_response(),
        }
    }
}

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned + PartialSchema,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        if !has_type(request.headers(), "application/json")? {
            return Err(Code::UnsupportedMediaType.into());
        }
        decode::body(&whole_body(request).await?).map(Self)
    }
}

/// Whether the body is of this media type.
///
/// Compares the type, not the text: case, parameters and white space say nothing about the format
/// (RFC 9110, section 8.3.1). Of two types neither counts.
///
/// # Errors
/// [`Code::UnsupportedContentCoding`] if the body is encoded.
pub(super) fn has_type(headers: &HeaderMap, media_type: &str) -> Result<bool, Problem> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    if !codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Code::UnsupportedContentCoding.into());
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else {
        return Ok(false);
    };
    let essence = only.to_str().ok().and_then(|value| value.split(';').next());
    Ok(essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(media_type)))
}

/// The body, which was read by the layer that bounds it: nothing is waited for here.
pub(super) async fn whole_body(request: Request) -> Result<Bytes, Problem> {
    let body = request.into_body().collect().await;
    Ok(body.map_err(|_| Code::MalformedJson)?.to_bytes())
}

/// The parameters in the query.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let (_, mut parameters) = query_parameters(parts)?;
        let read = parameters.read();
        read.map(Self).ok_or_else(|| parameters.refused())
    }
}

/// The query's parameters in their order, and ready to be read.
pub(super) fn query_parameters(
    parts: &mut Parts,
) -> Result<(Vec<(String, String)>, Parameters), Problem> {
    let pairs = query_pairs(parts.uri.query().unwrap_or_default())?;
    let unknown = parts.extensions.remove::<Unknown>();
    let unknown = unknown.map_or_else(Vec::new, |Unknown(errors)| errors);
    let parameters = Parameters::new(pairs.clone(), unknown);
    Ok((pairs, parameters))
}

/// Splits a query (`application/x-www-form-urlencoded`), and refuses what is not percent-encoded
/// UTF-8 instead of repairing it, which would search for another value than the one meant.
pub(super) fn query_pairs(query: &str) -> Result<Vec<(String, String)>, Problem> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = form_decode(name).ok_or_else(|| badly_encoded(name))?;
            let value = form_decode(value).ok_or_else(|| badly_encoded(&name))?;
            Ok((name, value))
        })
        .collect()
}

/// Whether every `%` begins an escape.
fn is_percent_encoded(text: &str) -> bool {
    text.split('%').skip(1).all(|escape| {
        let digits = escape.as_bytes().iter().take(2);
        digits.filter(|digit| digit.is_ascii_hexdigit()).count() == 2
    })
}

fn form_decode(text: &str) -> Option<String> {
    if !is_percent_encoded(text) {
        return None;
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(Cow::into_owned(decoded))
}

fn badly_encoded(name: &str) -> Problem {
    let detail = "This is not percent-encoded UTF-8.";
    let error = FieldError::at_parameter(name, "invalid", detail);
    Problem::from(Code::InvalidParameter).with_errors(vec![error])
}

/// The path in the one spelling that all spellings of it share: decoded, and ids in lower case.
pub(super) fn canonical_path(uri: &Uri) -> String {
    let steps = uri.path().split('/').map(|step| {
        let step = percent_decode_str(step).decode_utf8_lossy();
        match step.parse::<Hyphenated>() {
            Ok(id) => id.to_string(),
            // What is decoded must not look like two steps.
            Err(_) => step.replace('/', "%2F"),
        }
    });
    steps.collect::<Vec<_>>().join("/")
}

/// The parameters in the path.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T, S> FromRequestParts<S> for Path<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let template = parts.extensions.get::<MatchedPath>();
        let template = template.map_or("", MatchedPath::as_str);
        let steps = template.split('/').zip(parts.uri.path().split('/'));
        for (name, step) in steps {
            if !is_percent_encoded(step) {
                return Err(badly_encoded(name.trim_matches(['{', '}'])));
            }
        }
        let raw = axum::extract::RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|rejection| {
                // The name stands in the text only.
                let text = rejection.body_text();
                badly_encoded(text.split('`').nth(1).unwrap_or_default())
            })?;
        let pairs = raw
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        decode::parameters(pairs, Vec::new()).map(Self)
    }
}
