//! A bounded JSON object that the database gives back equal.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Number, Value};
use sqlx::types::Json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ArrayBuilder, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, Type, schema::SchemaType,
    },
};

use super::{Invalid, PlainJson};

const MAX_BYTES: usize = 16_384;
const MAX_DEPTH: usize = 32;
/// 2^53 − 1, the largest integer that every reader of JSON keeps exactly (RFC 7493, section 2.2).
const MAX_NUMBER: u64 = 9_007_199_254_740_991;

/// A JSON object of the caller's own: at most 16,384 bytes written without white space, at most 32
/// levels deep (the object itself is the first), without U+0000 in keys and strings.
///
/// A number is an IEEE 754 double from −(2^53 − 1) to 2^53 − 1. A larger one is refused, because it
/// has no exact form here: JSON readers turn integers into the nearest double, and Postgres writes
/// 1e16 back as an integer. It can be sent as a string. A fraction is the double nearest to it, and
/// −0.0 is 0.0, which is all that Postgres knows. Of a repeated key the last value stands. Strings
/// are kept as they came, not normalised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, sqlx::Type)]
#[serde(try_from = "Members")]
#[sqlx(transparent)]
pub struct JsonObject(Json<Members>);

/// An object's members, read plainly from a request and from the database alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
struct Members(Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match PlainJson::deserialize(deserializer)? {
            PlainJson(Value::Object(map)) => Ok(Self(map)),
            PlainJson(_) => Err(D::Error::custom(Invalid::new(
                "invalid",
                "An object is expected.",
            ))),
        }
    }
}

impl TryFrom<Members> for JsonObject {
    type Error = Invalid;

    fn try_from(Members(map): Members) -> Result<Self, Invalid> {
        Self::try_from(map)
    }
}

impl TryFrom<Map<String, Value>> for JsonObject {
    type Error = Invalid;

    fn try_from(mut map: Map<String, Value>) -> Result<Self, Invalid> {
        check_object(&mut map, 1)?;
        let bytes = serde_json::to_vec(&map).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_BYTES {
            return Err(Invalid::new(
                "too_long",
                format!(
                    "At most {MAX_BYTES} bytes of JSON, written without white space, are allowed."
                ),
            ));
        }
        Ok(Self(Json(Members(map))))
    }
}

fn check_object(map: &mut Map<String, Value>, depth: usize) -> Result<(), Invalid> {
    check_depth(depth)?;
    for (key, value) in map {
        check_string(key)?;
        check(value, depth)?;
    }
    Ok(())
}

/// Checks what stands in an object or array of this depth.
fn check(value: &mut Value, depth: usize) -> Result<(), Invalid> {
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::String(string) => check_string(string),
        Value::Number(number) => check_number(number),
        Value::Object(map) => check_object(map, depth + 1),
        Value::Array(values) => {
            check_depth(depth + 1)?;
            values
                .iter_mut()
                .try_for_each(|value| check(value, depth + 1))
        }
    }
}

fn check_depth(depth: usize) -> Result<(), Invalid> {
    if depth > MAX_DEPTH {
        return Err(Invalid::new(
            "too_deep",
            format!("At most {MAX_DEPTH} levels of objects and arrays are allowed."),
        ));
    }
    Ok(())
}

fn check_string(string: &str) -> Result<(), Invalid> {
    if string.contains('\0') {
        return Err(Invalid::new(
            "nul_character",
            "The character U+0000 is not allowed, neither in keys nor in strings.",
        ));
    }
    Ok(())
}

fn check_number(number: &mut Number) -> Result<(), Invalid> {
    #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact")]
    const MAX_FLOAT: f64 = MAX_NUMBER as f64;
    let fits = if let Some(integer) = number.as_i64() {
        integer.unsigned_abs() <= MAX_NUMBER
    } else {
        number
            .as_f64()
            .is_some_and(|float| float.abs() <= MAX_FLOAT)
    };
    if !fits {
        return Err(Invalid::new(
            "number_out_of_range",
            format!(
                "Numbers must be from -{MAX_NUMBER} to {MAX_NUMBER}; send a larger one as a string."
            ),
        ));
    }
    if number.is_f64() && number.as_f64() == Some(0.0) {
        *number = Number::from_f64(0.0).unwrap_or_else(|| 0.into());
    }
    Ok(())
}

impl PartialSchema for JsonObject {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .property_names(Some(nul_free_string()))
            .additional_properties(Some(Ref::from_schema_name("JsonValue")))
            .description(Some(format!(
                "An object of your own: at most {MAX_BYTES} bytes written without white space, at most {MAX_DEPTH} \
                 levels deep, without U+0000. Numbers are IEEE 754 doubles from -{MAX_NUMBER} to {MAX_NUMBER} \
                 (RFC 7493, section 2.2); send a larger or more exact one as a string."
            )))
            .into()
    }
}

impl ToSchema for JsonObject {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("JsonValue".to_owned(), value_schema()));
    }
}

/// What may stand in an object of the caller's own.
fn value_schema() -> RefOr<Schema> {
    OneOfBuilder::new()
        .description(Some("Any JSON within the bounds of `JsonObject`."))
        .item(ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::Null, Type::Boolean])))
        .item(
            ObjectBuilder::new()
                .schema_type(Type::Number)
                .minimum(Some(-MAX_NUMBER.cast_signed()))
                .maximum(Some(MAX_NUMBER)),
        )
        .item(nul_free_string())
        .item(ArrayBuilder::new().items(Ref::from_schema_name("JsonValue")))
        .item(Ref::from_schema_name("JsonObject"))
        .into()
}

fn nul_free_string() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^[^\u0000]*$"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse(json: &str) -> Result<JsonObject, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn code(value: Value) -> &'static str {
        let Value::Object(map) = value else {
            panic!("not an object")
        };
        JsonObject::try_from(map).expect_err("invalid").code
    }

    #[test]
    fn only_an_object_is_accepted() {
        assert_eq!(parse("{}"), Ok(JsonObject::default()));
        for json in ["[]", "null", "1", "\"{}\""] {
            assert!(parse(json).is_err(), "{json}");
        }
    }

    #[test]
    fn nul_is_refused_in_keys_and_strings_at_any_depth() {
        assert_eq!(code(json!({"a\0": 1})), "nul_character");
        assert_eq!(code(json!({"a": "\0"})), "nul_character");
        assert_eq!(code(json!({"a": [{"b": ["\0"]}]})), "nul_character");
        assert_eq!(code(json!({"a": [{"\0": 1}]})), "nul_character");
    }

    #[test]
    fn numbers_reach_as_far_as_every_reader_keeps_them_exactly() {
        assert!(
            parse(r#"{"a": [9007199254740991, -9007199254740991, 9007199254740991.0]}"#).is_ok()
        );
        for number in [
            "9007199254740992",
            "-9007199254740992",
            "9007199254740992.0",
            "18446744073709551616",
            "1e16",
            "-1e300",
        ] {
            let refused = parse(&format!(r#"{{"a": [{number}]}}"#)).expect_err("invalid");
            assert!(
                refused.contains("send a larger one as a string"),
                "{number}: {refused}"
            );
        }
        assert!(parse(r#"{"a": 1e400}"#).is_err());
    }

    #[test]
    fn minus_zero_is_written_as_the_zero_that_the_database_gives_back() {
        let object = parse(r#"{"a": -0.0, "b": [-0]}"#).expect("valid");
        assert_eq!(
            serde_json::to_string(&object).expect("valid"),
            r#"{"a":0.0,"b":[0.0]}"#
        );
    }

    #[test]
    fn thirty_two_levels_fit_and_one_more_does_not() {
        let nested = |arrays: usize| {
            let value = (0..arrays).fold(json!(1), |inner, _| json!([inner]));
            json!({ "a": value })
        };
        assert!(parse(&nested(31).to_string()).is_ok());
        assert_eq!(code(nested(32)), "too_deep");
        let objects = (0..33).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert_eq!(code(objects), "too_deep");
    }

    #[test]
    fn size_is_counted_in_bytes_of_compact_json() {
        let sized = |bytes: usize| json!({ "a": "ü".repeat((bytes - 8) / 2) });
        assert_eq!(sized(16_384).to_string().len(), 16_384);
        assert!(parse(&format!("{:#}   ", sized(16_384))).is_ok());
        assert_eq!(code(json!({ "a": "b".repeat(16_377) })), "too_long");
    }

    #[test]
    fn of_a_repeated_key_the_last_value_stands() {
        let object = parse(r#"{"a": 1, "a": 2}"#).expect("valid");
        assert_eq!(object.0.0.0["a"], json!(2));
    }

    /// JSON as the `jsonb` of Postgres writes it: numbers in full, without an exponent, the
    /// fraction's digits kept.
    fn through_postgres(value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let members = map
                    .iter()
                    .map(|(key, value)| format!("{}: {}", json!(key), through_postgres(value)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Value::Array(values) => {
                let values = values.iter().map(through_postgres);
                format!("[{}]", values.collect::<Vec<_>>().join(", "))
            }
            Value::Number(number) => in_full(&number.to_string()),
            other => other.to_string(),
        }
    }

    fn in_full(number: &str) -> String {
        let Some((digits, exponent)) = number.split_once("e-") else {
            return number.to_owned();
        };
        let (sign, digits) = digits
            .strip_prefix('-')
            .map_or(("", digits), |rest| ("-", rest));
        let zeros = "0".repeat(exponent.parse::<usize>().expect("valid") - 1);
        format!("{sign}0.{zeros}{}", digits.replace('.', ""))
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
            any::<f64>()
                .prop_filter("in range", |float| float.abs() < 9.0e15)
                .prop_map(Value::from),
            "[^\\x00]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[^\\x00]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// What the schema says, asked of a validator.
    fn validator() -> jsonschema::Validator {
        let schemas = json!({ "JsonObject": JsonObject::schema(), "JsonValue": value_schema() });
        let root = json!({
            "$ref": "#/components/schemas/JsonObject",
            "components": { "schemas": schemas },
        });
        jsonschema::validator_for(&root).expect("valid")
    }

    #[test]
    fn the_schema_refuses_what_the_type_refuses_but_for_depth_and_size() {
        let validator = validator();
        for object in [
            json!({"a\0": 1}),
            json!({"a": [{"b": ["\n\0"]}]}),
            json!({"a": [{"\0": 1}]}),
            json!({"a": 9_007_199_254_740_992_u64}),
            json!({"a": [[-1e300]]}),
        ] {
            assert!(!validator.is_valid(&object), "{object}");
            assert!(serde_json::from_value::<JsonObject>(object).is_err());
        }
    }

    proptest! {
        #[test]
        fn the_schema_accepts_what_the_type_accepts(value in value()) {
            let object = json!({ "a": value });
            prop_assert!(validator().is_valid(&object));
        }

        #[test]
        fn what_goes_in_comes_out_of_the_database(value in value()) {
            let sent = json!({ "a": value });
            let object = parse(&sent.to_string()).expect("valid");
            let stored = through_postgres(&serde_json::to_value(&object).expect("valid"));
            let read: JsonObject = serde_json::from_str(&stored).expect("valid");
            prop_assert_eq!(serde_json::to_string(&read).expect("valid"), serde_json::to_string(&object).expect("valid"));
            prop_assert_eq!(serde_json::to_value(&read).expect("valid"), sent);
        }
    }
}
