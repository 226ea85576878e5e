//! Preconditions: `If-Match` and `If-None-Match` (RFC 9110, section 13).

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

use super::{
    answer::Entity,
    entity_tag::{PATTERN, Tag, Tags, quoted},
    openapi::header_parameter,
    views::visible,
};
use crate::problem::{Code, FieldError, Problem};

/// What has a version, and so an entity tag.
pub trait Versioned {
    /// 1 at first, one more with each write.
    fn version(&self) -> i64;
}

/// Marks a request whose write must say which version it is meant for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demanded;

/// What a request asks of the resource before it is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
    /// Whether a write without `If-Match` is refused.
    demanded: bool,
    /// What stands for the request's view in an entity tag.
    view: String,
}

/// What the preconditions say of a resource that is there, in one version.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Proceed,
    /// The client has this version already, by the tag given here.
    NotModified(HeaderValue),
    Failed,
}

impl Preconditions {
    /// Reads both fields, each of which may come in several lines.
    ///
    /// # Errors
    /// [`Code::InvalidHeader`] if one is neither `*` nor a list of entity tags: passed over, a write
    /// would go ahead that the client meant to guard.
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        Ok(Self {
            if_match: tags(headers, &header::IF_MATCH)?,
            if_none_match: tags(headers, &header::IF_NONE_MATCH)?,
            demanded: false,
            view: String::new(),
        })
    }

    /// Answers a read of `resource`: whole, or that the client has it already.
    ///
    /// # Errors
    /// [`Code::PreconditionFailed`].
    pub fn answer<T: Versioned + Serialize>(&self, resource: T) -> Result<Response, Problem> {
        let state = resource.version().to_string();
        self.read(&state, || Entity(resource).into_response())
    }

    /// Answers a read of what is in `state`, which is the text of its entity tag: by `whole`, or that
    /// the client has it already.
    ///
    /// # Errors
    /// [`Code::PreconditionFailed`].
    pub fn read(&self, state: &str, whole: impl FnOnce() -> Response) -> Result<Response, Problem> {
        match self.of_read(state) {
            Verdict::Proceed => {
                let tag = quoted(self.in_view(state).as_bytes());
                Ok(([(header::ETAG, tag)], whole()).into_response())
            }
            Verdict::NotModified(tag) => {
                Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response())
            }
            Verdict::Failed => Err(Code::PreconditionFailed.into()),
        }
    }

    /// What the entity tag of a state is made of in the view of this request.
    fn in_view(&self, state: &str) -> String {
        format!("{state}{}", self.view)
    }

    /// In the order of RFC 9110, section 13.2.2.
    fn of_read(&self, state: &str) -> Verdict {
        if let Some(tags) = &self.if_match
            && !tags.hold_strongly(state)
        {
            return Verdict::Failed;
        }
        let state = self.in_view(state);
        match &self.if_none_match {
            None => Verdict::Proceed,
            Some(Tags::Any) => Verdict::NotModified(quoted(state.as_bytes())),
            // What was shown of it in another view is not what the client would get.
            Some(Tags::Listed(tags)) => tags
                .iter()
                .find(|tag| tag.state_in_view() == state.as_bytes())
                .map_or(Verdict::Proceed, |tag| {
                    Verdict::NotModified(quoted(&tag.opaque))
                }),
        }
    }

    /// The versions that a write may be done to, for the statement that does it.
    ///
    /// # Errors
    /// [`Code::PreconditionRequired`] where `If-Match` is demanded and not there.
    pub fn guard(&self) -> Result<Guard, Problem> {
        if self.demanded && self.if_match.is_none() {
            return Err(Code::PreconditionRequired.into());
        }
        let only = match (&self.if_match, &self.if_none_match) {
            (_, Some(Tags::Any)) => Some(Vec::new()),
            (None | Some(Tags::Any), _) => None,
            (Some(Tags::Listed(tags)), _) => Some(
                tags.iter()
                    .filter(|tag| !tag.weak)
                    .filter_map(Tag::version)
                    .collect(),
            ),
        };
        let except = match &self.if_none_match {
            None | Some(Tags::Any) => Vec::new(),
            Some(Tags::Listed(tags)) => tags.iter().filter_map(Tag::version).collect(),
        };
        Ok(Guard { only, except })
    }

    /// What a write may do that makes the resource where it is not there.
    ///
    /// # Errors
    /// [`Code::PreconditionRequired`] where `If-Match` is demanded, and neither it is there nor
    /// `If-None-Match: *`, which says as clearly what is expected.
    pub fn upsert(&self) -> Result<Upsert, Problem> {
        match (&self.if_match, &self.if_none_match) {
            (None, Some(Tags::Any)) => Ok(Upsert::Create),
            (Some(_), _) => self.guard().map(Upsert::Replace),
            (None, _) => self.guard().map(Upsert::Either),
        }
    }

    /// Why a guarded write met no row: a precondition failed, or what `find` looks for is `absent`.
    ///
    /// `If-Match` is never met by what is not there (RFC 9110, section 13.1.1), so that nothing needs
    /// to be looked up for it.
    pub async fn unmet<T, F>(&self, find: impl FnOnce() -> F, absent: Code) -> Problem
    where
        F: Future<Output = sqlx::Result<Option<T>>>,
    {
        if self.if_match.is_some() {
            return Code::PreconditionFailed.into();
        }
        if self.if_none_match.is_none() {
            return absent.into();
        }
        match find().await {
            Ok(Some(_)) => Code::PreconditionFailed.into(),
            Ok(None) => absent.into(),
            Err(error) => error.into(),
        }
    }
}

/// The versions that a write may be done to: those of `only` (all, if none), less those of `except`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    pub only: Option<Vec<i64>>,
    pub except: Vec<i64>,
}

/// What a write may do that makes the resource where it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upsert {
    /// Make it, and nothing else.
    Create,
    /// Replace one of these versions, and nothing else.
    Replace(Guard),
    /// Make it, or replace one of these versions.
    Either(Guard),
}

impl<S: Send + Sync> FromRequestParts<S> for Preconditions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let demanded = parts.extensions.get::<Demanded>().is_some();
        Ok(Self {
            demanded,
            view: visible()?.tag(),
            ..Self::of(&parts.headers)?
        })
    }
}

impl IntoParams for Preconditions {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            header_parameter(
                "If-Match",
                PATTERN,
                "Entity tags, as `ETag` gave them, or `*`: go on only if the resource is in one of \
                 these versions (RFC 9110, section 13.1.1).",
            ),
            header_parameter(
                "If-None-Match",
                PATTERN,
                "Entity tags or `*`: go on only if the resource is in none of these versions \
                 (RFC 9110, section 13.1.2).",
            ),
        ]
    }
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Tags>, Problem> {
    let lines: Vec<&[u8]> = headers
        .get_all(name)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let field = lines.join(&b","[..]);
    Tags::parse(&field).map(Some).ok_or_else(|| {
        let detail = "`*` or a list of entity tags is expected, such as \"3\".";
        let error = FieldError::at_header(name.as_str(), "invalid", detail);
        Problem::from(Code::InvalidHeader).with_errors(vec![error])
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::entity_tag::entity_tag, *};

    fn asked(name: &HeaderName, lines: &[&str]) -> Result<Preconditions, Problem> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, HeaderValue::from_str(line).expect("a value"));
        }
        Preconditions::of(&headers)
    }

    /// The table of RFC 9110, section 8.8.3.2, with the resource in version 1.
    #[test]
    fn if_match_compares_strongly_and_if_none_match_weakly() {
        for (tag, strong, weak) in [
            ("W/\"1\"", false, true),
            ("W/\"2\"", false, false),
            ("\"1\"", true, true),
            ("\"2\"", false, false),
            ("\"01\"", false, false),
            ("\"+1\"", false, false),
            ("\"\"", false, false),
            ("\"1-gzip\"", true, true),
            ("\"2-gzip\"", false, false),
            ("\"1-br\"", false, false),
            ("*", true, true),
        ] {
            let verdict = asked(&header::IF_MATCH, &[tag]).expect(tag).of_read("1");
            assert_eq!(verdict == Verdict::Proceed, strong, "If-Match: {tag}");
            let verdict = asked(&header::IF_NONE_MATCH, &[tag])
                .expect(tag)
                .of_read("1");
            assert_eq!(verdict != Verdict::Proceed, weak, "If-None-Match: {tag}");
        }
    }

    #[test]
    fn lists_may_come_in_one_line_or_in_several() {
        for lines in [
            &["\"7\", W/\"3\" ,\"1\""][..],
            &["\"7\"", "\"1\""],
            &[",, \"1\" ,"],
            &["\"a,b\",\"1\""],
        ] {
            let read = asked(&header::IF_MATCH, lines)
                .expect("a list")
                .of_read("1");
            assert_eq!(read, Verdict::Proceed, "{lines:?}");
        }
    }

    #[test]
    fn what_is_no_list_of_tags_is_refused() {
        for line in [
            "1",
            "\"1",
            "1\"",
            "w/\"1\"",
            "W/1",
            "\"1\" \"2\"",
            "\"1\", *",
            "*, \"1\"",
            "",
            ",",
            "\"a b\"",
        ] {
            assert!(asked(&header::IF_MATCH, &[line]).is_err(), "{line}");
        }
    }

    #[test]
    fn if_match_is_decided_before_if_none_match() {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MATCH, HeaderValue::from_static("\"2\""));
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"1\""));
        assert_eq!(
            Preconditions::of(&headers).expect("valid").of_read("1"),
            Verdict::Failed
        );
    }

    proptest! {
        #[test]
        fn a_tag_that_was_given_out_is_known_again(version in 1..i64::MAX, others: Vec<i64>) {
            let mut tags: Vec<_> = others.iter().map(|other| format!("\"{other}\"")).collect();
            tags.push(entity_tag(version, "").to_str().expect("ASCII").to_owned());
            let preconditions = asked(&header::IF_MATCH, &[&tags.join(", ")]).expect("valid");
            prop_assert_eq!(preconditions.of_read(&version.to_string()), Verdict::Proceed);
            let guard = preconditions.guard().expect("a guard");
            prop_assert!(guard.only.is_some_and(|only| only.contains(&version)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let mut headers = HeaderMap::new();
                headers.insert(header::IF_NONE_MATCH, value);
                let _ = Preconditions::of(&headers);
            }
        }
    }
}
