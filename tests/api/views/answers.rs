//! Each hidden field, looked for in every answer and form.

use std::collections::BTreeSet;

use member_mail::{app::RESOURCES, http::views::Resource};
use serde_json::Value;

use super::{found, hideable, marked, scopes};
use crate::kit::{
    Answer, App,
    csv::records,
    document::{Operation, api_operations},
    views::hiding,
};

const FORMS: [&str; 4] = [
    "application/json",
    "application/x-ndjson",
    "text/csv",
    "text/event-stream",
];

fn view_of(resource: &Resource, field: &str) -> String {
    format!("{}.{field}", resource.name)
}

/// The operations that read resources of which something can be hidden, each in every form in which it answers.
fn reads() -> Vec<(Operation, &'static str)> {
    let mut reads = Vec::new();
    for operation in api_operations() {
        if !operation.parameters("query").contains(&"fields".to_owned()) {
            continue;
        }
        let content = &operation.says["responses"]["200"]["content"];
        for form in FORMS {
            if operation.method == "GET" && content[form].is_object() {
                reads.push((operation.clone(), form));
            }
        }
    }
    assert!(reads.len() >= 30, "{}", reads.len());
    reads
}

/// Takes a field out of all objects of a resource; says whether there were any, and adds what it told.
fn take(value: &mut Value, resource: &Resource, field: &str, told: &mut BTreeSet<String>) -> bool {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| take(item, resource, field, told) | any),
        Value::Object(fields) => {
            let is_one = resource
                .fields
                .iter()
                .all(|name| fields.contains_key(*name));
            if is_one && let Some(taken) = fields.remove(field) {
                tell(&taken, told);
            }
            fields.values_mut().fold(is_one, |any, value| {
                take(value, resource, field, told) | any
            })
        }
        _ => false,
    }
}

/// Adds the text by which a value can be told from others.
fn tell(value: &Value, told: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() > 5 => _ = told.insert(text.clone()),
        Value::Number(number) if number.to_string().len() > 5 => {
            told.insert(number.to_string());
        }
        Value::Array(values) => values.iter().for_each(|value| tell(value, told)),
        Value::Object(fields) => fields.values().for_each(|value| tell(value, told)),
        _ => {}
    }
}

/// What an answer says, as JSON, without what is another each time.
fn said(answer: &Answer) -> Value {
    let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    match answer.header("content-type").split(';').next() {
        Some("application/x-ndjson") => answer.text.lines().map(json).collect(),
        Some("text/event-stream") => {
            let data = answer
                .text
                .lines()
                .filter_map(|line| line.strip_prefix("data: "));
            data.map(json).collect()
        }
        Some("text/csv") => {
            let mut records = records(&answer.text).into_iter();
            let header = records.next().expect("a header");
            let row = |cells: Vec<String>| {
                assert_eq!(cells.len(), header.len());
                let cells = cells.into_iter().map(Value::String);
                Value::Object(header.iter().cloned().zip(cells).collect())
            };
            records.map(row).collect()
        }
        _ => {
            let mut body = answer.body.clone();
            if let Some(fields) = body.as_object_mut() {
                fields.remove("exported_at");
            }
            body
        }
    }
}

#[tokio::test]
async fn a_hidden_field_is_in_no_answer_of_any_form() {
    let views: String = hideable()
        .into_iter()
        .map(|(resource, field)| {
            let hidden = view_of(resource, field);
            hiding(&hidden, &[&hidden])
        })
        .collect();
    let app = App::start_with_views(views).await;
    let subject = marked(&app).await;
    let reads = reads();
    let mut whole = Vec::new();
    for (operation, form) in &reads {
        let request = operation.request(&app, &subject).header("accept", form);
        whole.push(request.send().await.expect(200));
    }
    for (resource, field) in hideable() {
        let hidden = view_of(resource, field);
        let key = app.key_with_view(&scopes(), &hidden).await.key;
        let mut shown = 0;
        for ((operation, form), whole) in reads.iter().zip(&whole) {
            let name = format!("{} as {form} without {hidden}", operation.name());
            let request = operation.request(&app, &subject).header("accept", form);
            let answer = request.with_key(&key).send().await;
            let mut wanted = said(whole);
            let mut told = BTreeSet::new();
            let has_any = take(&mut wanted, resource, field, &mut told);
            if answer.status == 403 {
                assert_eq!(answer.body["code"], "field_hidden", "{name}");
                // Not for another reason than this field.
                assert!(
                    answer.text.contains(&format!("`{field}`")),
                    "{name}: {}",
                    answer.text
                );
                assert!(
                    found(&answer.text, &told).is_empty(),
                    "{name}: {}",
                    answer.text
                );
                continue;
            }
            let answer = answer.expect(200);
            assert_eq!(said(&answer), wanted, "{name}");
            shown += usize::from(has_any);
            // The same text may stand in another field, that is not hidden.
            let elsewhere = wanted.to_string();
            let told = found(&answer.text, &told).into_iter();
            let told: Vec<_> = told.filter(|text| !elsewhere.contains(*text)).collect();
            assert!(told.is_empty(), "{name}: {told:?}");
            for (header, value) in &answer.headers {
                let value = value.to_str().expect("ASCII");
                assert!(!value.contains("marked"), "{name}: {header}: {value}");
            }
        }
        let by_its_path = ["member_id", "mail_record_id"].contains(&field);
        assert!(shown > 0 || by_its_path, "nothing shows {hidden}");
    }
}

#[test]
fn the_fields_that_views_know_are_those_of_the_document() {
    for resource in RESOURCES {
        let schema = &crate::kit::document::DOCUMENT["components"]["schemas"][resource.schema];
        let properties = schema["properties"].as_object().expect("properties");
        let documented: BTreeSet<_> = properties.keys().map(String::as_str).collect();
        let known: BTreeSet<_> = resource.fields.iter().copied().collect();
        assert_eq!(known, documented, "{}", resource.name);
        let required = schema["required"].as_array().into_iter().flatten();
        for field in required {
            let field = field.as_str().expect("a name");
            assert!(["id", "created_at", "version"].contains(&field), "{field}");
        }
    }
}

#[test]
fn every_answer_with_a_resource_is_known_to_views() {
    let known: Vec<_> = RESOURCES.iter().map(|resource| resource.schema).collect();
    for operation in api_operations() {
        let responses = operation.says["responses"].to_string();
        let parameters = operation.parameters("query");
        let shows = known.iter().any(|schema| {
            ["", "Page_"]
                .iter()
                .any(|kind| responses.contains(&format!("#/components/schemas/{kind}{schema}\"")))
        });
        if shows && operation.method == "GET" {
            assert!(
                parameters.contains(&"fields".to_owned()),
                "{}",
                operation.name()
            );
        }
    }
}
