//! `/api/v1/members/{member_id}/consents`.

use serde_json::{Value, json};

use crate::kit::{App, Settings};

const MEMBERS: &str = "/api/v1/members";

/// Writes down what was said on `topic` on a day of January 2026, and answers its id.
async fn say(app: &App, member: &str, topic: Option<&str>, state: &str, day: u32) -> String {
    let occurred_at = format!("2026-01-{day:02}T00:00:00Z");
    let body = json!({"topic": topic, "state": state, "occurred_at": occurred_at});
    let created = app.post(&format!("{member}/consents"), body).await;
    created.expect(201).body["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

async fn mailability(app: &App, member: &str) -> Value {
    app.get(member).await.expect(200).body["mailability"].clone()
}

#[tokio::test]
async fn a_consent_is_read_back_as_it_was_written_down() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let consents = format!("{ann}/consents");
    let body = json!({
        "topic": "newsletter", "state": "pending", "source": "form", "evidence": {"ip": "192.0.2.7"},
        "occurred_at": "2024-01-01T12:00:00.123456Z"
    });
    let created = app.post(&consents, body.clone()).await.expect(201);
    for (field, value) in body.as_object().expect("fields") {
        assert_eq!(created.body[field], *value, "{field}");
    }
    assert_eq!(
        created.body["member_id"],
        ann.rsplit('/').next().expect("an id")
    );
    let read = app.get(created.header("location")).await.expect(200);
    assert_eq!(read.text, created.text);

    let usual = app.post(&consents, json!({"state": "granted"})).await;
    let usual = usual.expect(201).body;
    assert_eq!(usual["topic"], Value::Null);
    assert_eq!(usual["source"], Value::Null);
    assert_eq!(usual["evidence"], json!({}));
    assert_eq!(usual["occurred_at"], usual["created_at"]);
    let listed = app.get(&consents).await.expect(200);
    assert_eq!(listed.body["data"], json!([usual, created.body]));
}

#[tokio::test]
async fn nothing_that_was_said_is_changed_or_deleted() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let consents = format!("{ann}/consents");
    let created = app.post(&consents, json!({"state": "granted"})).await;
    let path = created.created();
    for answer in [
        app.put(&path, json!({"state": "withdrawn"})).await,
        app.patch(&path, json!({"state": "withdrawn"})).await,
        app.delete(&path).await,
    ] {
        answer.problem(405, "method_not_allowed");
    }
}

#[tokio::test]
async fn what_lies_in_the_future_has_not_been_said() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let consents = format!("{ann}/consents");
    let body = json!({"state": "granted", "occurred_at": "2999-01-01T00:00:00Z"});
    let refused = app.post(&consents, body).await;
    let code = refused.error_at(422, "invalid_body", "#/occurred_at");
    assert_eq!(code, "in_the_future");
    // A client's clock may be ahead.
    let ahead = chrono::Utc::now() + chrono::TimeDelta::minutes(4);
    let body = json!({"state": "granted", "occurred_at": ahead.to_rfc3339()});
    app.post(&consents, body).await.expect(201);
}

#[tokio::test]
async fn a_member_and_a_consent_that_are_not_there_are_two_problems() {
    let app = App::start().await;
    let (ann, bob) = (app.member("ann").await, app.member("bob").await);
    let id = say(&app, &ann, None, "granted", 1).await;
    app.get(&format!("{bob}/consents/{id}"))
        .await
        .problem(404, "consent_not_found");
    app.delete(&ann).await.expect(204);
    app.get(&format!("{ann}/consents/{id}"))
        .await
        .problem(404, "member_not_found");
    for format in ["json", "ndjson", "csv", "sse"] {
        let list = app.get(&format!("{ann}/consents?format={format}")).await;
        list.problem(404, "member_not_found");
    }
    let consents = format!("{ann}/consents");
    app.post(&consents, json!({"state": "granted"}))
        .await
        .problem(404, "member_not_found");
}

#[tokio::test]
async fn what_occurred_last_counts_also_if_it_comes_first() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    for (topic, state, day, word) in [
        (None, "withdrawn", 10, "unsubscribed"),
        (None, "granted", 9, "unsubscribed"),
        (None, "granted", 11, "ok"),
        (Some("news"), "withdrawn", 12, "ok"),
        (None, "withdrawn", 13, "unsubscribed"),
        (Some("offers"), "pending", 14, "ok"),
        (Some("offers"), "withdrawn", 14, "unsubscribed"),
        (Some("offers"), "granted", 14, "unsubscribed"),
        (Some("news"), "granted", 15, "ok"),
        // All of it, whatever the topic.
        (None, "withdrawn", 16, "unsubscribed"),
    ] {
        say(&app, &ann, topic, state, day).await;
        assert_eq!(
            mailability(&app, &ann).await,
            word,
            "{topic:?} {state} {day}"
        );
    }
    let bob = app.member("bob").await;
    assert_eq!(mailability(&app, &bob).await, "ok");
}

#[tokio::test]
async fn filters_narrow_the_list_together() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    say(&app, &ann, Some("news"), "granted", 1).await;
    say(&app, &ann, Some("offers"), "withdrawn", 2).await;
    let all = say(&app, &ann, None, "granted", 3).await;
    let news = say(&app, &ann, Some("news"), "withdrawn", 4).await;
    for (query, found) in [
        ("topic=news", 2),
        ("topic=News", 0),
        ("state=withdrawn", 2),
        ("state=pending", 0),
        ("topic=news&state=granted", 1),
        ("current=false", 4),
        ("current=true", 2),
        ("current=true&topic=offers", 0),
    ] {
        let listed = app.get(&format!("{ann}/consents?{query}")).await;
        assert_eq!(listed.expect(200).ids().len(), found, "{query}");
    }
    let current = app.get(&format!("{ann}/consents?current=true")).await;
    assert_eq!(current.ids(), [news, all]);
}

#[tokio::test]
async fn a_consent_that_changes_what_may_be_mailed_is_a_new_version_of_the_member() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    for (state, day, version) in [
        ("granted", 1, 1),
        ("withdrawn", 2, 2),
        ("withdrawn", 3, 2),
        ("granted", 4, 3),
    ] {
        say(&app, &ann, None, state, day).await;
        assert_eq!(app.get(&ann).await.body["version"], version, "{state}");
    }
}

#[tokio::test]
async fn of_many_consents_at_once_the_last_one_counts() {
    let app = App::start_with(Settings {
        connections: 20,
        ..Settings::default()
    })
    .await;
    for round in 0..10 {
        let ann = app.member(&format!("ann{round}")).await;
        let said = (1..=20).map(|day| {
            let (app, ann) = (&app, &ann);
            async move {
                let state = if (day + round) % 2 == 0 {
                    "granted"
                } else {
                    "withdrawn"
                };
                say(app, ann, None, state, day).await
            }
        });
        futures_util::future::join_all(said).await;
        let word = if round % 2 == 0 { "ok" } else { "unsubscribed" };
        assert_eq!(mailability(&app, &ann).await, word);
    }
}

/// What was said outlives a change of address, and what is written of the member.
#[tokio::test]
async fn no_write_of_a_member_changes_what_she_said() {
    let app = App::start().await;
    let keyed = format!("{MEMBERS}/by-external-id/ann-1");
    let body = json!({"name": "Ann", "email": "ann@example.org", "status": "active"});
    let ann = app.put(&keyed, body.clone()).await.created();
    say(&app, &ann, None, "withdrawn", 1).await;
    let other = json!({"name": "Ann", "email": "lee@example.org", "status": "active"});
    for body in [body, other] {
        let written = app.put(&keyed, body).await.expect(200);
        assert_eq!(written.body["mailability"], "unsubscribed");
    }
    let patched = app.patch(&ann, json!({"email": null})).await.expect(200);
    assert_eq!(patched.body["mailability"], "no_address");
    let listed = app.get(&format!("{ann}/consents")).await.expect(200);
    assert_eq!(listed.ids().len(), 1);
}
