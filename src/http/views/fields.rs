//! The parameter `fields`: some of the fields that could be shown.

use utoipa::openapi::{
    ArrayBuilder, ObjectBuilder, Required, Type,
    path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle},
};

use super::{
    file::nearest,
    operations::Operation,
    resource::{FieldSet, Resource, Visible},
};
use crate::problem::{Code, FieldError, Problem};

pub(in crate::http) const FIELDS: &str = "fields";

/// Why the fields that a request names cannot be shown.
pub(super) enum Fault {
    /// They cannot be read, or one is not known.
    Invalid(FieldError),
    /// One is not allowed.
    Hidden(Problem),
}

/// What is visible of what `allowed` allows, if only the fields that `pairs` names are wanted.
pub(super) fn narrow(
    pairs: &[(String, String)],
    operation: &Operation,
    allowed: &Visible,
) -> Result<Visible, Fault> {
    let mut given = pairs.iter().filter(|(name, _)| name == FIELDS);
    let Some((_, wanted)) = given.next() else {
        return Ok(allowed.clone());
    };
    if given.next().is_some() {
        return Err(invalid("repeated", "This parameter may be given once."));
    }
    let mut shown: Vec<(&'static Resource, FieldSet)> = Vec::new();
    for (_, resource) in &operation.shown {
        shown.push((resource, 0));
    }
    for name in wanted.split(',') {
        let Some((at, field)) = find(operation, name) else {
            let known = known(operation);
            let nearest = nearest(name, known.iter().map(String::as_str));
            let detail = format!("There is no field of this name{nearest}.");
            return Err(invalid("invalid", detail));
        };
        let (resource, set) = &mut shown[at];
        if allowed.shown(resource) & field == 0 {
            let detail = format!("Your view hides `{name}`.");
            let error = FieldError::at_parameter(FIELDS, "hidden", detail);
            let problem = Problem::from(Code::FieldHidden).with_errors(vec![error]);
            return Err(Fault::Hidden(problem));
        }
        *set |= field;
    }
    Ok(allowed.and(&Visible::of(shown)))
}

fn invalid(code: &'static str, detail: impl Into<String>) -> Fault {
    Fault::Invalid(FieldError::at_parameter(FIELDS, code, detail))
}

/// Which of the resources that are shown has the field of this name, and the field.
fn find(operation: &Operation, name: &str) -> Option<(usize, FieldSet)> {
    let (part, field) = name.split_once('.').unwrap_or(("", name));
    let mut shown = operation.shown.iter();
    let at = shown.position(|(name, _)| name == part)?;
    Some((at, operation.shown[at].1.field(field)?))
}

/// All names that may stand in the parameter.
fn known(operation: &Operation) -> Vec<String> {
    let shown = operation.shown.iter().flat_map(|(part, resource)| {
        resource
            .fields
            .iter()
            .map(move |field| match part.as_str() {
                "" => (*field).to_owned(),
                part => format!("{part}.{field}"),
            })
    });
    shown.collect()
}

/// The parameter, of an operation that answers with resources.
pub(super) fn parameter(operation: &Operation) -> Parameter {
    let known = known(operation);
    let mut examples = known.iter().filter(|name| !name.ends_with("id"));
    let example = examples.next().cloned().unwrap_or_default();
    let description = format!(
        "Names of fields, separated by commas, such as `{example}`: no others are answered, but for `id`, \
         `created_at` and `version`, which always are."
    );
    let name = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(known));
    let schema = ArrayBuilder::new().items(name).min_items(Some(1)).build();
    ParameterBuilder::new()
        .name(FIELDS)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .style(Some(ParameterStyle::Form))
        .explode(Some(false))
        .schema(Some(schema))
        .build()
}
