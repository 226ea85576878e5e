//! An answer, checked against the OpenAPI document as it comes in: a status, a media type or a body
//! that the document does not have fails the test that met it.

use hyper::{
    HeaderMap, Method, StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use member_mail::values::PlainJson;
use serde_json::{Value, json};

use super::document::DOCUMENT;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null if the body is not JSON.
    pub(crate) body: Value,
    asked: String,
}

impl Answer {
    pub(crate) fn new(
        asked: String,
        method: &Method,
        path: &str,
        status: StatusCode,
        headers: HeaderMap,
        bytes: &[u8],
    ) -> Self {
        let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let body = serde_json::from_str(&text).map_or(Value::Null, |PlainJson(body)| body);
        let answer = Self {
            status,
            headers,
            text,
            body,
            asked,
        };
        answer.check_against_document(method, path);
        answer
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.asked, self.text);
        self
    }

    /// Expects 201, and answers the path of what was created.
    #[track_caller]
    pub(crate) fn created(self) -> String {
        let answer = self.expect(201);
        answer.header(LOCATION.as_str()).to_owned()
    }

    /// Expects a problem, and answers its document.
    #[track_caller]
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        let answer = self.expect(status);
        assert_eq!(
            answer.header(CONTENT_TYPE.as_str()),
            "application/problem+json"
        );
        assert_eq!(
            answer.body["code"], code,
            "{}: {}",
            answer.asked, answer.text
        );
        assert_eq!(answer.body["status"], status);
        assert_eq!(answer.body["request_id"], answer.header("x-request-id"));
        answer.body
    }

    /// Expects a problem with one error, at `place` (a pointer, or the name of a parameter
    /// or header field), and answers the
    /// error's code.
    #[track_caller]
    pub(crate) fn error_at(self, status: u16, code: &str, place: &str) -> String {
        let asked = self.asked.clone();
        let problem = self.problem(status, code);
        let errors = problem["errors"].as_array().expect("errors");
        let [error] = errors.as_slice() else {
            panic!("{asked}: one error expected: {problem}");
        };
        let found = error["pointer"]
            .as_str()
            .or_else(|| error["parameter"].as_str())
            .or_else(|| error["header"].as_str());
        assert_eq!(found, Some(place), "{asked}: {problem}");
        error["code"].as_str().expect("code").to_owned()
    }

    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .unwrap_or_else(|| panic!("{}: no {name}", self.asked))
            .to_str()
            .expect("visible ASCII")
    }

    /// The ids of a page's rows.
    #[track_caller]
    pub(crate) fn ids(&self) -> Vec<String> {
        self.body["data"]
            .as_array()
            .unwrap_or_else(|| panic!("{}: no page: {}", self.asked, self.text))
            .iter()
            .map(|row| row["id"].as_str().expect("id").to_owned())
            .collect()
    }

    fn check_against_document(&self, method: &Method, path: &str) {
        assert!(
            self.headers.contains_key("x-request-id"),
            "{}: no request id",
            self.asked
        );
        if self.status.is_client_error() || self.status.is_server_error() {
            assert_eq!(
                self.header(CONTENT_TYPE.as_str()),
                "application/problem+json",
                "{}: {}",
                self.asked,
                self.text
            );
        }
        let Some(operation) = operation(method, path) else {
            return;
        };
        let documented = &operation["responses"][self.status.as_str()];
        assert!(
            documented.is_object(),
            "{}: {} is not documented: {}",
            self.asked,
            self.status,
            self.text
        );
        let Some(content) = documented["content"].as_object() else {
            assert!(
                self.text.is_empty(),
                "{}: a body is not documented: {}",
                self.asked,
                self.text
            );
            return;
        };
        let minimal = self.headers.get("preference-applied");
        let minimal = minimal.is_some_and(|applied| applied == "return=minimal");
        // One that was kept for another view is repeated without its body.
        let without_body = minimal || self.headers.contains_key("idempotency-replayed");
        if *method == Method::HEAD || (without_body && self.text.is_empty()) {
            return;
        }
        let media_type = self.header(CONTENT_TYPE.as_str());
        let media_type = media_type.split(';').next().unwrap_or_default();
        let content = content.get(media_type).unwrap_or_else(|| {
            panic!(
                "{}: {media_type} is not documented for {}",
                self.asked, self.status
            )
        });
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [content["schema"]],
            "components": DOCUMENT["components"],
        });
        let bodies = match media_type {
            "application/x-ndjson" => {
                let lines = self.text.lines().map(serde_json::from_str);
                lines.collect::<Result<_, _>>().expect("an object a line")
            }
            _ if media_type.ends_with("json") => vec![self.body.clone()],
            _ => return,
        };
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .expect("a schema");
        let faults: Vec<_> = bodies
            .iter()
            .flat_map(|body| validator.iter_errors(body))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            faults.is_empty(),
            "{}: {faults:#?} in {}",
            self.asked,
            self.text
        );
    }
}

/// The documented operation behind a path, if there is one.
fn operation(method: &Method, path: &str) -> Option<&'static Value> {
    // A method is case-sensitive, and stands in the document in lower case.
    let method = match method.as_str() {
        "HEAD" => "get".to_owned(),
        method if method.chars().all(char::is_uppercase) => method.to_lowercase(),
        _ => return None,
    };
    let steps: Vec<_> = path.split('/').collect();
    let paths = DOCUMENT["paths"].as_object()?;
    let item = paths.get(path).or_else(|| {
        let mut items = paths.iter().filter_map(|(template, item)| {
            let template: Vec<_> = template.split('/').collect();
            let same = template.len() == steps.len()
                && template
                    .iter()
                    .zip(&steps)
                    .all(|(template, step)| template.starts_with('{') || template == step);
            same.then_some(item)
        });
        items.next()
    });
    item?.get(&method)
}
