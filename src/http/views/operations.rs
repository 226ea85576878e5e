//! What each operation shows, reads and writes, from the document: what is declared is what is enforced.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::MatchedPath,
    http::{Method, request::Parts},
};
use serde_json::Value;
use utoipa::openapi::OpenApi;

use super::{
    fields::FIELDS,
    resource::{FieldSet, Resource},
};

/// Names in an operation's declaration the fields of which it tells by being done or refused.
const READS: &str = "x-reads";

/// Parameters of which part and in which form an answer is given: they tell no field.
const OF_FORM: [&str; 8] = [
    "atomic", "count", "cursor", "format", "limit", "page", "size", FIELDS,
];

/// Fields of a resource.
pub(super) type Fields = (&'static Resource, FieldSet);

/// The operations that show, read or write resources of which something can be hidden.
#[derive(Debug, Clone, Default)]
pub struct Operations(Arc<HashMap<String, HashMap<Method, Operation>>>);

#[derive(Debug, Default)]
pub(super) struct Operation {
    /// The resources in its answers, each under the name that it has in a composition.
    pub(super) shown: Vec<(String, &'static Resource)>,
    /// The resources that its path is about.
    pub(super) resources: Vec<&'static Resource>,
    pub(super) parameters: Vec<Parameter>,
    /// What it tells by being done or refused.
    pub(super) reads: Vec<Fields>,
    /// What a replacement writes, given or not.
    pub(super) replaces: Vec<Fields>,
    /// What a new resource takes from another where it is not given.
    pub(super) taken: Vec<(&'static str, Vec<Fields>)>,
}

#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) in_path: bool,
    /// The fields whose values it tells; none if that is not known.
    pub(super) reads: Option<Vec<Fields>>,
}

impl Operation {
    /// Whether the handler reads the query too, and refuses what is wrong with it.
    pub(super) fn hands_query_on(&self) -> bool {
        let mut parameters = self.parameters.iter();
        parameters.any(|parameter| !parameter.in_path && parameter.name != FIELDS)
    }
}

impl Operations {
    /// What `openapi` declares of `resources`.
    #[must_use]
    pub fn of(openapi: &OpenApi, resources: &[&'static Resource]) -> Self {
        let document = serde_json::to_value(openapi).unwrap_or_default();
        let reader = Reader {
            document: &document,
            resources,
        };
        let mut paths = HashMap::<String, HashMap<_, _>>::new();
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            let about = reader.about(item);
            for (method, says) in item.as_object().into_iter().flatten() {
                let operation = reader.operation(method, says, &about);
                let told = !operation.resources.is_empty() || !operation.reads.is_empty();
                if let Ok(method) = method.to_uppercase().parse()
                    && told
                {
                    let operations = paths.entry(path.clone()).or_default();
                    operations.insert(method, operation);
                }
            }
        }
        Self(paths.into())
    }

    pub(super) fn get(&self, path: &str, method: &Method) -> Option<&Operation> {
        let method = match *method {
            Method::HEAD => &Method::GET,
            ref method => method,
        };
        self.0.get(path)?.get(method)
    }

    pub(super) fn of_request(&self, request: &Parts) -> Option<&Operation> {
        let path = request.extensions.get::<MatchedPath>()?;
        self.get(path.as_str(), &request.method)
    }
}

/// Reads the document.
struct Reader<'a> {
    document: &'a Value,
    resources: &'a [&'static Resource],
}

impl Reader<'_> {
    /// The resources that a path is about: those in the answers of all its operations.
    fn about(&self, item: &Value) -> Vec<&'static Resource> {
        let mut about: Vec<&'static Resource> = Vec::new();
        for says in item.as_object().into_iter().flat_map(|item| item.values()) {
            for (_, resource) in self.shown(says) {
                if about.iter().all(|known| known.name != resource.name) {
                    about.push(resource);
                }
            }
        }
        about
    }

    fn operation(&self, method: &str, says: &Value, about: &[&'static Resource]) -> Operation {
        let parameters = says["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter(|says| says["in"] != "header");
        Operation {
            shown: self.shown(says),
            resources: about.to_vec(),
            parameters: parameters.map(|says| self.parameter(says, about)).collect(),
            reads: self.declared(says, about),
            replaces: match method {
                "put" => self.written(says, about),
                _ => Vec::new(),
            },
            taken: match method {
                "post" if says["requestBody"].is_object() => self.taken(about),
                _ => Vec::new(),
            },
        }
    }

    fn taken(&self, about: &[&'static Resource]) -> Vec<(&'static str, Vec<Fields>)> {
        let taken = about.iter().flat_map(|resource| resource.taken_from);
        let taken = taken.map(|(field, from)| (*field, self.named_or_all([*from], about)));
        taken.collect()
    }

    /// The resources in the answers of success. What there is one of has no name of its own.
    fn shown(&self, says: &Value) -> Vec<(String, &'static Resource)> {
        let mut shown = Vec::new();
        let responses = says["responses"].as_object().into_iter().flatten();
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            for content in response["content"].as_object().into_iter().flatten() {
                self.find(&content.1["schema"], "", &mut Vec::new(), &mut shown);
            }
        }
        if let [(name, _)] = &mut shown[..] {
            name.clear();
        }
        shown
    }

    /// Finds the resources in a schema that stands under `name`.
    fn find<'s>(
        &'s self,
        schema: &'s Value,
        name: &str,
        seen: &mut Vec<&'s str>,
        found: &mut Vec<(String, &'static Resource)>,
    ) {
        if let Some(reference) = schema["$ref"].as_str() {
            let referred = reference.rsplit('/').next().unwrap_or_default();
            let resource = self.resources.iter().find(|known| known.schema == referred);
            if let Some(resource) = resource {
                if found.iter().all(|(_, known)| known.name != resource.name) {
                    found.push((name.to_owned(), resource));
                }
            } else if !seen.contains(&referred) {
                seen.push(referred);
                let schema = &self.document["components"]["schemas"][referred];
                self.find(schema, name, seen, found);
            }
            return;
        }
        for (property, schema) in schema["properties"].as_object().into_iter().flatten() {
            self.find(schema, property, seen, found);
        }
        let alternatives = ["oneOf", "anyOf", "allOf"].map(|word| &schema[word]);
        let alternatives = alternatives.iter().filter_map(|schemas| schemas.as_array());
        for schema in alternatives.flatten().chain(schema.get("items")) {
            self.find(schema, name, seen, found);
        }
    }

    fn parameter(&self, says: &Value, about: &[&'static Resource]) -> Parameter {
        let name = says["name"].as_str().unwrap_or_default();
        let by_name = fields_of(about, name);
        let told_by = about.iter().flat_map(|resource| {
            let told_by = resource.told_by.iter();
            told_by.filter(|(parameter, _)| *parameter == name)
        });
        let told: Option<Vec<_>> = told_by
            .map(|(_, names)| self.named(names.iter().copied(), about))
            .collect();
        let declared = told
            .filter(|told| !told.is_empty())
            .map(|told| told.concat());
        // Each order names the field that it is by.
        let tells_none = OF_FORM.contains(&name) || name == "sort";
        let known = declared.is_some() || !by_name.is_empty() || tells_none;
        Parameter {
            in_path: says["in"] == "path",
            reads: known.then(|| {
                by_name
                    .into_iter()
                    .chain(declared.into_iter().flatten())
                    .collect()
            }),
            name: name.to_owned(),
        }
    }

    /// The fields that an operation's declaration names.
    fn declared(&self, says: &Value, about: &[&'static Resource]) -> Vec<Fields> {
        let names = says[READS].as_array().into_iter().flatten();
        self.named_or_all(names.map(|name| name.as_str().unwrap_or_default()), about)
    }

    /// The fields of these names. Where one is not there nobody knows what is told: it may be all.
    fn named_or_all<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        about: &[&'static Resource],
    ) -> Vec<Fields> {
        self.named(names.into_iter(), about)
            .unwrap_or_else(|| self.all("a declaration of views names a field that is not there"))
    }

    /// All fields of all resources, where it is a fault that these cannot be told more closely.
    fn all(&self, fault: &str) -> Vec<Fields> {
        tracing::error!("{fault}");
        let resources = self.resources.iter();
        let all = resources.flat_map(|resource| {
            let fields = resource.fields.iter();
            fields.filter_map(|field| Some((*resource, resource.field(field)?)))
        });
        all.collect()
    }

    /// The fields of these names; none if one of them is not there.
    fn named<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        about: &[&'static Resource],
    ) -> Option<Vec<Fields>> {
        let mut fields = Vec::new();
        for name in names {
            let found = match name.split_once('.') {
                Some((resource, field)) => {
                    let resources: Vec<_> = self
                        .resources
                        .iter()
                        .copied()
                        .filter(|known| known.name == resource)
                        .collect();
                    fields_of(&resources, field)
                }
                None => fields_of(about, name),
            };
            if found.is_empty() {
                return None;
            }
            fields.extend(found);
        }
        Some(fields)
    }

    /// The fields that a body has.
    fn written(&self, says: &Value, about: &[&'static Resource]) -> Vec<Fields> {
        let contents = says["requestBody"]["content"].as_object();
        let names = contents.into_iter().flatten().flat_map(|(_, content)| {
            let reference = content["schema"]["$ref"].as_str().unwrap_or_default();
            let name = reference.rsplit('/').next().unwrap_or_default();
            let schema = &self.document["components"]["schemas"][name];
            schema["properties"].as_object().into_iter().flatten()
        });
        let written: Vec<_> = names.flat_map(|(name, _)| fields_of(about, name)).collect();
        if written.is_empty() && !about.is_empty() {
            return self.all("what a replacement writes cannot be read from the document");
        }
        written
    }
}

/// The field of this name of each of the resources that have one.
pub(super) fn fields_of(resources: &[&'static Resource], name: &str) -> Vec<Fields> {
    let fields = resources
        .iter()
        .filter_map(|resource| Some((*resource, resource.field(name)?)));
    fields.collect()
}
