//! What the parts of an operation add to the OpenAPI document: header fields and statuses that come
//! with a parameter, the forms of a list, and links.

use axum::http::Method;
use utoipa::openapi::{
    Content, ContentBuilder, Header, HeaderBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Required,
    Response, ResponseBuilder, Type,
    link::LinkBuilder,
    path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
    schema::SchemaType,
};

use crate::problem::takes;

/// An optional parameter in the header.
pub(super) fn header_parameter(name: &str, pattern: &str, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .pattern(Some(pattern)),
        ))
        .build()
}

/// The operations of a path, to be added to.
pub(super) fn operations_of(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
    ]
    .into_iter()
    .flatten()
}

/// Adds to each operation what its preconditions, preferences and idempotency key bring into its answers.
pub fn document_contract(openapi: &mut OpenApi) {
    for item in openapi.paths.paths.values_mut() {
        for (method, operation) in [
            (Method::GET, &mut item.get),
            (Method::PUT, &mut item.put),
            (Method::POST, &mut item.post),
            (Method::DELETE, &mut item.delete),
            (Method::PATCH, &mut item.patch),
        ] {
            let Some(operation) = operation else { continue };
            if takes(operation, "If-Match", &ParameterIn::Header) {
                for response in representations(operation) {
                    response
                        .headers
                        .insert("ETag".to_owned(), entity_tag().into());
                }
                if method == Method::GET {
                    let response = ResponseBuilder::new()
                        .description("The client has it already")
                        .header("ETag", entity_tag());
                    add(operation, "304", response);
                }
            }
            if takes(operation, "format", &ParameterIn::Query) {
                document_forms(operation);
            }
            if takes(operation, "Prefer", &ParameterIn::Header) {
                for response in representations(operation) {
                    let applied = preference_applied();
                    response
                        .headers
                        .insert("Preference-Applied".to_owned(), applied.into());
                }
                if answers_with_tag(operation) {
                    let response = ResponseBuilder::new()
                        .description("Done; no representation was asked for")
                        .header("ETag", entity_tag())
                        .header("Preference-Applied", preference_applied());
                    add(operation, "204", response);
                }
            }
            if takes(operation, "Idempotency-Key", &ParameterIn::Header) {
                for response in kept(operation) {
                    let replayed = idempotency_replayed().into();
                    response
                        .headers
                        .insert("Idempotency-Replayed".to_owned(), replayed);
                }
            }
        }
    }
}

/// Links what an operation creates with what can be done to it (OpenAPI 3.1, section 4.8.20): the
/// operations whose path is that of the collection, one more parameter, and what may follow it.
pub fn document_links(openapi: &mut OpenApi) {
    let targets: Vec<(String, String)> = openapi
        .paths
        .paths
        .iter()
        .flat_map(|(path, item)| {
            let operations = [&item.get, &item.put, &item.post, &item.delete, &item.patch];
            operations
                .into_iter()
                .flatten()
                .filter_map(|operation| Some((path.clone(), operation.operation_id.clone()?)))
        })
        .collect();
    for (collection, item) in &mut openapi.paths.paths {
        let Some(create) = &mut item.post else {
            continue;
        };
        let Some(RefOr::T(created)) = create.responses.responses.get_mut("201") else {
            continue;
        };
        let inherited: Vec<_> = parameters(collection).collect();
        for (path, operation_id) in &targets {
            let Some(rest) = path.strip_prefix(collection.as_str()) else {
                continue;
            };
            let [own] = parameters(rest).collect::<Vec<_>>()[..] else {
                continue;
            };
            if !rest.starts_with(&format!("/{{{own}}}")) {
                continue;
            }
            let mut link = LinkBuilder::new()
                .operation_id(operation_id.as_str())
                .parameter(own, "$response.body#/id");
            for name in &inherited {
                link = link.parameter(*name, format!("$request.path.{name}"));
            }
            let link = RefOr::T(link.build());
            created.links.insert(operation_id.clone(), link);
        }
    }
}

/// The names of a path's parameters.
fn parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|step| step.strip_prefix('{')?.strip_suffix('}'))
}

/// Adds to a list the forms besides the page.
fn document_forms(operation: &mut Operation) {
    let last_event = header_parameter(
        "Last-Event-ID",
        ".*",
        "The `id` of the last event that was received: the stream of events goes on behind it, and \
         `limit` counts from there. Other forms pass it over.",
    );
    operation
        .parameters
        .get_or_insert_default()
        .push(RefOr::T(last_event));
    if let Some(RefOr::T(response)) = operation.responses.responses.get_mut("200") {
        let page = response.content.get("application/json");
        let row = page.and_then(|content| match content {
            RefOr::T(Content {
                schema: Some(RefOr::Ref(page)),
                ..
            }) => page.ref_location.split_once("/Page_"),
            _ => None,
        });
        let row = row.map(|(schemas, row)| Ref::new(format!("{schemas}/{row}")));
        let row = ContentBuilder::new().schema(row).build();
        let csv = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "RFC 4180, with a header. Lists and objects are JSON; a cell that a spreadsheet would \
                 read as a formula, and one that begins with `'`, has a `'` in front.",
            ));
        // Some take a schema here for that of the whole text, and some for that of an event.
        let events = ObjectBuilder::new()
            .schema_type(SchemaType::AnyValue)
            .description(Some(
                "An event for each row, its `data` the row as JSON and its `id` for `Last-Event-ID`; and \
                 at the end an event `end` with the number of rows.",
            ));
        let csv = ContentBuilder::new().schema(Some(csv)).build();
        let events = ContentBuilder::new().schema(Some(events)).build();
        for (media_type, content) in [
            ("application/x-ndjson", row),
            ("text/csv", csv),
            ("text/event-stream", events),
        ] {
            let content = RefOr::T(content);
            response.content.insert(media_type.to_owned(), content);
        }
    }
    let ended = ResponseBuilder::new().description("Nothing is left of the stream of events");
    add(operation, "204", ended);
}

/// The answers that are a success and have a body.
fn representations(operation: &mut Operation) -> impl Iterator<Item = &mut Response> {
    let responses = operation.responses.responses.iter_mut();
    responses.filter_map(|(status, response)| match response {
        RefOr::T(response) if status.starts_with('2') && !response.content.is_empty() => {
            Some(response)
        }
        _ => None,
    })
}

/// Whether 200 is the answer with one resource.
fn answers_with_tag(operation: &Operation) -> bool {
    let response = operation.responses.responses.get("200");
    matches!(response, Some(RefOr::T(response)) if response.headers.contains_key("ETag"))
}

/// The answers that are kept under an idempotency key.
fn kept(operation: &mut Operation) -> impl Iterator<Item = &mut Response> {
    let responses = operation.responses.responses.iter_mut();
    responses.filter_map(|(status, response)| match response {
        RefOr::T(response) if status.starts_with('2') || ["409", "422"].contains(&&**status) => {
            Some(response)
        }
        _ => None,
    })
}

fn add(operation: &mut Operation, status: &str, response: ResponseBuilder) {
    let responses = &mut operation.responses.responses;
    responses.insert(status.to_owned(), RefOr::T(response.build()));
}

fn entity_tag() -> Header {
    text("Entity tag of the version, for `If-Match` and `If-None-Match`")
}

fn preference_applied() -> Header {
    text("The preference that was followed (RFC 7240, section 3)")
}

fn idempotency_replayed() -> Header {
    text("`true` if this is the answer to an earlier request with the same `Idempotency-Key`")
}

/// A field of an answer's header that holds a text.
pub(super) fn text(description: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(Type::String);
    HeaderBuilder::new()
        .description(Some(description))
        .schema(Some(schema))
        .build()
}
