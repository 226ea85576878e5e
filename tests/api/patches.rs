//! PATCH: JSON merge patch (RFC 7396) on whatever takes it.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Map, Value, json};

use crate::kit::{
    Answer, App, Settings,
    document::{Operation, Subject, writing_operations},
};

fn patches() -> Vec<Operation> {
    let mut operations = writing_operations();
    operations.retain(|operation| operation.method == Method::PATCH);
    assert_eq!(operations.len(), 3);
    operations
}

async fn send(app: &App, ann: &Subject, operation: &Operation, patch: &Value) -> Answer {
    operation.request(app, ann).json(patch).send().await
}

/// A value for each field, of a member or of a mail record.
fn values() -> Map<String, Value> {
    let values = json!({
        "external_id": "ann-1", "email": "lee@example.org", "name": "Lee", "birth": "1961-05-04",
        "joined": "1999-01-02", "status": "suspended", "tags": ["b"], "attributes": {"a": 1},
        "recipient": "r@example.org", "sender": "s@example.org", "subject": "Ho",
        "category": "marketing", "metadata": {"a": 1}, "message_id": "m@example.org",
        "provider": "p", "provider_message_id": "1"
    });
    values.as_object().expect("an object").clone()
}

/// Fields with which a member and a mail record can be the ones of the caller's again.
fn without_times(mut resource: Value) -> Value {
    for field in ["updated_at", "version"] {
        resource[field] = Value::Null;
    }
    resource
}

#[tokio::test]
async fn an_absent_field_keeps_its_value_null_clears_it_and_another_takes_its_place() {
    let app = App::start().await;
    for operation in patches() {
        let ann = Subject::create(&app).await;
        let fields = operation.fields();
        for field in fields.keys() {
            let value = values()[field].clone();
            let set = send(&app, &ann, &operation, &json!({ field: value })).await;
            let set = set.expect(200).body;
            assert_eq!(set[field], value, "{field}");
            let kept = send(&app, &ann, &operation, &json!({})).await.expect(200);
            assert_eq!(without_times(kept.body.clone()), without_times(set));
            if field == "external_id" && operation.path.contains("external") {
                continue;
            }
            let cleared = send(&app, &ann, &operation, &json!({ field: null })).await;
            let default = match field.as_str() {
                "name" | "joined" | "recipient" | "subject" => {
                    let code = cleared.error_at(422, "invalid_body", &format!("#/{field}"));
                    assert_eq!(code, "required");
                    continue;
                }
                "status" => json!("active"),
                "category" => json!("transactional"),
                "tags" => json!([]),
                "attributes" | "metadata" => json!({}),
                _ => Value::Null,
            };
            let mut expected = kept.body;
            expected[field] = default;
            if field == "email" {
                expected["mailability"] = json!("no_address");
            }
            let cleared = cleared.expect(200).body;
            assert_eq!(without_times(cleared), without_times(expected), "{field}");
        }
        app.delete(&ann.member).await.expect(204);
    }
}

#[tokio::test]
async fn the_callers_own_data_is_merged_at_every_depth() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (path, field) in [(&ann.member, "attributes"), (&ann.mail_record, "metadata")] {
        for (change, expected) in [
            (
                json!({"a": {"b": 1, "c": [1, {"d": 2}]}}),
                json!({"a": {"b": 1, "c": [1, {"d": 2}]}}),
            ),
            (
                json!({"a": {"b": 2}}),
                json!({"a": {"b": 2, "c": [1, {"d": 2}]}}),
            ),
            (
                json!({"a": {"c": [null]}}),
                json!({"a": {"b": 2, "c": [null]}}),
            ),
            (json!({"a": {"c": null}}), json!({"a": {"b": 2}})),
            (
                json!({"x": {"y": {"z": null}}}),
                json!({"a": {"b": 2}, "x": {"y": {}}}),
            ),
            (json!({"a": null, "": 0}), json!({"": 0, "x": {"y": {}}})),
            (json!({"x": 1}), json!({"": 0, "x": 1})),
            (json!({}), json!({"": 0, "x": 1})),
        ] {
            let patched = app.patch(path, json!({ field: change })).await;
            assert_eq!(patched.expect(200).body[field], expected, "{change}");
        }
        let read = app.get(path).await.expect(200).body;
        assert_eq!(read[field], json!({"": 0, "x": 1}));
    }
}

#[tokio::test]
async fn what_the_merged_data_has_too_much_of_is_refused() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (path, field) in [(&ann.member, "attributes"), (&ann.mail_record, "metadata")] {
        let half = |name: &str| json!({ field: { name: "x".repeat(10_000) } });
        app.patch(path, half("a")).await.expect(200);
        let refused = app.patch(path, half("b")).await;
        let code = refused.error_at(422, "invalid_body", &format!("#/{field}"));
        assert_eq!(code, "too_long");
        let swapped = json!({ field: {"a": null, "b": "x".repeat(10_000)} });
        app.patch(path, swapped).await.expect(200);
    }
}

#[tokio::test]
async fn what_cannot_be_patched_is_named_with_all_else_that_is_wrong() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in patches() {
        for field in ["id", "version", "created_at", "mailability", "nothing"] {
            for value in [json!(null), json!(1)] {
                let refused = send(&app, &ann, &operation, &json!({ field: value })).await;
                let code = refused.error_at(422, "invalid_body", &format!("#/{field}"));
                assert_eq!(code, "unknown");
            }
        }
        let all = json!({"nothing": null, "tags": 7, "name": null, "subject": null});
        let problem = send(&app, &ann, &operation, &all).await;
        let problem = problem.problem(422, "invalid_body");
        assert_eq!(
            problem["errors"].as_array().map(Vec::len),
            Some(4),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn patches_at_once_to_different_fields_are_all_done() {
    let settings = Settings {
        connections: 20,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = Subject::create(&app).await;
    for (path, field) in [(&ann.member, "attributes"), (&ann.mail_record, "metadata")] {
        let changes: Vec<_> = (0..20)
            .map(|n| json!({ field: { format!("k{n}"): n } }))
            .collect();
        let answers = join_all(changes.iter().map(|change| app.patch(path, change.clone()))).await;
        let mut versions: Vec<_> = answers
            .into_iter()
            .map(|answer| answer.expect(200).body["version"].as_i64())
            .collect();
        versions.sort_unstable();
        assert_eq!(versions, (2..=21).map(Some).collect::<Vec<_>>());
        let read = app.get(path).await.expect(200).body;
        assert_eq!(read[field].as_object().map(Map::len), Some(20));
    }
}

#[tokio::test]
async fn a_patch_meets_the_same_conflicts_as_other_writes() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let bo = json!({"name": "Bo", "email": "BO@example.org", "external_id": "bo-1"});
    let bo = app.post("/api/v1/members", bo).await.created();
    for (field, value, code) in [
        ("email", ann.email.to_uppercase(), "email_taken"),
        ("external_id", ann.external_id.clone(), "external_id_taken"),
    ] {
        let refused = app.patch(&bo, json!({ field: value })).await;
        refused.problem(409, code);
    }
    let read = app.get(&bo).await.expect(200).body;
    assert_eq!(
        (&read["email"], &read["version"]),
        (&json!("BO@example.org"), &json!(1))
    );
}
