//! A mail record is idempotent by its own keys: `external_id`, and `provider` with
//! `provider_message_id`.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::kit::{App, Settings};

fn keyed() -> [(Value, &'static str); 3] {
    [
        (
            json!({"subject": "Hi", "external_id": "1", "tags": ["a"], "metadata": {"x": 1}}),
            "external_id_taken",
        ),
        (
            json!({"subject": "Hi", "provider": "p", "provider_message_id": "1", "status": "sent"}),
            "provider_message_id_taken",
        ),
        (
            json!({"subject": "Hi", "provider_message_id": "1"}),
            "provider_message_id_taken",
        ),
    ]
}

#[tokio::test]
async fn the_same_again_is_the_record_that_stands_and_another_body_is_a_conflict() {
    let app = App::start().await;
    let records = format!("{}/mail-records", app.member("ann").await);
    for (body, code) in keyed() {
        let created = app.post(&records, body.clone()).await.expect(201);
        let again = app.post(&records, body.clone()).await.expect(200);
        assert_eq!(again.text, created.text);
        assert_eq!(again.header("etag"), "\"1\"");
        assert!(!again.headers.contains_key("location"));
        for (field, value) in [
            ("subject", json!("Ho")),
            ("category", json!("marketing")),
            ("sender", json!("a@example.org")),
            ("status", json!("failed")),
            ("metadata", json!({"x": 2})),
        ] {
            let mut other = body.clone();
            other[field] = value;
            app.post(&records, other).await.problem(409, code);
        }
    }
    assert_eq!(app.get(&records).await.expect(200).ids().len(), 3);
}

#[tokio::test]
async fn the_order_of_fields_and_what_is_left_to_its_default_say_nothing() {
    let app = App::start().await;
    let records = format!("{}/mail-records", app.member("ann").await);
    let request = |body: &'static str| {
        let request = app.request(hyper::Method::POST, &records);
        let request = request.header("content-type", "application/json");
        request.body(body).send()
    };
    let created = request(r#"{"subject": "Hi", "external_id": "1", "metadata": {"a": 1, "b": 2}}"#);
    let created = created.await.expect(201);
    for body in [
        r#"{"metadata":{"b":2,"a":1},"external_id":"1","subject":"Hi"}"#,
        r#"{"external_id": "1", "subject": "Hi", "metadata": {"a": 1, "b": 2}, "sender": null}"#,
        r#"{"external_id": "\u0031", "subject": "Hi", "metadata": {"a": 1, "b": 2}, "tags": []}"#,
        r#"{"external_id": "1", "subject": "Hi", "metadata": {"a": 1, "b": 2}, "status": "recorded"}"#,
    ] {
        assert_eq!(request(body).await.expect(200).text, created.text, "{body}");
    }
}

/// A sender that tries again must not be refused because the record has been worked on meanwhile.
#[tokio::test]
async fn the_same_again_stands_whatever_became_of_the_record() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let records = format!("{ann}/mail-records");
    let body = json!({"subject": "Hi", "external_id": "1"});
    let path = app.post(&records, body.clone()).await.created();
    let change = json!({"subject": "Changed", "external_id": "1"});
    let changed = app.put(&path, change.clone()).await.expect(200);
    app.put(&ann, json!({"name": "Ann"})).await.expect(200);
    assert_eq!(
        app.post(&records, body.clone()).await.expect(200).text,
        changed.text
    );
    app.post(&records, change)
        .await
        .problem(409, "external_id_taken");
    app.delete(&path).await.expect(204);
    let ann = json!({"name": "Ann", "email": "ann@example.org"});
    app.put(records.trim_end_matches("/mail-records"), ann)
        .await
        .expect(200);
    app.post(&records, body).await.expect(201);
}

#[tokio::test]
async fn two_keys_of_two_records_are_a_conflict() {
    let app = App::start().await;
    let records = format!("{}/mail-records", app.member("ann").await);
    let [(one, _), (two, _), _] = keyed();
    app.post(&records, one).await.expect(201);
    app.post(&records, two).await.expect(201);
    let both = json!({
        "subject": "Hi", "external_id": "1", "provider": "p", "provider_message_id": "1"
    });
    app.post(&records, both)
        .await
        .problem(409, "external_id_taken");
    let half = json!({
        "subject": "Hi", "external_id": "2", "provider": "p", "provider_message_id": "1"
    });
    app.post(&records, half)
        .await
        .problem(409, "provider_message_id_taken");
}

#[tokio::test]
async fn a_key_counts_for_one_member() {
    let app = App::start().await;
    let [(body, _), ..] = keyed();
    for name in ["ann", "bo"] {
        let records = format!("{}/mail-records", app.member(name).await);
        app.post(&records, body.clone()).await.expect(201);
    }
}

#[tokio::test]
async fn of_many_who_write_the_same_down_at_once_one_makes_the_record() {
    let settings = Settings {
        connections: 20,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    for round in 0..10 {
        let records = format!("{}/mail-records", app.member(&format!("ann{round}")).await);
        for (body, _) in keyed() {
            let answers = join_all((0..20).map(|_| app.post(&records, body.clone()))).await;
            let made = answers.iter().filter(|answer| answer.status == 201).count();
            assert_eq!(made, 1);
            let text = answers[0].text.clone();
            for answer in answers {
                assert!(answer.status.is_success(), "{}", answer.text);
                assert_eq!(answer.text, text);
            }
        }
    }
}
