//! The scopes that each operation needs, read from the document: what is declared is what is enforced.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::MatchedPath,
    http::{Method, request::Parts},
};
use serde_json::Value;
use utoipa::openapi::{
    Components, HeaderBuilder, ObjectBuilder, OpenApi, RefOr, ResponseBuilder, Type,
    path::Operation,
    security::{Http, HttpAuthScheme, SecurityScheme},
};

use crate::{
    http::openapi::operations_of,
    problem::{Code, responses},
};

/// The name of the security scheme, in the document and in each operation's declaration.
const SCHEME: &str = "bearer";
/// Below this, every operation needs a key.
pub const GUARDED: &str = "/api/";

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement<'a> {
    Nothing,
    /// All of these scopes.
    Scopes(&'a [String]),
    /// Nobody declared it, so nobody may use it.
    Undeclared,
}

/// What each documented operation needs; none where that is not declared.
#[derive(Debug, Clone)]
pub struct Requirements(Arc<HashMap<String, Methods>>);

type Methods = HashMap<Method, Option<Vec<String>>>;

impl Requirements {
    #[must_use]
    pub fn of(openapi: &OpenApi) -> Self {
        let mut paths = HashMap::<String, Methods>::new();
        for (method, path, operation) in operations(openapi) {
            let methods = paths.entry(path.to_owned()).or_default();
            methods.insert(method, declared(operation));
        }
        Self(Arc::new(paths))
    }

    #[must_use]
    pub fn of_request(&self, request: &Parts) -> Requirement<'_> {
        let Some(path) = request.extensions.get::<MatchedPath>() else {
            return Requirement::Nothing;
        };
        if !path.as_str().starts_with(GUARDED) {
            return Requirement::Nothing;
        }
        let Some(methods) = self.0.get(path.as_str()) else {
            return Requirement::Undeclared;
        };
        let method = match request.method {
            Method::HEAD => &Method::GET,
            ref method => method,
        };
        match methods.get(method) {
            Some(Some(scopes)) => Requirement::Scopes(scopes),
            Some(None) => Requirement::Undeclared,
            // The router has no such method, and says which there are.
            None => Requirement::Nothing,
        }
    }
}

fn operations(openapi: &OpenApi) -> impl Iterator<Item = (Method, &str, &Operation)> {
    openapi.paths.paths.iter().flat_map(|(path, item)| {
        [
            (Method::GET, &item.get),
            (Method::PUT, &item.put),
            (Method::POST, &item.post),
            (Method::DELETE, &item.delete),
            (Method::PATCH, &item.patch),
        ]
        .into_iter()
        .filter_map(|(method, operation)| Some((method, path.as_str(), operation.as_ref()?)))
    })
}

/// The scopes that an operation declares.
fn declared(operation: &Operation) -> Option<Vec<String>> {
    let [requirement] = operation.security.as_deref()? else {
        return None;
    };
    // Its fields are written, and not shown otherwise.
    let requirement = serde_json::to_value(requirement).ok()?;
    let scopes = requirement.get(SCHEME)?.as_array()?.iter();
    let scopes: Vec<_> = scopes
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    (!scopes.is_empty()).then_some(scopes)
}

/// Adds to the document how a key is sent, and what whoever has none is answered.
pub fn document_access(openapi: &mut OpenApi, how_to_send: &str) {
    let scheme = SecurityScheme::Http(
        Http::builder()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("mmk")
            .description(Some(how_to_send))
            .build(),
    );
    let components = openapi.components.get_or_insert_with(Components::new);
    components.add_security_scheme(SCHEME, scheme);
    for item in openapi.paths.paths.values_mut() {
        for operation in operations_of(item) {
            if declared(operation).is_some() {
                document_refusals(operation);
            }
        }
    }
}

fn document_refusals(operation: &mut Operation) {
    let codes = [
        Code::AccessKeyRequired,
        Code::InvalidAccessKey,
        Code::InsufficientScope,
        Code::ViewNotConfigured,
    ];
    for (status, response) in responses(&codes) {
        let RefOr::T(response) = response else {
            continue;
        };
        let challenge = HeaderBuilder::new()
            .description(Some("What is missing or wrong (RFC 6750, section 3)"))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .build();
        let response = ResponseBuilder::from(response).header("WWW-Authenticate", challenge);
        let responses = &mut operation.responses.responses;
        responses.insert(status, RefOr::T(response.build()));
    }
}
