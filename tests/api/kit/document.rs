//! The OpenAPI document, and its operations as tests walk them.

use std::sync::LazyLock;

use hyper::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{App, request::Request};

pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(member_mail::app::openapi()).expect("document"));

pub(crate) const ACCESS_KEYS: &str = "/api/v1/access-keys";

/// One operation, and what the document says of it.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) says: Value,
}

/// Every operation of the document.
pub(crate) fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in DOCUMENT["paths"].as_object().expect("paths") {
        for (method, says) in item.as_object().expect("operations") {
            operations.push(Operation {
                method: method.to_uppercase().parse().expect("method"),
                path: path.clone(),
                says: says.clone(),
            });
        }
    }
    assert!(operations.len() >= 14);
    operations
}

/// The operations that are bounded and strict: all but those that tell the service's health. Those that
/// make keys are walked in `access` alone: from the first key on, whoever has none is shut out.
pub(crate) fn api_operations() -> Vec<Operation> {
    let mut operations = operations();
    operations.retain(|operation| operation.path.starts_with("/api/"));
    operations.retain(|operation| !operation.path.starts_with(ACCESS_KEYS));
    assert!(operations.len() >= 12);
    operations
}

/// The operations that take a body.
pub(crate) fn writing_operations() -> Vec<Operation> {
    let mut operations = api_operations();
    operations.retain(|operation| operation.says["requestBody"].is_object());
    assert!(operations.len() >= 4);
    operations
}

/// The operations whose body is one resource.
pub(crate) fn resource_operations() -> Vec<Operation> {
    let mut operations = writing_operations();
    operations.retain(|operation| !operation.fields().contains_key("items"));
    assert!(operations.len() >= 4);
    operations
}

/// The operations whose body is many resources.
pub(crate) fn batch_operations() -> Vec<Operation> {
    let mut operations = writing_operations();
    operations.retain(|operation| operation.fields().contains_key("items"));
    assert!(operations.len() >= 2);
    operations
}

impl Operation {
    /// For messages.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The path of the operation on `subject`.
    pub(crate) fn path_on(&self, subject: &Subject) -> String {
        subject.fill(&self.path)
    }

    /// The names of the parameters that stand in `place`: `query` or `path`.
    pub(crate) fn parameters(&self, place: &str) -> Vec<String> {
        self.says["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == place)
            .map(|parameter| parameter["name"].as_str().expect("name").to_owned())
            .collect()
    }

    /// The media type of the body, if it takes one.
    pub(crate) fn media_type(&self) -> Option<&str> {
        let content = self.says["requestBody"]["content"].as_object()?;
        content.keys().next().map(String::as_str)
    }

    /// The words that a parameter takes.
    pub(crate) fn words(&self, parameter: &str) -> Vec<&str> {
        let parameters = self.says["parameters"].as_array().into_iter().flatten();
        parameters
            .filter(|says| says["name"] == parameter)
            .flat_map(|says| says["schema"]["enum"].as_array().into_iter().flatten())
            .map(|word| word.as_str().expect("a word"))
            .collect()
    }

    /// The schema of the body; where one or a list is taken, that of one.
    pub(crate) fn body(&self) -> &'static Value {
        let media_type = self.media_type().unwrap_or_default();
        let schema = &self.says["requestBody"]["content"][media_type]["schema"];
        let schema = refers_to(schema).unwrap_or_else(|| panic!("{}: no body", self.name()));
        refers_to(&schema["oneOf"][0]).unwrap_or(schema)
    }

    /// Whether the body may be a list of what it is otherwise one of.
    pub(crate) fn takes_a_list(&self) -> bool {
        let media_type = self.media_type().unwrap_or_default();
        let schema = &self.says["requestBody"]["content"][media_type]["schema"];
        refers_to(schema).is_some_and(|schema| schema["oneOf"].is_array())
    }

    /// Brings the subject's mail record into a status in which the operation is allowed.
    pub(crate) async fn allow(&self, app: &App, subject: &Subject) {
        let status = match self.path.rsplit('/').next() {
            Some("cancel") => "recorded",
            Some("retry") => "failed",
            _ => return,
        };
        // Past triggers that a test may have made.
        let mut sql = app.sql().await;
        sqlx::raw_sql("SET session_replication_role = replica")
            .execute(&mut sql)
            .await
            .expect("set");
        sqlx::query("UPDATE mail_records SET status = $1, retried_by = NULL WHERE id = $2")
            .bind(status)
            .bind(subject.mail_record_id.parse::<uuid::Uuid>().expect("an id"))
            .execute(&mut sql)
            .await
            .expect("changed");
    }

    /// The fields of the body, each with its schema.
    pub(crate) fn fields(&self) -> &'static Map<String, Value> {
        self.body()["properties"].as_object().expect("properties")
    }

    /// A body that is accepted.
    pub(crate) fn example(&self) -> Map<String, Value> {
        self.body()["example"].as_object().expect("example").clone()
    }

    /// As [`example`](Self::example), with `subject` where it names a member.
    pub(crate) fn example_on(&self, subject: &Subject) -> Value {
        let example = Value::Object(self.example()).to_string();
        let named = "018cc251-f400-7000-8000-000000000001";
        serde_json::from_str(&example.replace(named, &subject.member_id)).expect("JSON")
    }

    /// The operation on `subject`, to be completed.
    pub(crate) fn request(&self, app: &App, subject: &Subject) -> Request {
        let request = app.request(self.method.clone(), &self.path_on(subject));
        match self.media_type() {
            Some(media_type) => request.of_type(media_type),
            None => request,
        }
    }
}

fn refers_to(schema: &Value) -> Option<&'static Value> {
    let reference = schema["$ref"].as_str()?;
    DOCUMENT.pointer(reference.trim_start_matches('#'))
}

/// A member with a mail record and a consent, and a suppression of an address of nobody, for operations
/// to work on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    pub(crate) member: String,
    pub(crate) member_id: String,
    pub(crate) external_id: String,
    pub(crate) email: String,
    pub(crate) mail_record: String,
    pub(crate) mail_record_id: String,
    pub(crate) consent_id: String,
    pub(crate) suppression: String,
    pub(crate) suppression_id: String,
    /// Where requests carry a key.
    pub(crate) access_key_id: String,
}

impl Subject {
    /// The path on this subject.
    pub(crate) fn fill(&self, path: &str) -> String {
        fill(path, |parameter| self.value(&parameter).to_owned())
    }

    /// The id of what it has in a collection, or else the document's example.
    pub(crate) fn value(&self, parameter: &PathParameter<'_>) -> &str {
        match parameter.collection {
            "members" => &self.member_id,
            "by-external-id" => &self.external_id,
            "by-email" => &self.email,
            // An event that a mail record is created with has its id.
            "mail-records" | "events" => &self.mail_record_id,
            "consents" => &self.consent_id,
            "suppressions" => &self.suppression_id,
            "access-keys" if !self.access_key_id.is_empty() => &self.access_key_id,
            _ => parameter.example(),
        }
    }

    pub(crate) async fn create(app: &App) -> Self {
        let (external_id, email) = ("ann-1".to_owned(), "ann@example.org".to_owned());
        let body = json!({"name": "ann", "external_id": external_id, "email": email});
        let member = app.post("/api/v1/members", body).await.created();
        let mail_record = app.mail_record(&member, "Hello").await;
        let consent = json!({"state": "granted"});
        let consent = app.post(&format!("{member}/consents"), consent).await;
        let address = format!("{}@example.org", Uuid::now_v7());
        let body = json!({"address": address});
        let suppression = app.post("/api/v1/suppressions", body).await.created();
        let access_key = match app.key {
            Some(_) => app.access_key(&["privacy"]).await.path,
            None => String::new(),
        };
        Self {
            access_key_id: last_step(&access_key),
            member_id: last_step(&member),
            mail_record_id: last_step(&mail_record),
            consent_id: last_step(&consent.created()),
            suppression_id: last_step(&suppression),
            member,
            external_id,
            email,
            mail_record,
            suppression,
        }
    }
}

/// A parameter that stands in a path of the document.
#[derive(Debug)]
pub(crate) struct PathParameter<'a> {
    path: &'a str,
    pub(crate) name: &'a str,
    /// The step in front of it.
    collection: &'a str,
}

impl PathParameter<'_> {
    pub(crate) fn example(&self) -> &'static str {
        let Self { path, name, .. } = self;
        let operations = DOCUMENT["paths"][path].as_object().expect("operations");
        operations
            .values()
            .flat_map(|says| says["parameters"].as_array().into_iter().flatten())
            .filter(|parameter| parameter["in"] == "path" && parameter["name"] == *name)
            .find_map(|parameter| parameter["example"].as_str())
            .unwrap_or_else(|| panic!("{path}: {name} has no example"))
    }
}

/// The path with a value for each of its parameters, whatever they are called.
pub(crate) fn fill(path: &str, mut value: impl FnMut(PathParameter<'_>) -> String) -> String {
    let mut collection = "";
    let mut filled = Vec::new();
    for step in path.split('/') {
        let name = step
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        filled.push(name.map_or_else(
            || step.to_owned(),
            |name| {
                value(PathParameter {
                    path,
                    name,
                    collection,
                })
            },
        ));
        collection = step;
    }
    filled.join("/")
}

fn last_step(path: &str) -> String {
    path.rsplit('/').next().expect("a step").to_owned()
}
