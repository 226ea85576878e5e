//! The problems' place in the OpenAPI document.

use std::collections::BTreeMap;

use utoipa::{
    PartialSchema,
    openapi::{
        Content, ContentBuilder, Header, HeaderBuilder, ObjectBuilder, OpenApi, Ref, RefOr,
        Response, ResponseBuilder, Type,
        example::{Example, ExampleBuilder},
        path::{Operation, ParameterIn},
    },
};

use super::{
    Code, FieldError, Problem,
    document::{MEDIA_TYPE, ProblemDocument},
};
use crate::values::PublicUrl;

/// Names a set of problems for the `responses(...)` of an operation.
///
/// `refusals!(WriteRefusals: EmailTaken, ExternalIdTaken);`
#[macro_export]
macro_rules! refusals {
    ($(#[$meta:meta])* $visible:vis $name:ident: $($code:ident),+ $(,)?) => {
        $(#[$meta])*
        $visible struct $name;

        impl utoipa::IntoResponses for $name {
            fn responses() -> std::collections::BTreeMap<
                String,
                utoipa::openapi::RefOr<utoipa::openapi::Response>,
            > {
                $crate::problem::responses(&[$($crate::problem::Code::$code),+])
            }
        }
    };
}

/// The OpenAPI responses for a set of problems, one for each status.
#[must_use]
pub fn responses(codes: &[Code]) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status = BTreeMap::<String, Vec<Code>>::new();
    for code in codes {
        let status = code.status().as_str().to_owned();
        by_status.entry(status).or_default().push(*code);
    }
    by_status
        .into_iter()
        .map(|(status, codes)| (status, RefOr::T(response(&codes))))
        .collect()
}

fn response(codes: &[Code]) -> Response {
    let titles = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.as_str(), code.entry().title));
    let examples = codes.iter().map(|code| {
        let reference = Ref::new(format!("#/components/examples/{}", code.as_str()));
        (code.as_str().to_owned(), RefOr::Ref(reference))
    });
    let mut content = problem_content();
    content.examples = examples.collect();
    let response = ResponseBuilder::new()
        .description(titles.collect::<Vec<_>>().join("; "))
        .content(MEDIA_TYPE, content);
    let response = if codes.iter().any(|code| code.passes()) {
        response.header("Retry-After", retry_after())
    } else {
        response
    };
    if codes.contains(&Code::UnsupportedPatchType) {
        response.header("Accept-Patch", accept_patch()).build()
    } else {
        response.build()
    }
}

fn accept_patch() -> Header {
    let types = ObjectBuilder::new().schema_type(Type::String);
    HeaderBuilder::new()
        .description(Some("The media types of patches (RFC 5789, section 3.1)"))
        .schema(Some(types))
        .build()
}

fn retry_after() -> Header {
    let seconds = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0));
    HeaderBuilder::new()
        .description(Some("Seconds to wait before the next attempt"))
        .schema(Some(seconds))
        .build()
}

fn problem_content() -> Content {
    ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Problem")))
        .build()
}

/// Adds the problems to the document: their schema, an example of each, and to each operation what
/// its parts can answer: its parameters, its body, and the service as a whole. What an operation
/// alone can answer stands in its own declaration.
pub fn document_problems(openapi: &mut OpenApi) {
    let components = openapi.components.get_or_insert_default();
    for (name, schema) in [
        ("Problem", ProblemDocument::schema()),
        ("FieldError", FieldError::schema()),
    ] {
        components.schemas.insert(name.to_owned(), schema);
    }
    // That one is answered where there is no operation to show it.
    let unlisted = Code::MethodNotAllowed;
    for code in Code::ALL.iter().copied().filter(|code| *code != unlisted) {
        let example = RefOr::T(example(code));
        components
            .examples
            .insert(code.as_str().to_owned(), example);
    }
    for item in openapi.paths.paths.values_mut() {
        let reads = [&mut item.get].map(|operation| (false, operation));
        let writes = [
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
        ]
        .map(|operation| (true, operation));
        for (writes, operation) in reads.into_iter().chain(writes) {
            let Some(operation) = operation else { continue };
            let codes = codes_of_parts(operation, writes);
            document(operation, &codes);
        }
    }
}

fn example(code: Code) -> Example {
    let problem = Problem::from(code);
    let problem = match code {
        Code::InvalidParameter => problem.with_errors(vec![FieldError::at_parameter(
            "limit",
            "out_of_range",
            "A whole number from 1 to 500 is expected.",
        )]),
        Code::InvalidHeader => problem.with_errors(vec![FieldError::at_header(
            "if-match",
            "invalid",
            "`*` or a list of entity tags is expected, such as \"3\".",
        )]),
        Code::BatchRefused => problem.with_errors(vec![FieldError::at_pointer(
            ["items", "3", "email"],
            Code::EmailTaken.as_str(),
            Code::EmailTaken.entry().advice,
        )]),
        Code::InvalidBody => problem.with_errors(vec![FieldError::at_pointer(
            ["name"],
            "required",
            "This field is required.",
        )]),
        _ => problem,
    };
    let document = ProblemDocument::new(
        problem,
        "019ad2b0-5cf1-7b7e-a1f0-0b0e5b2f9c11",
        &PublicUrl::default(),
    );
    ExampleBuilder::new()
        .summary(code.entry().title)
        .value(serde_json::to_value(document).ok())
        .build()
}

/// Every operation refuses a query parameter that it does not know, so [`Code::InvalidParameter`]
/// is everyone's. What writes may be sent a body, even if it wants none: that is read first.
fn codes_of_parts(operation: &Operation, writes: bool) -> Vec<Code> {
    let mut codes = vec![
        Code::InvalidParameter,
        Code::InvalidHost,
        Code::UnknownHost,
        Code::UriTooLong,
        Code::HeaderFieldsTooLarge,
        Code::InternalError,
        Code::DatabaseUnavailable,
        Code::TimedOut,
        Code::Overloaded,
        Code::ShuttingDown,
    ];
    if writes {
        codes.extend([
            Code::MalformedJson,
            Code::WriteConflict,
            Code::RequestTimeout,
            Code::ContentTooLarge,
        ]);
    }
    if let Some(RefOr::T(body)) = &operation.request_body {
        let patch = body
            .content
            .keys()
            .any(|media_type| media_type != "application/json");
        codes.extend([
            if patch {
                Code::UnsupportedPatchType
            } else {
                Code::UnsupportedMediaType
            },
            Code::UnsupportedContentCoding,
            Code::InvalidBody,
        ]);
    }
    if takes(operation, "format", &ParameterIn::Query) {
        codes.extend([
            Code::InvalidHeader,
            Code::NotAcceptable,
            Code::TooManyStreams,
        ]);
    }
    if takes(operation, "Idempotency-Key", &ParameterIn::Header) {
        codes.extend([
            Code::InvalidHeader,
            Code::IdempotencyKeyInUse,
            Code::IdempotencyKeyReused,
            Code::AnswerErased,
        ]);
    }
    if takes(operation, "If-Match", &ParameterIn::Header) {
        codes.extend([Code::InvalidHeader, Code::PreconditionFailed]);
        if writes {
            codes.push(Code::PreconditionRequired);
        }
    }
    codes
}

/// Whether an operation has a parameter of this name in this place.
#[must_use]
pub fn takes(operation: &Operation, name: &str, place: &ParameterIn) -> bool {
    operation.parameters.iter().flatten().any(|parameter| {
        matches!(parameter, RefOr::T(parameter)
            if parameter.name == name && parameter.parameter_in == *place)
    })
}

/// Adds problems to what an operation answers with.
pub fn document(operation: &mut Operation, codes: &[Code]) {
    let declared = &mut operation.responses.responses;
    let codes: Vec<_> = codes
        .iter()
        .copied()
        .filter(|code| !is_documented(declared, *code))
        .collect();
    for (status, response) in responses(&codes) {
        match declared.get_mut(&status) {
            Some(declared) => append(declared, response),
            None => {
                declared.insert(status, response);
            }
        }
    }
}

fn is_documented(declared: &BTreeMap<String, RefOr<Response>>, code: Code) -> bool {
    let Some(RefOr::T(response)) = declared.get(code.status().as_str()) else {
        return false;
    };
    matches!(response.content.get(MEDIA_TYPE), Some(RefOr::T(content))
        if content.examples.contains_key(code.as_str()))
}

/// Puts what the parts of an operation answer with a status behind what the operation declares.
fn append(declared: &mut RefOr<Response>, of_parts: RefOr<Response>) {
    let (RefOr::T(declared), RefOr::T(of_parts)) = (declared, of_parts) else {
        return;
    };
    declared.description = format!("{}; {}", declared.description, of_parts.description);
    declared.headers.extend(of_parts.headers);
    for (media_type, content) in of_parts.content {
        match (declared.content.get_mut(&media_type), content) {
            (Some(RefOr::T(declared)), RefOr::T(content)) => {
                declared.examples.extend(content.examples);
            }
            (Some(_), _) => {}
            (None, content) => {
                declared.content.insert(media_type, content);
            }
        }
    }
}
