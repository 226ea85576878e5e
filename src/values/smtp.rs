//! What a mail server answered: its reply code, and its enhanced status code.

use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

use super::{Invalid, string_value};

/// An enhanced mail system status code (RFC 3463): class, subject and detail, as in `5.1.1`.
///
/// The class is 2 (success), 4 (persistent transient failure) or 5 (permanent failure); subject and
/// detail have one to three digits, without leading zeros.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type,
)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct EnhancedCode(String);

string_value!(EnhancedCode);

impl EnhancedCode {
    fn parse(input: &str) -> Result<Self, Invalid> {
        let parts: Vec<_> = input.split('.').collect();
        let valid = match parts.as_slice() {
            [class, subject, detail] => {
                ["2", "4", "5"].contains(class) && is_number(subject) && is_number(detail)
            }
            _ => false,
        };
        if valid {
            return Ok(Self(input.to_owned()));
        }
        let detail = "An enhanced status code has the form class.subject.detail, such as 5.1.1: the class \
                      is 2, 4 or 5, the others are numbers from 0 to 999 (RFC 3463, section 2).";
        Err(Invalid::new("invalid_enhanced_code", detail))
    }

    /// Class, subject and detail.
    #[must_use]
    pub fn parts(&self) -> (u16, u16, u16) {
        let mut parts = self.0.split('.').map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        (next(), next(), next())
    }
}

fn is_number(text: &str) -> bool {
    let digits = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && (text == "0" || !text.starts_with('0'))
}

impl PartialSchema for EnhancedCode {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "An enhanced mail system status code, class.subject.detail (RFC 3463, section 2).",
            ))
            .pattern(Some(
                r"^[245]\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})(?![\s\S])",
            ))
            .into()
    }
}

impl ToSchema for EnhancedCode {}

/// The reply code of a mail server, 200 to 599 (RFC 5321, section 4.2).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type,
)]
#[serde(try_from = "f64")]
#[sqlx(transparent)]
pub struct SmtpCode(i16);

impl SmtpCode {
    #[must_use]
    pub fn get(self) -> i16 {
        self.0
    }
}

/// From a number, of which JSON may write 550 as `550.0`.
impl TryFrom<f64> for SmtpCode {
    type Error = Invalid;

    fn try_from(number: f64) -> Result<Self, Invalid> {
        let mut codes = 200..=599;
        let code = codes.find(|code| f64::from(*code).total_cmp(&number).is_eq());
        code.map(Self).ok_or_else(|| {
            Invalid::new(
                "out_of_range",
                "A reply code has three digits, 200 to 599 (RFC 5321, section 4.2).",
            )
        })
    }
}

impl PartialSchema for SmtpCode {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .description(Some(
                "The reply code of a mail server (RFC 5321, section 4.2).",
            ))
            .minimum(Some(200))
            .maximum(Some(599))
            .into()
    }
}

impl ToSchema for SmtpCode {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_a_class_a_subject_and_a_detail() {
        let code: EnhancedCode = "5.1.10".parse().expect("valid");
        assert_eq!(code.parts(), (5, 1, 10));
        assert_eq!(
            "4.0.999".parse().map(|code: EnhancedCode| code.parts()),
            Ok((4, 0, 999))
        );
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for input in [
            "", "5", "5.1", "5.1.1.1", "3.1.1", "5.01.1", "5.1.1000", "5..1", "5.1.", " 5.1.1",
            "5.1.1 ", "5.1.a", "5.１.1", "55.1.1", "5.-1.1",
        ] {
            assert!(input.parse::<EnhancedCode>().is_err(), "{input}");
        }
    }

    #[test]
    fn a_reply_code_is_from_200_to_599() {
        for code in ["550", "550.0", "5.5e2"] {
            let code: SmtpCode = serde_json::from_str(code).expect("a code");
            assert_eq!(code.get(), 550);
        }
        for code in [-1.0, 0.0, 199.0, 550.5, 600.0, 65_736.0, f64::NAN] {
            assert!(SmtpCode::try_from(code).is_err(), "{code}");
        }
    }
}
