//! From a JSON object to a typed value, finding every error at once.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};
use utoipa::{
    PartialSchema,
    openapi::{RefOr, Schema},
};

use crate::{
    problem::{Code, FieldError, Problem},
    values::Invalid,
};

/// Reads a request body.
///
/// # Errors
/// [`Code::MalformedJson`] if `bytes` is not one JSON document in UTF-8, [`Code::InvalidBody`] with
/// every field that is wrong if it is, but not a `T`.
pub fn body<T: DeserializeOwned + PartialSchema>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let decoded = serde_path_to_error::deserialize(&mut json);
    if let (Ok(value), Ok(())) = (decoded, json.end()) {
        return Ok(value);
    }
    // The slow path: something is wrong, so find out all that is.
    let body: Value = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    Err(Problem::from(Code::InvalidBody).with_errors(errors_in::<T>(body)))
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem::from(Code::MalformedJson).with_detail(format!("The body is not JSON: {error}."))
}

/// Every error in `body`, which is known not to be a `T`.
///
/// A decoder stops at the first error. So each field is tried alone, in the documented example's
/// place: the example is valid, and what fails then is that field.
fn errors_in<T: DeserializeOwned + PartialSchema>(body: Value) -> Vec<FieldError> {
    let Value::Object(fields) = body else {
        return vec![FieldError::at_pointer(
            [],
            "invalid",
            "An object is expected.",
        )];
    };
    let Shape {
        properties,
        required,
        example,
    } = Shape::of::<T>();
    let mut errors = Vec::new();
    for name in required.iter().filter(|name| !fields.contains_key(*name)) {
        errors.push(FieldError::at_pointer(
            [&**name],
            "required",
            "This field is required.",
        ));
    }
    for (name, value) in &fields {
        if !properties.contains(name) {
            let detail = unknown(name, &properties, "field");
            errors.push(FieldError::at_pointer([&**name], "unknown", detail));
            continue;
        }
        let mut probe = example.clone();
        probe.insert(name.clone(), value.clone());
        if let Err(error) = serde_path_to_error::deserialize::<_, T>(Value::Object(probe)) {
            let steps = steps(error.path());
            let (code, detail) = code_and_detail(error.inner());
            errors.push(FieldError::at_pointer(
                steps.iter().map(String::as_str),
                code,
                detail,
            ));
        }
    }
    if errors.is_empty() {
        // Each field is good alone: a field came twice, which only the text shows.
        errors.push(FieldError::at_pointer(
            [],
            "repeated",
            "A field stands in the body twice.",
        ));
    }
    errors
}

/// What a value's own check said, or what serde says of a wrong type.
fn code_and_detail(error: &serde_json::Error) -> (String, String) {
    let text = error.to_string();
    match Invalid::split(&text) {
        Some((code, detail)) => (code.to_owned(), detail.to_owned()),
        None => ("invalid".to_owned(), text),
    }
}

fn steps(path: &Path) -> Vec<String> {
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => String::from("?"),
        })
        .collect()
}

/// What is known of a body's type from its schema.
struct Shape {
    properties: BTreeSet<String>,
    required: Vec<String>,
    example: Map<String, Value>,
}

impl Shape {
    fn of<T: PartialSchema>() -> Self {
        let RefOr::T(Schema::Object(object)) = T::schema() else {
            return Self {
                properties: BTreeSet::new(),
                required: Vec::new(),
                example: Map::new(),
            };
        };
        let example = object.examples.into_iter().chain(object.example).next();
        Self {
            properties: object.properties.into_keys().collect(),
            required: object.required,
            example: match example {
                Some(Value::Object(example)) => example,
                _ => Map::new(),
            },
        }
    }
}

/// Reads parameters that were given as text.
///
/// # Errors
/// [`Code::InvalidParameter`] with every parameter that is unknown, repeated or wrong.
pub fn parameters<T: DeserializeOwned>(
    pairs: impl IntoIterator<Item = (String, String)>,
) -> Result<T, Problem> {
    let mut parameters = Map::new();
    let mut errors = Vec::new();
    for (name, value) in pairs {
        if parameters.contains_key(&name) {
            let detail = "This parameter may be given once.";
            errors.push(FieldError::at_parameter(name, "repeated", detail));
            continue;
        }
        parameters.insert(name, Value::String(value));
    }
    if errors.is_empty()
        && let Ok(value) = serde_json::from_value(Value::Object(parameters.clone()))
    {
        return Ok(value);
    }
    // Every parameter is optional, so that each can be tried alone.
    for (name, value) in parameters {
        let alone = Map::from_iter([(name.clone(), value)]);
        if let Err(error) = serde_json::from_value::<T>(Value::Object(alone)) {
            let (code, detail) = code_and_detail(&error);
            errors.push(FieldError::at_parameter(name, code, detail));
        }
    }
    Err(Problem::from(Code::InvalidParameter).with_errors(errors))
}

/// Says of an unknown name what is known, and which of it is near.
pub(super) fn unknown<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a String> + Clone,
    kind: &str,
) -> String {
    let near = known.clone().into_iter().find(|candidate| {
        candidate.eq_ignore_ascii_case(name) || candidate.replace('_', "") == name.to_lowercase()
    });
    if let Some(near) = near {
        return format!("There is no {kind} of this name; did you mean `{near}`?");
    }
    let known: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
    if known.is_empty() {
        format!("There is no {kind} of this name, and none is known here.")
    } else {
        format!(
            "There is no {kind} of this name; known are {}.",
            known.join(", ")
        )
    }
}
