//! Forms of an input that serde's own decoders would take besides the documented one.

use serde::{Deserialize, Deserializer, de::Error, de::IntoDeserializer};
use uuid::{Uuid, fmt::Hyphenated};

use super::Invalid;

/// Reads a word of a closed list: a string, where a decoded enum would also take an object that has
/// the word as its key.
pub fn word<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let word = String::deserialize(deserializer)?;
    T::deserialize(word.into_deserializer())
}

/// As [`word`], or null.
pub fn optional_word<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let word = Option::<String>::deserialize(deserializer)?;
    word.map(|word| T::deserialize(word.into_deserializer()))
        .transpose()
}

/// Reads an id in the one form that the schema's `uuid` stands for: hyphenated, its digits in either
/// case (RFC 9562, section 4).
pub fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// As [`id`], or null.
pub fn optional_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Uuid>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.as_deref()
        .map(parse)
        .transpose()
        .map_err(D::Error::custom)
}

/// Reads `true` or `false` from a parameter, which is text.
pub fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(|_| D::Error::custom(Invalid::new("invalid", "`true` or `false` is expected.")))
}

/// Refuses a field that is read and never written, and says what to do instead.
///
/// # Errors
/// Always.
pub fn read_only<'de, D: Deserializer<'de>>(_: D, instead: &str) -> Result<(), D::Error> {
    Err(D::Error::custom(Invalid::new("read_only", instead)))
}

fn parse(text: &str) -> Result<Uuid, Invalid> {
    text.parse::<Hyphenated>()
        .map(Hyphenated::into_uuid)
        .map_err(|_| {
            Invalid::new(
                "invalid",
                "An id has the form 018cc251-f400-7000-8000-000000000001 (RFC 9562, section 4).",
            )
        })
}
