//! Text of bounded length.
//!
//! All text is kept in NFC, so that a letter and its decomposed twin are the same text (RFC 6532,
//! section 3.1), and otherwise as it came: nothing is trimmed. Lengths are Unicode scalar values
//! after NFC, which is what Postgres' `char_length` counts. NFC seldom makes text longer, but it
//! can: U+0958 becomes two characters. Such text may fit the schema's `maxLength` and still be
//! `too_long`.

use std::{borrow::Cow, collections::HashSet};

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, ObjectBuilder, RefOr, Schema, Type},
};

use super::{Invalid, string_value};

/// Text of `MIN` to `MAX` characters, in NFC, without U+0000, which Postgres cannot store.
///
/// With a `MIN` above zero it must hold a character that is not white space.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type,
)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct Text<const MIN: usize, const MAX: usize>(String);

/// Text of `MIN` to `MAX` characters, in NFC, without control characters (U+0000 to U+001F, U+007F
/// to U+009F).
///
/// It may stand in a mail header or in a line of a log without splitting it. U+2028 and U+2029
/// split neither and are accepted. With a `MIN` above zero it must hold a character that is not
/// white space.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type,
)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct Line<const MIN: usize, const MAX: usize>(String);

string_value!(Text<MIN, MAX>);
string_value!(Line<MIN, MAX>);

/// Unicode's `White_Space`, control characters left out, as a class of ECMA-262 and of Python's
/// `re` alike: their own `\s` differ.
const SPACES: &str = r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";

impl<const MIN: usize, const MAX: usize> Text<MIN, MAX> {
    fn parse(input: &str) -> Result<Self, Invalid> {
        let text = bounded(input, MIN, MAX)?;
        if text.contains('\0') {
            return Err(Invalid::new(
                "nul_character",
                "The character U+0000 is not allowed.",
            ));
        }
        Ok(Self(text))
    }
}

impl<const MIN: usize, const MAX: usize> Line<MIN, MAX> {
    fn parse(input: &str) -> Result<Self, Invalid> {
        let line = bounded(input, MIN, MAX)?;
        if line.contains(char::is_control) {
            return Err(Invalid::new(
                "control_character",
                "Control characters (U+0000 to U+001F, U+007F to U+009F), line breaks among them, are not allowed.",
            ));
        }
        Ok(Self(line))
    }
}

fn bounded(input: &str, min: usize, max: usize) -> Result<String, Invalid> {
    let text: String = input.nfc().collect();
    // Counts no further than it must.
    let length = text.chars().take(max.saturating_add(1)).count();
    if length > max {
        return Err(Invalid::new(
            "too_long",
            format!("At most {max} characters are allowed."),
        ));
    }
    if length < min {
        return Err(Invalid::new(
            "too_short",
            format!("At least {min} characters are needed."),
        ));
    }
    if min > 0 && text.chars().all(char::is_whitespace) {
        return Err(Invalid::new(
            "blank",
            "At least one character that is not white space is needed.",
        ));
    }
    Ok(text)
}

impl<const MIN: usize, const MAX: usize> PartialSchema for Text<MIN, MAX> {
    fn schema() -> RefOr<Schema> {
        string_schema(
            MIN,
            MAX,
            "Text without U+0000",
            r"\u0000",
            r"\u0009-\u000d\u0085",
        )
    }
}

impl<const MIN: usize, const MAX: usize> PartialSchema for Line<MIN, MAX> {
    fn schema() -> RefOr<Schema> {
        string_schema(
            MIN,
            MAX,
            "A line of text, without control characters",
            r"\u0000-\u001f\u007f-\u009f",
            "",
        )
    }
}

/// A string of these bounds without the `refused` characters; `blank` are white space besides
/// [`SPACES`].
fn string_schema(min: usize, max: usize, kind: &str, refused: &str, blank: &str) -> RefOr<Schema> {
    let visible = if min > 0 {
        format!("[^{refused}{blank}{SPACES}][^{refused}]*")
    } else {
        String::new()
    };
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(format!("{kind}; kept and counted in NFC.")))
        .min_length(Some(min))
        .max_length(Some(max))
        // The end is `(?![\s\S])`, since `$` also matches before a last line break in Python.
        .pattern(Some(format!(r"^[^{refused}]*{visible}(?![\s\S])")))
        .into()
}

/// `Line255`, and `Line0To998` where it is not one character that is needed.
fn schema_name(kind: &str, min: usize, max: usize) -> Cow<'static, str> {
    match min {
        1 => format!("{kind}{max}").into(),
        _ => format!("{kind}{min}To{max}").into(),
    }
}

impl<const MIN: usize, const MAX: usize> ToSchema for Text<MIN, MAX> {
    fn name() -> Cow<'static, str> {
        schema_name("Text", MIN, MAX)
    }
}

impl<const MIN: usize, const MAX: usize> ToSchema for Line<MIN, MAX> {
    fn name() -> Cow<'static, str> {
        schema_name("Line", MIN, MAX)
    }
}

/// Up to 50 tags, each a line of 1 to 100 characters, in the order in which they were given. No tag
/// stands twice; tags that differ only in their Unicode normalisation are the same tag, tags that
/// differ in case are two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[serde(try_from = "Vec<Tag>")]
#[sqlx(transparent, no_pg_array)]
pub struct Tags(Vec<Tag>);

type Tag = Line<1, 100>;

impl Tags {
    pub const MAX: usize = 50;
}

impl TryFrom<Vec<Tag>> for Tags {
    type Error = Invalid;

    fn try_from(tags: Vec<Tag>) -> Result<Self, Invalid> {
        if tags.len() > Self::MAX {
            return Err(Invalid::new(
                "too_long",
                format!("At most {} tags are allowed.", Self::MAX),
            ));
        }
        let mut seen = HashSet::new();
        if !tags.iter().all(|tag| seen.insert(tag)) {
            return Err(Invalid::new("repeated", "Each tag may stand only once."));
        }
        Ok(Self(tags))
    }
}

impl PartialSchema for Tags {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new()
            .description(Some(
                "Words of the caller's own, each once, in the order given.",
            ))
            .items(Tag::schema())
            .max_items(Some(Self::MAX))
            .unique_items(true)
            .into()
    }
}

impl ToSchema for Tags {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn code<T: std::str::FromStr<Err = Invalid> + std::fmt::Debug>(input: &str) -> &'static str {
        input.parse::<T>().expect_err("invalid").code
    }

    #[test]
    fn text_is_kept_in_nfc_and_otherwise_as_it_came() {
        let text: Text<0, 20> = " u\u{308}\n\u{1}".parse().expect("valid");
        assert_eq!(text.as_str(), " \u{fc}\n\u{1}");
    }

    #[test]
    fn length_is_counted_in_characters_after_nfc() {
        assert!("u\u{308}u\u{308}".parse::<Text<2, 2>>().is_ok());
        assert!("😀😀".parse::<Line<2, 2>>().is_ok());
        assert_eq!(code::<Text<2, 9>>("u\u{308}"), "too_short");
        assert_eq!(code::<Text<0, 2>>("abc"), "too_long");
        assert_eq!(code::<Text<0, 1>>("\u{958}"), "too_long");
    }

    #[test]
    fn nul_is_refused_everywhere_in_text_and_line() {
        for input in ["\0", "a\0", "\0a"] {
            assert_eq!(code::<Text<0, 9>>(input), "nul_character");
            assert_eq!(code::<Line<0, 9>>(input), "control_character");
        }
    }

    #[test]
    fn a_line_cannot_split_a_header_or_a_line_of_a_log() {
        for input in ["Hi\r\nBcc: x@example.org", "a\r", "\na", "\u{7f}", "\u{85}"] {
            assert_eq!(code::<Line<0, 99>>(input), "control_character", "{input:?}");
        }
        assert!("a\u{2028}b\u{2029}".parse::<Line<1, 9>>().is_ok());
    }

    #[test]
    fn text_that_must_not_be_empty_must_not_be_white_space_either() {
        assert_eq!(code::<Line<1, 9>>("\u{2003} \u{a0}"), "blank");
        assert_eq!(code::<Text<1, 9>>("\n\t"), "blank");
        assert_eq!(code::<Line<1, 9>>(""), "too_short");
        assert!("".parse::<Line<0, 9>>().is_ok());
    }

    #[test]
    fn json_goes_through_the_parser_and_comes_out_as_a_plain_string() {
        let line: Line<1, 5> = serde_json::from_value(json!("u\u{308}")).expect("valid");
        assert_eq!(serde_json::to_value(line).expect("valid"), json!("\u{fc}"));
        let refused = serde_json::from_value::<Line<1, 5>>(json!("abcdef")).expect_err("invalid");
        assert_eq!(
            refused.to_string(),
            "too_long: At most 5 characters are allowed."
        );
    }

    #[test]
    fn tags_keep_their_order_and_refuse_a_repeat_in_another_normalisation() {
        let tags: Tags = serde_json::from_value(json!(["b", "a", "A"])).expect("valid");
        assert_eq!(
            serde_json::to_value(tags).expect("valid"),
            json!(["b", "a", "A"])
        );
        let lines = ["\u{fc}", "u\u{308}"].map(|tag| tag.parse().expect("valid"));
        assert_eq!(
            Tags::try_from(lines.to_vec()).expect_err("invalid").code,
            "repeated"
        );
    }

    #[test]
    fn fifty_tags_fit_and_one_more_does_not() {
        let tags = |count: usize| -> Vec<Tag> {
            (0..count)
                .map(|n| n.to_string().parse().expect("valid"))
                .collect()
        };
        assert!(Tags::try_from(tags(50)).is_ok());
        assert_eq!(
            Tags::try_from(tags(51)).expect_err("invalid").code,
            "too_long"
        );
    }

    #[test]
    fn two_bounds_of_one_type_are_two_components() {
        assert_ne!(<Line<1, 5>>::name(), <Line<1, 6>>::name());
    }

    /// What the schema says, asked of a validator.
    fn validator<T: PartialSchema>() -> jsonschema::Validator {
        jsonschema::validator_for(&serde_json::to_value(T::schema()).expect("valid"))
            .expect("valid")
    }

    proptest! {
        #[test]
        fn parsing_again_changes_nothing(input in "\\PC{0,30}") {
            let text: Text<0, 99> = input.parse().expect("valid");
            prop_assert_eq!(text.as_str().parse::<Text<0, 99>>().expect("valid"), text);
        }

        #[test]
        fn the_schema_accepts_exactly_what_the_type_accepts(
            input in "[ \\x00-\\x20\\x7f-\\xa0a\u{2003}\u{2028}\u{200b}\u{fc}]{0,4}",
        ) {
            let value = json!(input);
            prop_assert_eq!(validator::<Text<0, 3>>().is_valid(&value), input.parse::<Text<0, 3>>().is_ok());
            prop_assert_eq!(validator::<Text<1, 3>>().is_valid(&value), input.parse::<Text<1, 3>>().is_ok());
            prop_assert_eq!(validator::<Line<0, 3>>().is_valid(&value), input.parse::<Line<0, 3>>().is_ok());
            prop_assert_eq!(validator::<Line<1, 3>>().is_valid(&value), input.parse::<Line<1, 3>>().is_ok());
        }
    }
}
