//! From a JSON object to a typed value, finding every error at once.

use std::{cell::LazyCell, collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};
use utoipa::{
    PartialSchema,
    openapi::{RefOr, Schema},
};

use crate::{
    problem::{Code, FieldError, Problem},
    values::{Invalid, PlainJson},
};

/// How many errors an answer names at most, and how long each may be, in bytes: the answer to a
/// small request must not be a large one.
pub(super) const MAX_ERRORS: usize = 100;
const MAX_DETAIL: usize = 300;

/// Reads a request body.
///
/// # Errors
/// [`Code::MalformedJson`] if `bytes` is not one JSON document in UTF-8, [`Code::InvalidBody`] with
/// every field that is wrong if it is, but not a `T`.
pub fn body<T: DeserializeOwned + PartialSchema>(bytes: &[u8]) -> Result<T, Problem> {
    body_of_shape(bytes, &LazyCell::new(Shape::of::<T>))
}

/// Reads texts of which each is such a body.
pub(super) fn bodies<'a, T: DeserializeOwned + PartialSchema>(
    texts: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = Result<T, Problem>> {
    let shape = LazyCell::new(Shape::of::<T> as fn() -> Shape);
    texts.map(move |text| body_of_shape(text, &shape))
}

fn body_of_shape<T: DeserializeOwned>(bytes: &[u8], shape: &LazyCell<Shape>) -> Result<T, Problem> {
    // A decoder would also take an array, by the order in which the fields are declared.
    if bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return Ok(value);
    }
    // The slow path: something is wrong, so find out all that is.
    let PlainJson(body) = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    let mut errors = errors_in::<T>(shape, body);
    errors.extend(repeated_fields(bytes));
    errors.truncate(MAX_ERRORS);
    Err(Problem::from(Code::InvalidBody).with_errors(errors))
}

/// Reads what was put together from a body.
///
/// # Errors
/// [`Code::InvalidBody`] with every field that is wrong.
pub fn value<T: DeserializeOwned + PartialSchema>(value: Value) -> Result<T, Problem> {
    if value.is_object()
        && let Ok(value) = T::deserialize(&value)
    {
        return Ok(value);
    }
    Err(Problem::from(Code::InvalidBody).with_errors(errors_in::<T>(&Shape::of::<T>(), value)))
}

/// Reads a request body that has some of the fields of a `T`, and leaves open whether together with
/// others they make a valid one. Neither what a `T` requires nor `always_there` may be null.
///
/// # Errors
/// [`Code::MalformedJson`]; [`Code::InvalidBody`] if it is no object, or has a field more than once
/// or one that a `T` has not.
pub fn fields<T: DeserializeOwned + PartialSchema>(
    bytes: &[u8],
    always_there: &[&str],
) -> Result<Map<String, Value>, Problem> {
    let PlainJson(body) = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    let invalid = |errors| Problem::from(Code::InvalidBody).with_errors(errors);
    let Value::Object(mut fields) = body else {
        return Err(invalid(vec![not_an_object()]));
    };
    let shape = Shape::of::<T>();
    let mut errors = repeated_fields(bytes);
    let always_there = always_there.iter().copied();
    let always_there = always_there.chain(shape.required.iter().map(String::as_str));
    let cleared = always_there.filter(|name| fields.get(*name).is_some_and(Value::is_null));
    errors.extend(cleared.map(required));
    if errors.is_empty() && fields.keys().all(|name| shape.properties.contains(name)) {
        return Ok(fields);
    }
    fields.retain(|name, value| !value.is_null() || !shape.properties.contains(name));
    errors.extend(wrong_fields::<T>(&shape, &fields));
    errors.truncate(MAX_ERRORS);
    Err(invalid(errors))
}

/// Which fields stand more than once, which only the text shows.
fn repeated_fields(bytes: &[u8]) -> Vec<FieldError> {
    struct Repeated(BTreeSet<String>);

    impl<'de> Deserialize<'de> for Repeated {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Names;

            impl<'de> Visitor<'de> for Names {
                type Value = Repeated;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Repeated, A::Error> {
                    let mut seen = BTreeSet::new();
                    let mut repeated = BTreeSet::new();
                    while let Some((name, IgnoredAny)) = map.next_entry::<String, _>()? {
                        if let Some(name) = seen.replace(name) {
                            repeated.insert(name);
                        }
                    }
                    Ok(Repeated(repeated))
                }
            }

            deserializer.deserialize_map(Names)
        }
    }

    let Ok(Repeated(names)) = serde_json::from_slice(bytes) else {
        return Vec::new();
    };
    names
        .iter()
        .map(|name| {
            let detail = "This field may stand in the body once.";
            FieldError::at_pointer([name.as_str()], "repeated", detail)
        })
        .collect()
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem::from(Code::MalformedJson).with_detail(format!("The body is not JSON: {error}."))
}

/// Every error in `body`, which is known not to be a `T`.
///
/// A decoder stops at the first error. So each field is tried alone, in the documented example's
/// place: the example is valid, and what fails then is that field.
fn errors_in<T: DeserializeOwned>(shape: &Shape, body: Value) -> Vec<FieldError> {
    let Value::Object(fields) = body else {
        return vec![not_an_object()];
    };
    let missing = shape.required.iter();
    let mut errors: Vec<_> = missing
        .filter(|name| !fields.contains_key(*name))
        .map(|name| required(name))
        .collect();
    errors.extend(wrong_fields::<T>(shape, &fields));
    errors.truncate(MAX_ERRORS);
    errors
}

fn required(name: &str) -> FieldError {
    FieldError::at_pointer([name], "required", "This field is required.")
}

fn not_an_object() -> FieldError {
    FieldError::at_pointer([], "invalid", "An object is expected.")
}

/// The fields that a `T` has not, or has otherwise.
fn wrong_fields<T: DeserializeOwned>(
    shape: &Shape,
    fields: &Map<String, Value>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, value) in fields {
        if errors.len() == MAX_ERRORS {
            break;
        }
        let mut probe = shape.example.clone();
        probe.insert(name.clone(), value.clone());
        let probed = serde_path_to_error::deserialize::<_, T>(Value::Object(probe));
        let known = shape.properties.contains(name);
        // A field that is not the caller's to set says so itself.
        let speaks = |error: &serde_path_to_error::Error<serde_json::Error>| {
            Invalid::split(&error.inner().to_string()).is_some()
        };
        if !known && !probed.as_ref().is_err_and(speaks) {
            let detail = unknown(name, &shape.properties, "field");
            errors.push(FieldError::at_pointer([&**name], "unknown", detail));
            continue;
        }
        if let Err(error) = probed {
            let steps = steps(error.path());
            let (code, detail) = code_and_detail(error.inner());
            errors.push(FieldError::at_pointer(
                steps.iter().map(String::as_str),
                code,
                detail,
            ));
        }
    }
    errors
}

/// What a value's own check said, or what serde says of a wrong type.
fn code_and_detail(error: &serde_json::Error) -> (String, String) {
    let text = error.to_string();
    match Invalid::split(&text) {
        Some((code, detail)) => (code.to_owned(), detail.to_owned()),
        None => ("invalid".to_owned(), shortened(text)),
    }
}

/// Cuts what repeats the input, which may be long.
fn shortened(mut text: String) -> String {
    if text.len() > MAX_DETAIL {
        text.truncate(text.floor_char_boundary(MAX_DETAIL));
        text.push('…');
    }
    text
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

/// The parameters of a request, each given as text, and what is wrong with them.
#[derive(Debug)]
pub struct Parameters {
    values: Value,
    errors: Vec<FieldError>,
}

impl Parameters {
    /// Takes each parameter once; `errors` are known already.
    #[must_use]
    pub fn new(
        pairs: impl IntoIterator<Item = (String, String)>,
        mut errors: Vec<FieldError>,
    ) -> Self {
        let mut values = Map::new();
        for (name, value) in pairs {
            if values.contains_key(&name) {
                let detail = "This parameter may be given once.";
                errors.push(FieldError::at_parameter(name, "repeated", detail));
                continue;
            }
            values.insert(name, Value::String(value));
        }
        Self {
            values: Value::Object(values),
            errors,
        }
    }

    /// Reads those that a `T` has; none if one is wrong, of these or of others.
    pub fn read<T: DeserializeOwned>(&mut self) -> Option<T> {
        if let Ok(value) = T::deserialize(&self.values) {
            return self.errors.is_empty().then_some(value);
        }
        // Each is tried alone. An error that lies in no parameter says that another is missing.
        for (name, value) in self.values.as_object().into_iter().flatten() {
            let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
            if let Err(error) = serde_path_to_error::deserialize::<_, T>(alone)
                && error.path().iter().next().is_some()
            {
                let (code, detail) = code_and_detail(error.inner());
                self.errors
                    .push(FieldError::at_parameter(name, code, detail));
            }
        }
        None
    }

    /// [`Code::InvalidParameter`] with every parameter that is repeated or was found wrong.
    #[must_use]
    pub fn refused(mut self) -> Problem {
        self.errors.truncate(MAX_ERRORS);
        Problem::from(Code::InvalidParameter).with_errors(self.errors)
    }
}

/// Reads parameters that were given as text; `errors` are known already.
///
/// # Errors
/// [`Code::InvalidParameter`] with these errors and every parameter that is repeated or wrong.
pub fn parameters<T: DeserializeOwned>(
    pairs: impl IntoIterator<Item = (String, String)>,
    errors: Vec<FieldError>,
) -> Result<T, Problem> {
    let mut parameters = Parameters::new(pairs, errors);
    parameters.read().ok_or_else(|| parameters.refused())
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
