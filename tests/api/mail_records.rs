//! `/api/v1/members/{member_id}/mail-records` and `/api/v1/mail-records`

use serde_json::{Value, json};
use uuid::Uuid;

use crate::kit::{App, walk};

const ALL: &str = "/api/v1/mail-records";

#[tokio::test]
async fn a_new_mail_record_is_answered_as_it_is_read() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let input = json!({
        "recipient": "Ann.Work@example.org", "sender": "news@club.example", "subject": "Grüße \u{2028} an alle",
        "category": "marketing", "tags": ["spring"], "metadata": {"campaign": 7},
        "message_id": "1@club.example", "provider": "ses", "provider_message_id": "p-1",
        "external_id": "e-1", "status": "bounced", "status_at": "2026-01-02T03:04:05.678901Z",
        "status_reason": "550 5.1.1\nno such user"
    });

    let created = app
        .post(&format!("{ann}/mail-records"), input.clone())
        .await
        .expect(201);
    for (field, value) in input.as_object().expect("object") {
        assert_eq!(&created.body[field], value, "{field}");
    }
    let path = created.header("location").to_owned();
    assert_eq!(
        path,
        format!(
            "{ann}/mail-records/{}",
            created.body["id"].as_str().expect("id")
        )
    );
    assert_eq!(app.get(&path).await.expect(200).text, created.text);
}

#[tokio::test]
async fn the_recipient_is_the_members_address_unless_another_is_given() {
    let app = App::start().await;
    let ann = app
        .post(
            "/api/v1/members",
            json!({"name": "Ann", "email": "Ann@example.org"}),
        )
        .await
        .created();
    let path = format!("{ann}/mail-records");
    let record = app
        .post(&path, json!({"subject": "Hi"}))
        .await
        .expect(201)
        .body;
    assert_eq!(record["recipient"], "Ann@example.org");
    let record = app
        .post(
            &path,
            json!({"subject": "Hi", "recipient": "other@example.org"}),
        )
        .await
        .expect(201)
        .body;
    assert_eq!(record["recipient"], "other@example.org");

    // The record keeps the address as it was.
    app.put(&ann, json!({"name": "Ann", "email": "new@example.org"}))
        .await
        .expect(200);
    let listed = app.get(&path).await.expect(200).body;
    assert_eq!(listed["data"][0]["recipient"], "other@example.org");
    assert_eq!(listed["data"][1]["recipient"], "Ann@example.org");
}

#[tokio::test]
async fn a_member_without_an_address_needs_a_recipient() {
    let app = App::start().await;
    let ann = app
        .post("/api/v1/members", json!({"name": "Ann"}))
        .await
        .created();
    let path = format!("{ann}/mail-records");
    let refused = app.post(&path, json!({"subject": "Hi"})).await;
    assert_eq!(
        refused.error_at(422, "invalid_body", "#/recipient"),
        "required"
    );

    let record = app
        .post(
            &path,
            json!({"subject": "Hi", "recipient": "ann@example.org"}),
        )
        .await
        .created();
    let replaced = app.put(&record, json!({"subject": "Ho"})).await.expect(200);
    assert_eq!(replaced.body["recipient"], "ann@example.org");
}

#[tokio::test]
async fn a_replaced_mail_record_went_to_whom_it_went() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let record = app.mail_record(&ann, "Hi").await;
    app.put(&ann, json!({"name": "Ann", "email": "new@example.org"}))
        .await
        .expect(200);

    let replaced = app.put(&record, json!({"subject": "Ho"})).await.expect(200);
    assert_eq!(replaced.body["recipient"], "ann@example.org");
    let corrected = json!({"subject": "Ho", "recipient": "Other@example.org"});
    app.put(&record, corrected).await.expect(200);
    let found = app
        .get("/api/v1/mail-records?recipient=other@example.org")
        .await
        .expect(200);
    assert_eq!(found.ids().len(), 1);
}

#[tokio::test]
async fn the_ids_of_an_unnamed_provider_are_unique_too() {
    let app = App::start().await;
    let path = format!("{}/mail-records", app.member("ann").await);
    let body = json!({"subject": "Hi", "provider_message_id": "p"});
    app.post(&path, body).await.created();
    let other = json!({"subject": "Ho", "provider_message_id": "p"});
    app.post(&path, other)
        .await
        .problem(409, "provider_message_id_taken");
    for _ in 0..2 {
        app.post(&path, json!({"subject": "Hi"})).await.created();
    }
}

#[tokio::test]
async fn a_mail_record_needs_a_subject_only() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let record = app
        .post(&format!("{ann}/mail-records"), json!({"subject": ""}))
        .await
        .expect(201)
        .body;
    assert_eq!(record["status"], "recorded");
    assert_eq!(record["category"], "transactional");
    assert_eq!(record["status_at"], record["created_at"]);
    for field in [
        "sender",
        "message_id",
        "provider",
        "provider_message_id",
        "external_id",
        "retry_of",
        "status_reason",
    ] {
        assert!(record[field].is_null(), "{field}");
    }
}

#[tokio::test]
async fn replacing_a_mail_record_keeps_what_became_of_it() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let input = json!({
        "subject": "Hi", "status": "delivered", "status_at": "2026-01-02T03:04:05Z", "status_reason": "250 OK",
        "tags": ["a"], "provider": "ses"
    });
    let path = app
        .post(&format!("{ann}/mail-records"), input)
        .await
        .created();

    let replaced = app
        .put(&path, json!({"subject": "Hello", "external_id": "e"}))
        .await
        .expect(200);
    assert_eq!(replaced.body["subject"], "Hello");
    assert_eq!(replaced.body["tags"], json!([]));
    assert!(replaced.body["provider"].is_null());
    assert_eq!(replaced.body["status"], "delivered");
    assert_eq!(replaced.body["status_at"], "2026-01-02T03:04:05.000000Z");
    assert_eq!(replaced.body["status_reason"], "250 OK");
    assert_eq!(replaced.body["version"], 2);
    assert_eq!(app.get(&path).await.expect(200).text, replaced.text);

    let refused = app
        .put(&path, json!({"subject": "Hello", "status": "sent"}))
        .await;
    assert_eq!(
        refused.error_at(422, "invalid_body", "#/status"),
        "read_only"
    );
}

#[tokio::test]
async fn a_missing_member_and_a_missing_mail_record_are_two_problems() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let nobody = format!("/api/v1/members/{}", Uuid::now_v7());
    let unknown = Uuid::now_v7();
    let body = json!({"subject": "Hi"});

    app.get(&format!("{nobody}/mail-records"))
        .await
        .problem(404, "member_not_found");
    app.post(&format!("{nobody}/mail-records"), body.clone())
        .await
        .problem(404, "member_not_found");
    let with_recipient = json!({"subject": "Hi", "recipient": "x@example.org"});
    app.post(&format!("{nobody}/mail-records"), with_recipient)
        .await
        .problem(404, "member_not_found");
    for (parent, code) in [
        (&nobody, "member_not_found"),
        (&ann, "mail_record_not_found"),
    ] {
        let path = format!("{parent}/mail-records/{unknown}");
        app.get(&path).await.problem(404, code);
        app.put(&path, body.clone()).await.problem(404, code);
        app.delete(&path).await.problem(404, code);
    }
}

#[tokio::test]
async fn a_mail_record_is_found_under_its_own_member_only() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let bob = app.member("bob").await;
    let record = app.mail_record(&ann, "Hi").await;
    let elsewhere = record.replace(&ann, &bob);
    app.get(&elsewhere)
        .await
        .problem(404, "mail_record_not_found");
    app.put(&elsewhere, json!({"subject": "x"}))
        .await
        .problem(404, "mail_record_not_found");
    app.delete(&elsewhere)
        .await
        .problem(404, "mail_record_not_found");
    app.get(&record).await.expect(200);
    app.delete(&record).await.expect(204);
    app.get(&record).await.problem(404, "mail_record_not_found");
}

#[tokio::test]
async fn the_callers_keys_are_unique_for_each_member() {
    let app = App::start().await;
    let ann = format!("{}/mail-records", app.member("ann").await);
    let bob = format!("{}/mail-records", app.member("bob").await);
    let body =
        json!({"subject": "Hi", "external_id": "1", "provider": "ses", "provider_message_id": "p"});
    app.post(&ann, body.clone()).await.created();
    app.post(&bob, body).await.created();

    app.post(&ann, json!({"subject": "x", "external_id": "1"}))
        .await
        .problem(409, "external_id_taken");
    let again = json!({"subject": "x", "provider": "ses", "provider_message_id": "p"});
    app.post(&ann, again.clone())
        .await
        .problem(409, "provider_message_id_taken");
    // Another provider's ids are its own.
    let other = app
        .post(
            &ann,
            json!({"subject": "x", "provider": "smtp", "provider_message_id": "p"}),
        )
        .await
        .created();
    app.put(&other, again)
        .await
        .problem(409, "provider_message_id_taken");
    app.put(&other, json!({"subject": "x", "external_id": "1"}))
        .await
        .problem(409, "external_id_taken");
}

#[tokio::test]
async fn a_retry_names_a_mail_record_of_the_same_member() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let bob = app.member("bob").await;
    let first = app.mail_record(&ann, "Hi").await;
    let id = first.rsplit('/').next().expect("id");
    let retry = json!({"subject": "Hi", "retry_of": id});

    let made = app
        .post(&format!("{ann}/mail-records"), retry.clone())
        .await
        .expect(201);
    assert_eq!(made.body["retry_of"], id);
    let refused = app.post(&format!("{bob}/mail-records"), retry).await;
    assert_eq!(
        refused.error_at(422, "invalid_body", "#/retry_of"),
        "mail_record_not_found"
    );

    // A retry outlives what it is a retry of.
    app.delete(&first).await.expect(204);
    let left = app.get(made.header("location")).await.expect(200).body;
    assert_eq!(left["retry_of"], Value::Null);
}

#[tokio::test]
async fn both_lists_show_the_newest_first_and_every_mail_record_once() {
    let app = App::start().await;
    let (ann, bob) = (app.member("ann").await, app.member("bob").await);
    let (mut of_ann, mut all) = (Vec::new(), Vec::new());
    for number in 0..9 {
        let path = if number % 3 == 0 { &bob } else { &ann };
        let id = app
            .mail_record(path, "Hi")
            .await
            .rsplit('/')
            .next()
            .expect("id")
            .to_owned();
        all.insert(0, id.clone());
        if number % 3 != 0 {
            of_ann.insert(0, id);
        }
    }
    for limit in [1, 2, 5, 6, 9, 10] {
        assert_eq!(
            walk(&app, &format!("{ann}/mail-records?limit={limit}")).await,
            of_ann,
            "limit {limit}"
        );
        assert_eq!(
            walk(&app, &format!("{ALL}?limit={limit}")).await,
            all,
            "limit {limit}"
        );
    }
}

#[tokio::test]
async fn each_filter_shows_the_mail_records_that_it_names_in_both_lists() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let path = format!("{ann}/mail-records");
    let one = json!({"subject": "1", "status": "sent", "category": "marketing", "recipient": "One@example.org"});
    let one = app.post(&path, one).await.expect(201).body["id"].clone();
    let two = app
        .post(
            &path,
            json!({"subject": "2", "recipient": "two@example.org"}),
        )
        .await
        .expect(201)
        .body["id"]
        .clone();
    sqlx::query("UPDATE mail_records SET created_at = CASE subject WHEN '1' THEN '2026-01-01 00:00+00'::timestamptz ELSE '2026-02-01 00:00+00' END")
        .execute(&app.pool)
        .await
        .expect("dates");

    for (filter, expected) in [
        ("status=sent", vec![&one]),
        ("status=recorded", vec![&two]),
        ("category=marketing", vec![&one]),
        ("recipient=ONE@example.org", vec![&one]),
        ("recipient=three@example.org", vec![]),
        ("created_from=2026-01-01T00:00:00Z", vec![&two, &one]),
        ("created_from=2026-01-01T00:00:00.000001Z", vec![&two]),
        ("created_to=2026-02-01T00:00:00Z", vec![&one]),
        ("created_to=2026-02-01T01:00:00%2B01:00", vec![&one]),
        (
            "created_from=2026-01-01T00:00:00Z&created_to=2026-02-01T00:00:00Z&status=sent",
            vec![&one],
        ),
    ] {
        for list in [&path, ALL] {
            let listed = app.get(&format!("{list}?{filter}")).await.expect(200).ids();
            assert_eq!(json!(listed), json!(expected), "{list}?{filter}");
        }
    }
}
