//! `/api/v1/suppressions`.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{App, Settings, wait::until};

const SUPPRESSIONS: &str = "/api/v1/suppressions";

async fn count(app: &App) -> usize {
    app.get(SUPPRESSIONS).await.expect(200).ids().len()
}

#[tokio::test]
async fn a_suppression_is_read_back_as_it_was_created() {
    let app = App::start().await;
    let body = json!({
        "address": "Ann.Lee@Example.org", "reason": "hard_bounce", "scope": "marketing",
        "origin": "import", "expires_at": "2100-01-01T00:00:00Z"
    });
    let created = app.post(SUPPRESSIONS, body.clone()).await.expect(201);
    for (field, value) in body.as_object().expect("fields") {
        if field != "expires_at" {
            assert_eq!(created.body[field], *value, "{field}");
        }
    }
    assert_eq!(created.body["expires_at"], "2100-01-01T00:00:00.000000Z");
    assert_eq!(created.body["source_mail_record_id"], Value::Null);
    assert_eq!(created.body["version"], 1);
    let read = app.get(created.header("location")).await.expect(200);
    assert_eq!(read.text, created.text);
    let listed = app.get(SUPPRESSIONS).await.expect(200);
    assert_eq!(listed.body["data"], json!([created.body]));
}

#[tokio::test]
async fn what_is_not_given_is_the_usual() {
    let app = App::start().await;
    for (reason, scope) in [
        (None, "all"),
        (Some("hard_bounce"), "all"),
        (Some("complaint"), "all"),
        (Some("invalid"), "all"),
        (Some("unsubscribe"), "marketing"),
    ] {
        let mut body = json!({"address": "ann@example.org"});
        if let Some(reason) = reason {
            body["reason"] = reason.into();
        }
        let created = app.post(SUPPRESSIONS, body).await.expect(201).body;
        assert_eq!(created["reason"], reason.unwrap_or("manual"));
        assert_eq!(created["scope"], scope, "{reason:?}");
        assert_eq!(created["origin"], "api");
        assert_eq!(created["expires_at"], Value::Null);
    }
}

#[tokio::test]
async fn nobody_can_say_that_an_event_made_it() {
    let app = App::start().await;
    let body = json!({"address": "ann@example.org", "origin": "event"});
    let refused = app.post(SUPPRESSIONS, body).await;
    refused.error_at(422, "invalid_body", "#/origin");
}

#[tokio::test]
async fn the_same_address_reason_and_scope_is_one_suppression() {
    let app = App::start().await;
    let body = json!({"address": "ann@example.org", "reason": "manual"});
    let first = app.post(SUPPRESSIONS, body).await.expect(201);
    for address in ["ann@example.org", "ANN@EXAMPLE.ORG", "Ann@example.org"] {
        let body = json!({"address": address, "origin": "import"});
        let again = app.post(SUPPRESSIONS, body).await.expect(200);
        assert_eq!(again.text, first.text, "{address}");
        assert_eq!(again.header("etag"), "\"1\"");
    }
    for other in [
        json!({"address": "ann@example.org", "scope": "marketing"}),
        json!({"address": "ann@example.org", "reason": "invalid"}),
        json!({"address": "bob@example.org"}),
    ] {
        app.post(SUPPRESSIONS, other).await.expect(201);
    }
    assert_eq!(count(&app).await, 4);
}

#[tokio::test]
async fn a_suppression_never_ends_earlier_than_was_said_once() {
    let app = App::start().await;
    let (soon, late) = ("2100-01-01T00:00:00.000000Z", "2200-01-01T00:00:00.000000Z");
    let mut version = 0;
    for (sent, ends, changes) in [
        (json!(soon), json!(soon), true),
        (json!(soon), json!(soon), false),
        (json!(late), json!(late), true),
        (json!(soon), json!(late), false),
        (json!(null), json!(null), true),
        (json!(late), json!(null), false),
        (json!(null), json!(null), false),
    ] {
        let body = json!({"address": "ann@example.org", "expires_at": sent});
        let answer = app.post(SUPPRESSIONS, body).await;
        version += i32::from(changes);
        assert_eq!(
            answer.status,
            if version == 1 && changes { 201 } else { 200 }
        );
        assert_eq!(answer.body["expires_at"], ends, "{sent}");
        assert_eq!(answer.body["version"], version, "{sent}");
    }
}

#[tokio::test]
async fn thirty_who_suppress_an_address_at_once_make_one_suppression() {
    let app = App::start_with(Settings {
        connections: 20,
        ..Settings::default()
    })
    .await;
    app.member("ann").await;
    let body = json!({"address": "ann@example.org"});
    let answers = (0..30).map(|_| app.post(SUPPRESSIONS, body.clone()));
    let answers = futures_util::future::join_all(answers).await;
    let created = answers.iter().filter(|answer| answer.status == 201);
    assert_eq!(created.count(), 1);
    assert!(answers.iter().all(|answer| answer.text == answers[0].text));
}

#[tokio::test]
async fn filters_narrow_the_list_together() {
    let app = App::start().await;
    for (address, reason, scope, origin) in [
        ("ann@example.org", "manual", "all", "api"),
        ("ann@example.org", "complaint", "all", "import"),
        ("bob@example.org", "complaint", "marketing", "api"),
    ] {
        let body = json!({"address": address, "reason": reason, "scope": scope, "origin": origin});
        app.post(SUPPRESSIONS, body).await.expect(201);
    }
    for (query, found) in [
        ("address=ANN@example.org", 2),
        ("address=cleo@example.org", 0),
        ("reason=complaint", 2),
        ("reason=invalid", 0),
        ("scope=marketing", 1),
        ("origin=api", 2),
        ("origin=event", 0),
        ("reason=complaint&address=ann@example.org", 1),
        ("reason=complaint&scope=all&origin=api", 0),
    ] {
        let listed = app.get(&format!("{SUPPRESSIONS}?{query}")).await;
        assert_eq!(listed.expect(200).ids().len(), found, "{query}");
    }
}

#[tokio::test]
async fn what_a_complaint_made_is_deleted_by_those_alone_who_confirm_it() {
    let app = App::start().await;
    let body = json!({"address": "ann@example.org", "reason": "complaint"});
    let complaint = app.post(SUPPRESSIONS, body).await.created();
    for query in ["", "?confirm=false"] {
        let refused = app.delete(&format!("{complaint}{query}")).await;
        let problem = refused.problem(409, "confirmation_required");
        let detail = problem["detail"].as_str().expect("text");
        assert!(detail.contains("confirm=true"), "{detail}");
    }
    // Another version than the one that is there would not be deleted either way.
    let request = app.request(Method::DELETE, &complaint);
    let refused = request.header("if-match", "\"2\"").send().await;
    refused.problem(412, "precondition_failed");
    assert_eq!(count(&app).await, 1);
    app.delete(&format!("{complaint}?confirm=true"))
        .await
        .expect(204);
    app.get(&complaint)
        .await
        .problem(404, "suppression_not_found");

    let body = json!({"address": "ann@example.org", "reason": "hard_bounce"});
    let bounce = app.post(SUPPRESSIONS, body).await.created();
    app.delete(&bounce).await.expect(204);
}

#[tokio::test]
async fn what_has_ended_is_removed_and_the_rest_stays() {
    let app = App::start_with(Settings {
        sweep_interval: Duration::from_millis(10),
        ..Settings::default()
    })
    .await;
    for (address, expires_at) in [
        ("ann@example.org", json!("2000-01-01T00:00:00Z")),
        ("bob@example.org", json!("2100-01-01T00:00:00Z")),
        ("cleo@example.org", json!(null)),
    ] {
        let body = json!({"address": address, "expires_at": expires_at});
        app.post(SUPPRESSIONS, body).await.expect(201);
    }
    until("two are left", async || count(&app).await == 2).await;
    let gone = app
        .get(&format!("{SUPPRESSIONS}?address=ann@example.org"))
        .await;
    assert_eq!(gone.expect(200).ids().len(), 0);
}

/// HMAC-SHA256: test cases 2 and 1 of RFC 4231.
#[tokio::test]
async fn the_hash_of_an_address_is_a_keyed_one() {
    let app = App::start().await;
    let mut sql = app.sql().await;
    let (random, length): (bool, i32) =
        sqlx::query_as("SELECT inner_pad <> outer_pad, octet_length(inner_pad) FROM address_keys")
            .fetch_one(&mut sql)
            .await
            .expect("one key");
    assert!(random && length == 64);
    for (key, text, hash) in [
        (
            &b"Jefe"[..],
            "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            &[0x0b; 20],
            "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
    ] {
        let pad = |with: u8| -> Vec<u8> {
            let key = key.iter().copied().chain(std::iter::repeat(0)).take(64);
            key.map(|byte| byte ^ with).collect()
        };
        sqlx::query("UPDATE address_keys SET inner_pad = $1, outer_pad = $2")
            .bind(pad(0x36))
            .bind(pad(0x5c))
            .execute(&mut sql)
            .await
            .expect("a key");
        let found: String = sqlx::query_scalar("SELECT encode(address_hash($1), 'hex')")
            .bind(text)
            .fetch_one(&mut sql)
            .await
            .expect("a hash");
        assert_eq!(found, hash);
    }
}

/// A backup of one has nothing to do with the other.
#[tokio::test]
async fn every_database_has_a_key_of_its_own() {
    let mut hashes = Vec::new();
    for _ in 0..2 {
        let app = App::start().await;
        let hash: Vec<u8> = sqlx::query_scalar("SELECT address_hash('ann@example.org')")
            .fetch_one(&app.pool)
            .await
            .expect("a hash");
        hashes.push(hash);
    }
    assert_ne!(hashes[0], hashes[1]);
}
