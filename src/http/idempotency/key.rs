//! The key, as it stands in the header.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

use crate::{
    http::openapi::header_parameter,
    problem::{Code, FieldError, Problem},
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_LENGTH: usize = 255;
const PATTERN: &str = r#"^([!#-~][!-~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$"#;

/// What a caller calls a request by, so that it can be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// # Errors
    /// [`Code::InvalidHeader`] if there is more than one, or one of another form: passed over, the
    /// request would be done each time that it is sent.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(line) = lines.next() else {
            return Ok(None);
        };
        if lines.next().is_some() {
            return Err(refused(
                "repeated",
                "This field may be given once.".to_owned(),
            ));
        }
        let key = parse(line).ok_or_else(|| {
            let detail = format!(
                "1 to {MAX_LENGTH} visible ASCII characters are expected, plain or as a quoted string \
                 (RFC 8941, section 3.3.3)."
            );
            refused("invalid", detail)
        })?;
        Ok(Some(key))
    }
}

fn refused(code: &'static str, detail: String) -> Problem {
    let error = FieldError::at_header(IDEMPOTENCY_KEY.as_str(), code, detail);
    Problem::from(Code::InvalidHeader).with_errors(vec![error])
}

/// The draft writes a key as a quoted string, and most clients write it plainly: both are the same
/// key.
fn parse(line: &HeaderValue) -> Option<IdempotencyKey> {
    let line = line.to_str().ok()?;
    let key = match line.strip_prefix('"') {
        Some(rest) => unquoted(rest.strip_suffix('"')?)?,
        None => line.to_owned(),
    };
    let valid =
        (1..=MAX_LENGTH).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    valid.then_some(IdempotencyKey(key))
}

/// What stands between the quotes, where a backslash escapes a quote or another one.
fn unquoted(text: &str) -> Option<String> {
    let mut key = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        key.push(match character {
            '"' => return None,
            '\\' => rest
                .next()
                .filter(|escaped| ['"', '\\'].contains(escaped))?,
            plain => plain,
        });
    }
    Some(key)
}

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![header_parameter(
            "Idempotency-Key",
            PATTERN,
            "A key of your own for this request, such as a UUID. Sent again with the same key within \
             the time that keys are kept (24 hours unless set otherwise), the request is done once and \
             answered the same.",
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Option<String>, Problem> {
        let mut headers = HeaderMap::new();
        for line in lines {
            let value = HeaderValue::from_bytes(line.as_bytes()).expect("a value");
            headers.append(IDEMPOTENCY_KEY, value);
        }
        Ok(IdempotencyKey::of(&headers)?.map(|IdempotencyKey(key)| key))
    }

    #[test]
    fn a_quoted_key_is_the_plain_one() {
        let longest = "k".repeat(255);
        for (line, key) in [
            ("abc", "abc"),
            ("\"abc\"", "abc"),
            ("a\"b\\c", "a\"b\\c"),
            ("\"a\\\"b\\\\c\"", "a\"b\\c"),
            ("a,b;c=d", "a,b;c=d"),
            (&longest, &longest),
            (&format!("\"{longest}\""), &longest),
        ] {
            assert_eq!(read(&[line]).expect(line).as_deref(), Some(key));
        }
        assert_eq!(read(&[]).expect("none"), None);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let long = "k".repeat(256);
        for line in [
            "",
            "\"",
            "\"\"",
            "\"abc",
            "\"a\"b\"",
            "\"a\\b\"",
            "\"abc\\\"",
            "\"abc\";a=b",
            "a b",
            "\"a b\"",
            "é",
            "a\tb",
            &long,
            &format!("\"{long}\""),
        ] {
            assert!(read(&[line]).is_err(), "{line}");
        }
        assert!(read(&["abc", "abc"]).is_err());
    }
}
