//! The views' place in the document.

use std::fmt::Write;

use axum::http::Method;
use utoipa::openapi::{
    ObjectBuilder, OpenApi, RefOr, Required, ResponseBuilder, Schema, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::ArrayItems,
};

use super::{
    Views, fields,
    operations::Operations,
    resource::{ALWAYS_SHOWN, Resource},
};
use crate::problem::{Code, document, takes};

/// Adds to the document the views that are configured, the parameters that narrow them, and what is refused
/// for them. What a view can hide is not required.
pub fn document_views(openapi: &mut OpenApi, resources: &[&'static Resource], views: &Views) {
    let operations = Operations::of(openapi, resources);
    for (path, item) in &mut openapi.paths.paths {
        for (method, operation) in [
            (Method::GET, &mut item.get),
            (Method::PUT, &mut item.put),
            (Method::POST, &mut item.post),
            (Method::DELETE, &mut item.delete),
            (Method::PATCH, &mut item.patch),
        ] {
            let (Some(operation), Some(known)) = (operation, operations.get(path, &method)) else {
                continue;
            };
            document(operation, &[Code::InvalidHeader, Code::FieldHidden]);
            let keyed = takes(operation, "Idempotency-Key", &ParameterIn::Header);
            let responses = &mut operation.responses.responses;
            if keyed && !responses.contains_key("204") {
                let description = "Done before, for a view that showed other fields";
                let response = ResponseBuilder::new().description(description).build();
                responses.insert("204".to_owned(), RefOr::T(response));
            }
            let parameters = operation.parameters.get_or_insert_default();
            if method == Method::GET && !known.shown.is_empty() {
                parameters.push(RefOr::T(fields::parameter(known)));
            }
            if views.platforms().next().is_some() {
                parameters.push(RefOr::T(platform(views)));
            }
        }
    }
    let schemas = &mut openapi.components.get_or_insert_default().schemas;
    for schema in schemas.values_mut() {
        require_what_is_always_shown(schema, resources);
    }
    let description = openapi.info.description.get_or_insert_default();
    for (view, shown) in views.told() {
        // Writing to a string does not fail.
        write!(description, "\n\nView `{view}` shows").ok();
        for (index, (resource, names)) in shown.iter().enumerate() {
            let joint = if index == 0 { "" } else { ";" };
            let names = if names.is_empty() { "nothing" } else { names };
            write!(description, "{joint} of {resource}: {names}").ok();
        }
        description.push('.');
    }
}

/// Leaves of the required fields of resources those that no view hides, also where a resource is written out
/// in the schema of another.
fn require_what_is_always_shown(schema: &mut RefOr<Schema>, resources: &[&'static Resource]) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            let is_one = resources.iter().any(|resource| {
                let fields = resource.fields;
                fields.len() == object.properties.len()
                    && fields
                        .iter()
                        .all(|field| object.properties.contains_key(*field))
            });
            if is_one {
                let required = &mut object.required;
                required.retain(|field| ALWAYS_SHOWN.contains(&field.as_str()));
            }
            for property in object.properties.values_mut() {
                require_what_is_always_shown(property, resources);
            }
        }
        RefOr::T(Schema::Array(array)) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                require_what_is_always_shown(items, resources);
            }
        }
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
}

fn platform(views: &Views) -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(views.platforms()));
    ParameterBuilder::new()
        .name("Client-Platform")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "The platform of the client: what its view hides is neither shown nor to be asked for.",
        ))
        .schema(Some(schema))
        .build()
}
