//! `/api/v1/audit-log`: who wrote what.
//!
//! - `list`: the list of entries, and how long they stay in it
//! - `together`: a write and its entry, where something breaks

mod list;
mod together;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{
    Answer, App,
    document::{Operation, Subject, operations},
    request::Request,
    walk,
};

const AUDIT_LOG: &str = "/api/v1/audit-log";
const MEMBERS: &str = "/api/v1/members";

fn writes() -> Vec<Operation> {
    let mut operations = operations();
    operations.retain(|operation| operation.method != Method::GET);
    assert!(operations.len() >= 20);
    operations
}

fn id_of(operation: &Operation) -> &str {
    operation.says["operationId"].as_str().expect("an id")
}

/// The operation with a body that is accepted.
async fn acceptable(app: &App, operation: &Operation, subject: &Subject) -> Request {
    operation.allow(app, subject).await;
    let request = operation.request(app, subject);
    match operation.media_type() {
        Some(_) => request.json(&operation.example_on(subject)),
        None => request,
    }
}

/// The entries of a request, oldest first.
async fn entries(app: &App, request_id: &str) -> Vec<Value> {
    let path = format!("{AUDIT_LOG}?sort=at&request_id={request_id}");
    let page = app.get(&path).await.expect(200);
    page.body["data"].as_array().expect("rows").clone()
}

/// The resource that an operation writes, and its id.
fn written(operation: &Operation, subject: &Subject, answer: &Answer) -> (&'static str, Value) {
    let id = id_of(operation);
    let body = &answer.body;
    match id {
        "create_member" => ("member", body["id"].clone()),
        "create_members" => ("member", body["results"][0]["id"].clone()),
        "create_mail_record" | "retry_mail_record" => ("mail_record", body["id"].clone()),
        "create_mail_records" => ("mail_record", body["results"][0]["id"].clone()),
        "cancel_mail_record" => ("mail_event", body["status_event_id"].clone()),
        "report_mail_events" => ("mail_event", body["id"].clone()),
        "create_consent" => ("consent", body["id"].clone()),
        "create_suppression" => ("suppression", body["id"].clone()),
        "delete_suppression" => ("suppression", json!(subject.suppression_id)),
        "create_access_key" => ("access_key", body["id"].clone()),
        "rotate_access_key" | "revoke_access_key" => ("access_key", json!(subject.access_key_id)),
        _ if id.ends_with("_mail_record") => ("mail_record", json!(subject.mail_record_id)),
        _ if id.contains("_member") => ("member", json!(subject.member_id)),
        _ => panic!("{id} has no entry here"),
    }
}

/// Deletes what is in the way of the next subject.
async fn clear(app: &App) {
    sqlx::raw_sql("TRUNCATE members, suppressions, idempotency_keys CASCADE")
        .execute(&app.pool)
        .await
        .expect("empty");
}

#[tokio::test]
async fn every_write_leaves_who_did_what_to_which_resource() {
    let app = App::start_with_key().await;
    let key = app.key.clone().expect("a key");
    for operation in writes() {
        let name = operation.name();
        clear(&app).await;
        let subject = Subject::create(&app).await;
        let id = id_of(&operation);
        let send = async || {
            let request = acceptable(&app, &operation, &subject).await;
            let request = request.header("x-request-id", id);
            request.header("idempotency-key", "once").send().await
        };
        let answer = send().await;
        assert!(answer.status.is_success(), "{name}: {}", answer.text);

        let found = entries(&app, id).await;
        let (resource, resource_id) = written(&operation, &subject, &answer);
        let example = match operation.media_type() {
            Some(_) => operation.example_on(&subject),
            None => json!({}),
        };
        let item = match &example["items"][0] {
            Value::Null => &example,
            item => item,
        };
        let mut fields: Vec<_> = item.as_object().expect("fields").keys().collect();
        fields.sort();
        let member_id = match resource {
            "suppression" | "access_key" => Value::Null,
            "member" => resource_id.clone(),
            _ => json!(subject.member_id),
        };
        let entry = found.first().unwrap_or_else(|| panic!("{name}: no entry"));
        let key_id = entry["key_id"].as_str().expect("a key").replace('-', "");
        assert_eq!(key.split('_').nth(1), Some(key_id.as_str()), "{name}");
        for (field, value) in [
            ("request_id", json!(id)),
            ("operation", json!(id)),
            ("resource", json!(resource)),
            ("resource_id", resource_id),
            ("member_id", member_id),
            ("fields", json!(fields)),
        ] {
            assert_eq!(entry[field], value, "{name}: {entry}");
        }
        assert_eq!(found.len(), 1, "{name}: {found:?}");

        let again = operation.parameters("header");
        if again.contains(&"Idempotency-Key".to_owned()) {
            let replayed = send().await;
            assert_eq!(replayed.header("idempotency-replayed"), "true", "{name}");
            assert_eq!(entries(&app, id).await, found, "{name}");
        }
    }
}

#[tokio::test]
async fn what_is_refused_leaves_no_entry() {
    let app = App::start_with_key().await;
    let subject = Subject::create(&app).await;
    let unknown = Subject {
        member_id: uuid::Uuid::now_v7().to_string(),
        external_id: "nobody".to_owned(),
        mail_record_id: uuid::Uuid::now_v7().to_string(),
        suppression_id: uuid::Uuid::now_v7().to_string(),
        access_key_id: uuid::Uuid::now_v7().to_string(),
        ..Subject::default()
    };
    let count = async || walk(&app, AUDIT_LOG).await.len();
    let before = count().await;
    for operation in writes() {
        let name = operation.name();
        let conditional = operation.parameters("header");
        if conditional.contains(&"If-Match".to_owned()) {
            let request = acceptable(&app, &operation, &subject).await;
            let stale = request.header("if-match", "\"99\"").send().await;
            stale.problem(412, "precondition_failed");
        }
        if operation.media_type().is_some() {
            let request = operation.request(&app, &subject);
            let wrong = request.json(&json!({"nmae": "Ann"})).send().await;
            wrong.problem(422, "invalid_body");
        }
        let creates = ["replace_member_by_external_id", "create_mail_records"];
        if operation.path.contains('{') && !creates.contains(&id_of(&operation)) {
            let request = operation.request(&app, &unknown);
            let request = match operation.media_type() {
                Some(_) => request.json(&operation.example_on(&unknown)),
                None => request,
            };
            assert_eq!(request.send().await.status, 404, "{name}");
        }
    }
    let taken = json!({"name": "Bob", "email": subject.email});
    let taken = app.post(MEMBERS, taken).await;
    taken.problem(409, "email_taken");
    let atomic = json!({"items": [{"name": "Bob"}, {"name": "Cleo", "email": subject.email}]});
    let atomic = app
        .post(&format!("{MEMBERS}/batch?atomic=true"), atomic)
        .await;
    atomic.problem(422, "batch_refused");
    assert_eq!(count().await, before);
}

#[tokio::test]
async fn each_item_of_a_list_has_an_entry_with_its_own_fields() {
    let app = App::start().await;
    let items = json!([
        {"name": "Ann", "email": "ann@example.org"},
        {"nmae": "Bob"},
        {"tags": ["x"], "name": "Cleo"},
        {"name": "Dee", "email": "ANN@example.org"},
    ]);
    let request = app.request(Method::POST, &format!("{MEMBERS}/batch"));
    let request = request.header("x-request-id", "batch");
    let batch = request.json(&json!({"items": items})).send().await;
    let results = &batch.expect(200).body["results"];
    let mut expected = vec![
        (results[0]["id"].clone(), json!(["email", "name"])),
        (results[2]["id"].clone(), json!(["name", "tags"])),
    ];
    let found = entries(&app, "batch").await.into_iter();
    let mut found: Vec<_> = found
        .map(|entry| (entry["resource_id"].clone(), entry["fields"].clone()))
        .collect();
    let by_id = |entry: &(Value, Value)| entry.0.to_string();
    expected.sort_by_key(by_id);
    found.sort_by_key(by_id);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn an_event_that_is_known_leaves_no_entry_and_what_follows_from_a_new_one_does() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let record = app.mail_record(&ann, "Hello").await;
    let report = async |request_id: &str| {
        let events = json!([
            {"type": "sent", "provider_event_id": "1"},
            {"type": "bounced", "provider_event_id": "2", "enhanced_code": "5.1.1"},
            {"type": "sent", "provider_event_id": "1"},
        ]);
        let request = app.request(Method::POST, &format!("{record}/events"));
        let request = request.header("x-request-id", request_id);
        request.json(&events).send().await.expect(200);
    };
    report("first").await;
    let found = entries(&app, "first").await;
    let told: Vec<_> = found
        .iter()
        .map(|entry| (entry["resource"].as_str(), entry["fields"].clone()))
        .collect();
    let expected = [
        ("mail_event", json!(["provider_event_id", "type"])),
        (
            "mail_event",
            json!(["enhanced_code", "provider_event_id", "type"]),
        ),
        ("suppression", json!([])),
    ];
    for (resource, fields) in &expected {
        assert!(
            told.contains(&(Some(*resource), fields.clone())),
            "{told:?}"
        );
    }
    assert_eq!(found.len(), expected.len());
    assert!(
        found
            .iter()
            .all(|entry| entry["operation"] == "report_mail_events")
    );
    report("second").await;
    assert_eq!(entries(&app, "second").await.len(), 0);
}

#[tokio::test]
async fn what_changes_nothing_leaves_no_entry() {
    let app = App::start_with_key().await;
    let revoke = format!("{}/revoke", app.access_key(&["privacy"]).await.path);
    let suppression = json!({"address": "ann@example.org"});
    app.post("/api/v1/suppressions", suppression.clone())
        .await
        .expect(201);
    app.act(&revoke).await.expect(200);
    let count = async || walk(&app, AUDIT_LOG).await.len();
    let before = count().await;
    app.act(&revoke).await.expect(200);
    app.post("/api/v1/suppressions", suppression)
        .await
        .expect(200);
    assert_eq!(count().await, before);
}

#[tokio::test]
async fn an_entry_has_no_value_of_what_was_written_or_sent() {
    let app = App::start().await;
    let secret = |name: &str| json!({"name": "Secret Name", "email": format!("{name}.secret@example.org"), "external_id": name, "attributes": {"secret-field": "secret-value"}});
    let ann = app.post(MEMBERS, secret("secret-ann")).await.created();
    app.put(
        &format!("{MEMBERS}/by-external-id/secret-bob"),
        json!({"name": "Secret"}),
    )
    .await
    .expect(201);
    app.patch(&ann, json!({"attributes": {"secret-field": null}}))
        .await
        .expect(200);
    let mail = json!({"subject": "Secret Subject", "metadata": {"secret-field": 1}});
    let record = app
        .post(&format!("{ann}/mail-records"), mail)
        .await
        .created();
    app.post(
        &format!("{record}/events"),
        json!({"type": "bounced", "enhanced_code": "5.1.1", "diagnostic": "secret-diagnostic"}),
    )
    .await
    .expect(201);
    // Bodies that nobody reads.
    let body = json!({"Secret Name": "secret-value"});
    let retry = app.request(Method::POST, &format!("{record}/retry"));
    retry.json(&body).send().await.expect(201);
    let delete = app.request(Method::DELETE, &ann);
    delete.json(&body).send().await.expect(204);
    let told: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM audit_log l WHERE strpos(lower(l::text), 'secret') > 0
         OR strpos(l::text, encode('secret', 'hex')) > 0",
    )
    .fetch_one(&app.pool)
    .await
    .expect("a count");
    assert_eq!(told, 0);
    // She is gone, and what was done is not.
    let member = ann.rsplit('/').next().expect("an id");
    let about = walk(&app, &format!("{AUDIT_LOG}?member_id={member}")).await;
    assert_eq!(about.len(), 6);
}
