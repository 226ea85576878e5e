//! `/api/v1/access-keys`: keys are made, listed, rotated and revoked.

use hyper::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::kit::{App, document::ACCESS_KEYS, walk};

/// The secret that stands in a key.
fn secret(key: &str) -> &str {
    key.split('_').nth(2).expect("a secret")
}

#[tokio::test]
async fn a_key_is_shown_once_and_its_secret_is_not_stored() {
    let app = App::start_with_key().await;
    let body = json!({
        "name": "newsletter", "scopes": ["mail:write", "members:read"],
        "expires_at": "2100-01-01T00:00:00Z"
    });
    let created = app.post(ACCESS_KEYS, body).await.expect(201);
    assert_eq!(created.header("cache-control"), "no-store");
    assert_eq!(created.header("etag"), "\"1\"");
    let key = created.body["key"].as_str().expect("a key");
    let hash: [u8; 32] = Sha256::digest(secret(key)).into();
    let path = created.header("location");

    let read = app.get(path).await.expect(200);
    let mut shown = created.body.clone();
    shown.as_object_mut().expect("an object").remove("key");
    assert_eq!(read.body, shown);
    assert_eq!(read.body["scopes"], json!(["mail:write", "members:read"]));
    assert_eq!(read.body["last_used_at"], Value::Null);

    let digits = hash.iter().fold(String::new(), |digits, byte| {
        digits + &format!("{byte:02x}")
    });
    for form in ["json", "ndjson", "csv", "sse"] {
        let list = app.get(&format!("{ACCESS_KEYS}?format={form}")).await;
        let list = list.expect(200).text;
        assert!(list.contains("newsletter"), "{form}: {list}");
        for hidden in [secret(key), &digits, "hash", "mmk_"] {
            assert!(!list.contains(hidden), "{form}: {hidden} in {list}");
        }
    }
    let stored: (Vec<u8>, String) = sqlx::query_as(
        "SELECT secret_hash, to_jsonb(k)::text FROM access_keys k WHERE name = 'newsletter'",
    )
    .fetch_one(&app.pool)
    .await
    .expect("a row");
    assert_eq!(stored.0, hash);
    assert!(!stored.1.contains(secret(key)), "{}", stored.1);
}

#[tokio::test]
async fn what_is_no_key_is_refused_by_name() {
    let app = App::start_with_key().await;
    for (body, field, code) in [
        (json!({"scopes": ["admin"]}), "#/name", "required"),
        (json!({"name": " ", "scopes": ["admin"]}), "#/name", "blank"),
        (json!({"name": "x"}), "#/scopes", "required"),
        (json!({"name": "x", "scopes": []}), "#/scopes", "too_short"),
        (
            json!({"name": "x", "scopes": ["members:read", "root"]}),
            "#/scopes",
            "invalid",
        ),
        (
            json!({"name": "x", "scopes": ["admin", "admin"]}),
            "#/scopes",
            "repeated",
        ),
        (
            json!({"name": "x", "scopes": ["admin"], "key": "mine"}),
            "#/key",
            "unknown",
        ),
    ] {
        let answer = app.post(ACCESS_KEYS, body.clone()).await;
        assert_eq!(answer.error_at(422, "invalid_body", field), code, "{body}");
    }
    let path = app.access_key(&["privacy"]).await.path;
    let rotate = format!("{path}/rotate");
    for overlap in [json!(-1), json!(2_592_001), json!("1"), json!(1.5)] {
        let answer = app.post(&rotate, json!({"overlap_seconds": overlap}));
        answer.await.problem(422, "invalid_body");
    }
}

#[tokio::test]
async fn a_secret_is_kept_under_no_idempotency_key() {
    let app = App::start_with_key().await;
    let rotate = format!("{}/rotate", app.access_key(&["admin"]).await.path);
    for (path, body) in [
        (ACCESS_KEYS, json!({"name": "x", "scopes": ["admin"]})),
        (&rotate, json!({"overlap_seconds": 60})),
    ] {
        let send = || {
            let request = app.request(Method::POST, path).json(&body);
            request.header("idempotency-key", "one").send()
        };
        let (first, second) = (send().await, send().await);
        assert!(first.status.is_success() && second.status.is_success());
        assert_ne!(first.body["key"], second.body["key"]);
    }
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM idempotency_keys")
        .fetch_one(&app.pool)
        .await
        .expect("a count");
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn rotation_gives_another_secret_to_the_same_key() {
    let app = App::start_with_key().await;
    let old = app.access_key(&["mail:read"]).await;
    let rotate = format!("{}/rotate", old.path);
    let rotated = app.post(&rotate, json!({"overlap_seconds": 60})).await;
    let rotated = rotated.expect(200);
    assert_eq!(rotated.header("cache-control"), "no-store");
    assert_eq!(rotated.header("etag"), "\"2\"");
    let new = rotated.body["key"].as_str().expect("a key");
    assert_ne!(secret(new), secret(&old.key));
    assert_eq!(new[..36], old.key[..36]);
    assert!(rotated.body["previous_valid_until"].is_string());

    let again = app.post(&rotate, json!({})).await.expect(200);
    assert_eq!(again.body["previous_valid_until"], Value::Null);
    assert_eq!(again.body["version"], 3);

    let unknown = format!("{ACCESS_KEYS}/{}/rotate", uuid::Uuid::now_v7());
    app.post(&unknown, json!({}))
        .await
        .problem(404, "access_key_not_found");
}

#[tokio::test]
async fn a_key_is_revoked_for_good_and_stays_in_the_list() {
    let app = App::start_with_key().await;
    let path = app.access_key(&["mail:read"]).await.path;
    let revoke = format!("{path}/revoke");
    let revoked = app.act(&revoke).await.expect(200).body;
    assert!(revoked["revoked_at"].is_string());
    assert_eq!(revoked["version"], 2);
    assert_eq!(app.act(&revoke).await.expect(200).body, revoked);
    assert_eq!(app.get(&path).await.expect(200).body, revoked);
    app.post(&format!("{path}/rotate"), json!({}))
        .await
        .problem(409, "access_key_ended");
    assert!(
        app.get(ACCESS_KEYS)
            .await
            .ids()
            .contains(&revoked["id"].as_str().expect("an id").to_owned())
    );
    let unknown = format!("{ACCESS_KEYS}/{}/revoke", uuid::Uuid::now_v7());
    app.act(&unknown).await.problem(404, "access_key_not_found");
}

#[tokio::test]
async fn an_expired_key_is_not_rotated() {
    let app = App::start_with_key().await;
    let body = json!({"name": "x", "scopes": ["admin"], "expires_at": "2001-01-01T00:00:00Z"});
    let path = app.post(ACCESS_KEYS, body).await.created();
    app.post(&format!("{path}/rotate"), json!({}))
        .await
        .problem(409, "access_key_ended");
}

#[tokio::test]
async fn the_list_is_leafed_through_in_both_its_orders() {
    let app = App::start_with_key().await;
    for _ in 0..4 {
        app.access_key(&["mail:read"]).await;
    }
    let newest_first = walk(&app, &format!("{ACCESS_KEYS}?limit=2")).await;
    assert_eq!(newest_first.len(), 5);
    let mut oldest_first = walk(&app, &format!("{ACCESS_KEYS}?limit=2&sort=created_at")).await;
    oldest_first.reverse();
    assert_eq!(newest_first, oldest_first);
}
