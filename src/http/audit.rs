//! Who writes what, as the audit log has it.
//!
//! A write leaves its row in the statement that writes, by the database's function `record_write`. The row
//! has ids and the names of fields, and no value of what was written.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use axum::{
    extract::{FromRequestParts, MatchedPath},
    http::{Method, request::Parts},
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use utoipa::openapi::OpenApi;
use uuid::Uuid;

use super::{
    access::Caller,
    layers::{RequestBody, RequestId},
};
use crate::problem::{Code, Problem};

/// The author of a write, and the fields that were given for one resource.
#[derive(Debug, Clone, Serialize)]
pub struct Audit {
    /// Of the row.
    id: Uuid,
    key_id: Option<Uuid>,
    request_id: Option<String>,
    operation: String,
    fields: Vec<String>,
    /// The fields of each item, where the body is a list.
    #[serde(skip)]
    items: Vec<Vec<String>>,
}

impl Audit {
    /// A write by the command line.
    #[must_use]
    pub fn of_command(operation: &str, fields: &[&str]) -> Self {
        Self {
            id: Uuid::now_v7(),
            key_id: None,
            request_id: None,
            operation: operation.to_owned(),
            fields: fields.iter().map(ToString::to_string).collect(),
            items: Vec::new(),
        }
    }

    /// For the resource that one item of a list is about; or where the body is no list, for the only one.
    #[must_use]
    pub fn of_item(&self, index: usize) -> Self {
        let fields = self.items.get(index).unwrap_or(&self.fields);
        Self {
            fields: fields.clone(),
            ..self.of_consequence()
        }
    }

    /// For a resource that the request did not name, and that follows from what it wrote.
    #[must_use]
    pub fn of_consequence(&self) -> Self {
        Self {
            id: Uuid::now_v7(),
            key_id: self.key_id,
            request_id: self.request_id.clone(),
            operation: self.operation.clone(),
            fields: Vec::new(),
            items: Vec::new(),
        }
    }
}

/// What is to be known of each operation, read from the document.
#[derive(Debug, Clone)]
pub struct Operations(Arc<HashMap<String, HashMap<Method, Operation>>>);

#[derive(Debug)]
struct Operation {
    id: String,
    /// The names that its body may have.
    fields: BTreeSet<String>,
}

impl Operations {
    #[must_use]
    pub fn of(openapi: &OpenApi) -> Self {
        // What it has always has a JSON form.
        let document = serde_json::to_value(openapi).unwrap_or_default();
        let paths = document["paths"].as_object().into_iter().flatten();
        let operations = paths.map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            let methods = methods.filter_map(|(method, operation)| {
                let method = method.to_uppercase().parse().ok()?;
                Some((method, Operation::of(operation, &document)?))
            });
            (path.clone(), methods.collect())
        });
        Self(Arc::new(operations.collect()))
    }

    fn of_request(&self, request: &Parts) -> Option<&Operation> {
        let path = request.extensions.get::<MatchedPath>()?;
        self.0.get(path.as_str())?.get(&request.method)
    }
}

impl Operation {
    fn of(operation: &Value, document: &Value) -> Option<Self> {
        let mut fields = BTreeSet::new();
        let bodies = operation["requestBody"]["content"].as_object();
        for body in bodies.into_iter().flat_map(|bodies| bodies.values()) {
            collect_fields(&body["schema"], document, &mut fields);
        }
        let id = operation["operationId"].as_str()?.to_owned();
        Some(Self { id, fields })
    }

    /// The fields that a text of JSON has, and that the operation knows: it may be sent a body that it does
    /// not read.
    fn fields_in(&self, text: &str) -> Vec<String> {
        let given: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
        let mut names: Vec<_> = given.into_keys().collect();
        names.retain(|name| self.fields.contains(name));
        names
    }
}

/// The names of a body's fields; of a list, and of what is in `items`, those of the items too.
fn collect_fields(schema: &Value, document: &Value, fields: &mut BTreeSet<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        if let Some(schema) = document.pointer(reference.trim_start_matches('#')) {
            collect_fields(schema, document, fields);
        }
        return;
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    fields.extend(properties.map(|(name, _)| name.clone()));
    let alternatives = ["oneOf", "allOf"].map(|of| schema[of].as_array());
    let parts = alternatives.into_iter().flatten().flatten();
    let items = [&schema["items"], &schema["properties"]["items"]["items"]];
    for part in parts.chain(items) {
        if part.is_object() {
            collect_fields(part, document, fields);
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Audit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let set_by_layers = (
            parts.extensions.get::<Caller>(),
            parts.extensions.get::<RequestId>(),
            parts.extensions.get::<RequestBody>(),
            parts.extensions.get::<Operations>(),
        );
        let (
            Some(Caller(key_id)),
            Some(RequestId(request_id)),
            Some(RequestBody(body)),
            Some(operations),
        ) = set_by_layers
        else {
            return Err(Code::InternalError.into());
        };
        let operation = operations.of_request(parts).ok_or(Code::InternalError)?;
        // What is no JSON is refused when it is read.
        let body = str::from_utf8(body).unwrap_or_default();
        Ok(Self {
            id: Uuid::now_v7(),
            key_id: *key_id,
            request_id: Some(request_id.clone()),
            operation: operation.id.clone(),
            fields: operation.fields_in(body),
            items: items_in(body)
                .into_iter()
                .map(|item| operation.fields_in(item.get()))
                .collect(),
        })
    }
}

/// The items of a body that is a list, or has one as `items`.
fn items_in(body: &str) -> Vec<&RawValue> {
    #[derive(serde::Deserialize)]
    struct Batch<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }

    if body.trim_start().starts_with('[') {
        return serde_json::from_str(body).unwrap_or_default();
    }
    serde_json::from_str(body).map_or_else(|_| Vec::new(), |Batch { items }| items)
}
