//! What a hidden field does to writes.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::{Value, json};

use super::{hideable, scopes, start_hiding};
use crate::kit::{
    App,
    document::{Subject, writing_operations},
    views::hiding,
};

const MEMBERS: &str = "/api/v1/members";

/// Before the database is asked: neither a conflict nor the time that it takes tells anything.
#[tokio::test]
async fn a_body_that_names_a_hidden_field_is_refused_before_anything_is_looked_up() {
    let (app, key) = start_hiding(&["members.email"]).await;
    Subject::create(&app).await;
    sqlx::query("ALTER TABLE members RENAME TO elsewhere")
        .execute(&app.pool)
        .await
        .expect("renamed");
    let taken = json!({"name": "b", "email": "ann@example.org"});
    let nobodys = json!({"name": "b", "email": "nobody@example.org"});
    for body in [&taken, &nobodys] {
        let request = app.request(Method::POST, MEMBERS).with_key(&key).json(body);
        let answer = request.send().await;
        assert_eq!(answer.error_at(403, "field_hidden", "#/email"), "hidden");
    }
    let path = format!("{MEMBERS}/batch");
    let body = json!({"items": [{"name": "a"}, taken]});
    let request = app.request(Method::POST, &path).with_key(&key).json(&body);
    let answer = request.send().await;
    assert_eq!(
        answer.error_at(403, "field_hidden", "#/items/1/email"),
        "hidden"
    );
}

#[tokio::test]
async fn each_field_that_can_be_written_is_refused_where_it_is_hidden() {
    let hideable = hideable();
    let names: BTreeSet<_> = hideable.iter().map(|(_, field)| *field).collect();
    let views = names.iter().map(|name| {
        let hidden = hideable.iter().filter(|(_, field)| field == name);
        let hidden: Vec<_> = hidden
            .map(|(resource, field)| format!("{}.{field}", resource.name))
            .collect();
        let hidden: Vec<_> = hidden.iter().map(String::as_str).collect();
        hiding(name, &hidden)
    });
    let app = App::start_with_views(views.collect()).await;
    let subject = Subject::create(&app).await;
    let mut refused = 0;
    for operation in writing_operations() {
        for (name, _) in operation.fields() {
            if name == "items" {
                continue;
            }
            let key = app.key_with_view(&scopes(), name).await.key;
            let send = |body: Value| {
                let request = operation.request(&app, &subject).with_key(&key);
                request.json(&body).send()
            };
            send(json!({name: null})).await.problem(403, "field_hidden");
            if operation.takes_a_list() {
                let answer = send(json!([{}, {name: null}])).await;
                let place = format!("#/1/{name}");
                assert_eq!(answer.error_at(403, "field_hidden", &place), "hidden");
            }
            refused += 1;
        }
    }
    assert!(refused >= 60, "{refused}");
}

#[tokio::test]
async fn a_replacement_needs_every_field_and_a_patch_those_that_it_changes() {
    let (app, key) = start_hiding(&["members.birth", "mail_records.metadata"]).await;
    let subject = Subject::create(&app).await;
    app.patch(&subject.member, json!({"birth": "1950-01-01"}))
        .await
        .expect(200);
    let by_key = format!("{MEMBERS}/by-external-id/{}", subject.external_id);
    for (path, body) in [
        (&subject.member, json!({"name": "b"})),
        (&by_key, json!({"name": "b"})),
        (&subject.mail_record, json!({"subject": "b"})),
    ] {
        let request = app.request(Method::PUT, path).with_key(&key).json(&body);
        let problem = request.send().await.problem(403, "field_hidden");
        assert!(
            problem["detail"].as_str().expect("text").contains("PATCH"),
            "{problem}"
        );
        let request = app.patch_request(path, &body).with_key(&key);
        request.send().await.expect(200);
    }
    let member = app.get(&subject.member).await.expect(200).body;
    assert_eq!(
        (&member["name"], &member["birth"]),
        (&json!("b"), &json!("1950-01-01"))
    );
    let created = app.request(Method::POST, MEMBERS).with_key(&key);
    let created = created.json(&json!({"name": "c"})).send().await.expect(201);
    assert!(created.body.get("birth").is_none());
}

#[tokio::test]
async fn the_address_of_a_member_is_not_learnt_from_mail_to_her() {
    let (app, key) = start_hiding(&["members.email"]).await;
    let subject = Subject::create(&app).await;
    let path = format!("{}/mail-records", subject.member);
    let send = |body: &Value, path: &str| {
        app.request(Method::POST, path)
            .with_key(&key)
            .json(body)
            .send()
    };
    let answer = send(&json!({"subject": "x"}), &path).await;
    assert_eq!(
        answer.error_at(403, "field_hidden", "#/recipient"),
        "hidden"
    );
    let item = json!({"subject": "x", "member_id": subject.member_id});
    let answer = send(&json!({"items": [item]}), "/api/v1/mail-records/batch").await;
    assert_eq!(
        answer.error_at(403, "field_hidden", "#/items/0/recipient"),
        "hidden"
    );
    let known = json!({"subject": "x", "recipient": "bo@example.org"});
    send(&known, &path).await.expect(201);
}

#[tokio::test]
async fn what_a_batch_answers_is_shaped_too() {
    let (app, key) = start_hiding(&["members.joined", "mail_events.received_at"]).await;
    let subject = Subject::create(&app).await;
    let send = |body: Value, path: &str| {
        app.request(Method::POST, path)
            .with_key(&key)
            .json(&body)
            .send()
    };
    let batch = json!({"items": [{"name": "a"}, {"name": ""}]});
    let answer = send(batch, &format!("{MEMBERS}/batch")).await.expect(200);
    assert_eq!(answer.body["results"][0]["member"]["name"], "a");
    assert!(!answer.text.contains("joined"), "{}", answer.text);
    let events = format!("{}/events", subject.mail_record);
    for body in [json!({"type": "opened"}), json!([{"type": "opened"}])] {
        let answer = send(body, &events).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        assert!(!answer.text.contains("received_at"), "{}", answer.text);
    }
}

/// What is not shown is not read: a value that could not be is not in the way.
#[tokio::test]
async fn a_wide_column_that_is_hidden_is_not_read() {
    let views = hiding("partner", &["members.attributes", "mail_records.metadata"]);
    let app = App::start_with_views(views).await;
    let key = app.key_with_view(&scopes(), "partner").await.key;
    Subject::create(&app).await;
    // No JSON object, which no decoder of these takes.
    let sql = "ALTER TABLE members DROP CONSTRAINT IF EXISTS members_attributes_check;
               ALTER TABLE mail_records DROP CONSTRAINT IF EXISTS mail_records_metadata_check;
               UPDATE members SET attributes = '1'; UPDATE mail_records SET metadata = '1'";
    sqlx::raw_sql(sql)
        .execute(&app.pool)
        .await
        .expect("spoiled");
    for path in [MEMBERS, "/api/v1/mail-records"] {
        app.get(path).await.problem(500, "internal_error");
        for form in ["json", "csv", "ndjson"] {
            let path = format!("{path}?format={form}");
            app.request(Method::GET, &path)
                .with_key(&key)
                .send()
                .await
                .expect(200);
        }
    }
    app.get(&format!("{MEMBERS}?fields=name")).await.expect(200);
}
