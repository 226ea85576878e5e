//! The values that cross the edge: parsed once on the way in, valid ever after.
//!
//! Each type has one way in (`TryFrom`, which `FromStr` and serde's `Deserialize` go through),
//! keeps its bounds to itself, and tells them to the `OpenAPI` document by `ToSchema`. Reading from
//! the database trusts what was written.
//!
//! - `email_address`: the one grammar of an e-mail address, and the form that two spellings share
//! - `text`: text of bounded length, text of one line, a list of tags
//! - `json_object`: a bounded JSON object that comes back equal
//! - `date`: a day of the calendar, an instant
//! - `fold`: the form in which text is sorted and searched
//! - `public_url`: the URL under which clients reach the service
//! - `search_term`: what is searched for in text
//! - `smtp`: what a mail server answered
//! - [`strict`]: forms of an input that serde's own decoders would take besides the documented one

mod date;
mod email_address;
mod fold;
mod json_object;
mod plain_json;
mod public_url;
mod search_term;
mod smtp;
pub mod strict;
mod text;

pub use date::{Date, Timestamp};
pub use email_address::EmailAddress;
pub use fold::fold;
pub use json_object::JsonObject;
pub use plain_json::PlainJson;
pub use public_url::PublicUrl;
pub use search_term::SearchTerm;
pub use smtp::{EnhancedCode, SmtpCode};
pub use text::{Line, Tags, Text};

/// Why a value was refused.
///
/// `code` is stable and for programs. `detail` is for people: it says what is allowed and never
/// repeats the input. Written as text both stand there, since text is all that serde lets through:
/// [`Invalid::split`] takes them apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Invalid {
    pub code: &'static str,
    pub detail: String,
}

impl Invalid {
    #[must_use]
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
        }
    }

    /// Takes an error's text apart into code and detail, if it is one of these.
    #[must_use]
    pub fn split(text: &str) -> Option<(&str, &str)> {
        text.split_once(": ")
            .filter(|(code, _)| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
    }
}

/// What every value has that is kept as a string: the ways in, which all go through `parse`, and
/// the ways out.
macro_rules! string_value {
    ($name:ident $(<$($bound:ident),+>)?) => {
        impl $(<$(const $bound: usize),+>)? $name $(<$($bound),+>)? {
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl $(<$(const $bound: usize),+>)? std::str::FromStr for $name $(<$($bound),+>)? {
            type Err = $crate::values::Invalid;

            fn from_str(input: &str) -> Result<Self, Self::Err> {
                Self::parse(input)
            }
        }

        impl $(<$(const $bound: usize),+>)? TryFrom<String> for $name $(<$($bound),+>)? {
            type Error = $crate::values::Invalid;

            fn try_from(input: String) -> Result<Self, Self::Error> {
                Self::parse(&input)
            }
        }

        impl $(<$(const $bound: usize),+>)? From<$name $(<$($bound),+>)?> for String {
            fn from(value: $name $(<$($bound),+>)?) -> Self {
                value.0
            }
        }

        impl $(<$(const $bound: usize),+>)? AsRef<str> for $name $(<$($bound),+>)? {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl $(<$(const $bound: usize),+>)? std::fmt::Display for $name $(<$($bound),+>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
use string_value;

#[cfg(test)]
mod tests {
    use utoipa::{IntoParams, OpenApi, ToSchema};

    use super::{Date, EmailAddress, JsonObject, Line, Tags, Text, Timestamp};

    #[derive(ToSchema)]
    #[expect(dead_code, reason = "read by the derive only")]
    struct Body {
        email: Option<EmailAddress>,
        name: Line<1, 200>,
        note: Text<0, 10>,
        tags: Tags,
        attributes: JsonObject,
        birth: Option<Date>,
        at: Timestamp,
    }

    /// utoipa collects the components that a body refers to, not those of a parameter.
    #[derive(IntoParams)]
    #[expect(dead_code, reason = "read by the derive only")]
    struct Query {
        #[param(inline)]
        name: Option<Line<0, 7>>,
    }

    #[utoipa::path(post, path = "/", params(Query), request_body = Body, responses((status = 204)))]
    #[expect(dead_code, reason = "read by the derive only")]
    fn operation() {}

    #[derive(OpenApi)]
    #[openapi(paths(operation))]
    struct Api;

    #[test]
    fn every_reference_in_the_document_leads_somewhere() {
        let document = serde_json::to_value(Api::openapi()).expect("valid");
        let text = document.to_string();
        let names: Vec<&str> = text
            .split("\"#/components/schemas/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(names.contains(&"EmailAddress") && names.contains(&"Line200"));
        for name in names {
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
    }
}
