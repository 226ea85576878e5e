//! The deletion of a member: what is gone, and what stays blocked.

use hyper::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::kit::{Answer, App};

const MEMBERS: &str = "/api/v1/members";
const SUPPRESSIONS: &str = "/api/v1/suppressions";
const BY_EXTERNAL_ID: &str = "/api/v1/members/by-external-id/secret-key";

/// What tells of her, in the spellings in which it may stand somewhere.
const TRACES: [&str; 7] = [
    "Ann.Secret@Example.org",
    "ann.secret@example.org",
    "old.secret@example.org",
    "Secret Name",
    "secret-key",
    "Secret Subject",
    "secret-value",
];

async fn keyed(app: &App, path: &str, key: &str, body: &Value) -> Answer {
    let request = app.request(Method::POST, path);
    request
        .header("idempotency-key", key)
        .json(body)
        .send()
        .await
}

/// The tables in which one of the traces stands: as text, or in bytes, which are written as digits.
async fn traces(app: &App) -> Vec<String> {
    let mut sql = app.sql().await;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT table_name::text FROM information_schema.tables
         WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    )
    .fetch_all(&mut sql)
    .await
    .expect("tables");
    assert!(tables.len() >= 7);
    let mut found = Vec::new();
    for table in tables {
        for trace in TRACES {
            let query = format!(
                "SELECT count(*) FROM {table} t
                 WHERE strpos(lower(t::text), lower($1)) > 0
                    OR strpos(t::text, encode(convert_to($1, 'UTF8'), 'hex')) > 0"
            );
            let count: i64 = sqlx::query_scalar(AssertSqlSafe(query))
                .bind(trace)
                .fetch_one(&mut sql)
                .await
                .expect("a count");
            if count > 0 {
                found.push(format!("{table}: {trace}"));
            }
        }
    }
    found
}

/// The suppressions of an address.
async fn suppressed(app: &App, address: &str) -> Value {
    let path = format!("{SUPPRESSIONS}?address={address}");
    app.get(&path).await.expect(200).body["data"].clone()
}

fn ann() -> Value {
    json!({
        "name": "Secret Name", "email": "Ann.Secret@Example.org", "external_id": "secret-key",
        "attributes": {"a": "secret-value"}
    })
}

/// Adds a member of whom much is known, by requests with keys; answers her path.
async fn known(app: &App) -> String {
    let member = keyed(app, MEMBERS, "member", &ann()).await.created();
    let records = format!("{member}/mail-records");
    for (key, body) in [
        ("mail-1", json!({"subject": "Secret Subject"})),
        (
            "mail-2",
            json!({"subject": "Secret Subject", "recipient": "Old.Secret@example.org"}),
        ),
    ] {
        let record = keyed(app, &records, key, &body).await.created();
        let event = json!({
            "type": "bounced", "diagnostic": "no ann.secret@example.org here, secret-value",
            "smtp_code": 550, "enhanced_code": "5.1.1"
        });
        let events = format!("{record}/events");
        keyed(app, &events, &format!("{key}-event"), &event)
            .await
            .expect(201);
    }
    let consent = json!({"state": "granted", "evidence": {"a": "secret-value"}});
    let consents = format!("{member}/consents");
    keyed(app, &consents, "consent", &consent).await.expect(201);
    for address in ["ANN.SECRET@example.org", "old.secret@example.org"] {
        let suppression = json!({"address": address});
        keyed(app, SUPPRESSIONS, address, &suppression)
            .await
            .expect(201);
    }
    assert!(!traces(app).await.is_empty());
    member
}

#[tokio::test]
async fn nothing_that_tells_of_a_deleted_member_is_left_and_the_address_stays_blocked() {
    for by_key in [false, true] {
        let app = App::start().await;
        let member = known(&app).await;
        let path = if by_key { BY_EXTERNAL_ID } else { &member };
        app.delete(path).await.expect(204);
        assert_eq!(traces(&app).await, [""; 0]);

        let listed = suppressed(&app, "ann.secret@example.org").await;
        assert_eq!(listed[0]["address"], Value::Null);
        assert_eq!(listed[0]["source_mail_record_id"], Value::Null);

        let again = json!({"name": "Ann", "email": "ann.SECRET@EXAMPLE.ORG"});
        let again = app.post(MEMBERS, again).await.expect(201);
        assert_eq!(again.body["mailability"], "suppressed");
    }
}

#[tokio::test]
async fn a_suppression_that_is_sent_again_knows_its_address_again() {
    let app = App::start().await;
    let member = known(&app).await;
    app.delete(&member).await.expect(204);
    let body = json!({"address": "ann.secret@example.org"});
    let again = app.post(SUPPRESSIONS, body).await.expect(200);
    assert_eq!(again.body["address"], "ann.secret@example.org");
}

#[tokio::test]
async fn an_address_that_another_member_has_today_is_hers() {
    let app = App::start().await;
    let member = known(&app).await;
    let bob = json!({"name": "Bob", "email": "old.secret@example.org"});
    app.post(MEMBERS, bob).await.expect(201);
    app.delete(&member).await.expect(204);
    let listed = suppressed(&app, "old.secret@example.org").await;
    assert_eq!(listed[0]["address"], "old.secret@example.org");
}

#[tokio::test]
async fn who_wanted_no_marketing_mail_gets_none_when_added_again() {
    let app = App::start().await;
    let granted = || json!({"state": "granted"});
    let withdrawn = || json!({"state": "withdrawn"});
    let on = |topic: &str, mut consent: Value| {
        consent["topic"] = json!(topic);
        consent
    };
    for (consents, word) in [
        (vec![granted()], "ok"),
        (vec![withdrawn()], "unsubscribed"),
        (vec![withdrawn(), granted()], "ok"),
        // What she still wanted is not known any more, what she did not want counts.
        (vec![withdrawn(), on("news", granted())], "unsubscribed"),
        (
            vec![on("club", granted()), on("news", withdrawn())],
            "unsubscribed",
        ),
    ] {
        let ann = app.post(MEMBERS, ann()).await.created();
        for consent in consents {
            app.post(&format!("{ann}/consents"), consent)
                .await
                .expect(201);
        }
        app.delete(&ann).await.expect(204);
        assert_eq!(traces(&app).await, [""; 0]);
        let again = app.post(MEMBERS, self::ann()).await.expect(201);
        assert_eq!(again.body["mailability"], word);
        app.delete(again.header("location")).await.expect(204);
        for suppression in suppressed(&app, "ann.secret@example.org")
            .await
            .as_array()
            .expect("rows")
        {
            let id = suppression["id"].as_str().expect("an id");
            app.delete(&format!("/api/v1/suppressions/{id}"))
                .await
                .expect(204);
        }
    }
}

#[tokio::test]
async fn addresses_that_she_had_before_are_not_told_either() {
    let app = App::start().await;
    let by_key = format!("{MEMBERS}/by-external-id/ann-1");
    let named = |email: &str| json!({"name": "Ann", "email": email});
    app.put(&by_key, named("First.Secret@example.org"))
        .await
        .expect(201);
    app.put(&by_key, named("second.secret@example.org"))
        .await
        .expect(200);
    let member = app.get(&by_key).await.expect(200).body["id"].clone();
    let path = format!("{MEMBERS}/{}", member.as_str().expect("an id"));
    app.patch(&path, json!({"email": "third.secret@example.org"}))
        .await
        .expect(200);
    app.put(&path, json!({"name": "Ann"})).await.expect(200);
    let suppressions = "/api/v1/suppressions";
    for address in ["first", "second", "third"] {
        let body = json!({"address": format!("{address}.secret@example.org")});
        keyed(&app, suppressions, address, &body).await.expect(201);
    }
    // One is released before she leaves.
    let id = suppressed(&app, "third.secret@example.org").await[0]["id"].clone();
    let third = format!("{suppressions}/{}", id.as_str().expect("an id"));
    app.delete(&third).await.expect(204);
    app.delete(&path).await.expect(204);
    assert_eq!(traces(&app).await, [""; 0]);
    for address in ["first", "second"] {
        let listed = suppressed(&app, &format!("{address}.secret@example.org")).await;
        assert_eq!(listed[0]["address"], Value::Null, "{address}");
    }
}

#[tokio::test]
async fn a_request_whose_answer_was_erased_is_not_done_again() {
    let app = App::start().await;
    let bob = json!({"name": "Bob"});
    let batch = json!({"items": [{"name": "Cleo"}, ann()]});
    let kept = keyed(&app, MEMBERS, "bob", &bob).await.expect(201);
    let batch_path = format!("{MEMBERS}/batch");
    let members = keyed(&app, &batch_path, "batch", &batch).await.expect(200);
    let id = members.body["results"][1]["id"].as_str().expect("an id");
    let ann = format!("{MEMBERS}/{id}");
    let records = format!("{ann}/mail-records");
    let mail = json!({"subject": "Hi"});
    keyed(&app, &records, "mail", &mail).await.expect(201);
    app.delete(&ann).await.expect(204);
    for (path, key, body) in [
        (&batch_path, "batch", &batch),
        (&records, "mail", &mail),
        // Whatever was asked for is not known any more.
        (&records, "mail", &json!({"subject": "Another"})),
    ] {
        let answer = keyed(&app, path, key, body).await;
        answer.problem(410, "answer_erased");
    }
    let again = keyed(&app, MEMBERS, "bob", &bob).await.expect(201);
    assert_eq!(again.text, kept.text);
    assert_eq!(app.get(MEMBERS).await.ids().len(), 2);
}

#[tokio::test]
async fn a_member_who_is_not_deleted_loses_nothing() {
    let app = App::start().await;
    let member = known(&app).await;
    let before = traces(&app).await;
    let refused = app.request(Method::DELETE, &member);
    let refused = refused.header("if-match", "\"99\"").send().await;
    refused.problem(412, "precondition_failed");
    assert_eq!(traces(&app).await, before);
}
