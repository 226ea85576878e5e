//! JSON as it stands in the text.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// A JSON value, read key by key.
///
/// `serde_json::Value` itself takes an object with one key of its own for a text to be read in its
/// place: what comes out is another value than the one sent, and each such text may be nested as
/// deeply again, until the stack ends.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainJson(pub Value);

impl<'de> Deserialize<'de> for PlainJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // JSON has no number that is not finite.
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(PlainJson(value)) = elements.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, PlainJson(value))) = members.next_entry::<String, _>()? {
            map.insert(name, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_key_is_a_key_like_any_other() {
        let text =
            r#"{"$serde_json::private::RawValue":"{\"a\":1}","$serde_json::private::Number":"1"}"#;
        let PlainJson(value) = serde_json::from_str(text).expect("JSON");
        assert_eq!(value["$serde_json::private::RawValue"], json!("{\"a\":1}"));
        assert_eq!(value["$serde_json::private::Number"], json!("1"));
    }

    #[test]
    fn it_reads_what_serde_json_reads() {
        for text in [
            "null",
            "true",
            "-1",
            "18446744073709551615",
            "1.5e3",
            "\"\\u00e9\"",
            "[[],{}]",
            "{\"a\":{\"b\":[1]}}",
        ] {
            let PlainJson(value) = serde_json::from_str(text).expect(text);
            assert_eq!(value, serde_json::from_str::<Value>(text).expect(text));
        }
    }
}
