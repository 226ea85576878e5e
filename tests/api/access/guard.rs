//! Which keys open, and when one is needed.

use std::collections::HashSet;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{App, Wire, document::ACCESS_KEYS, log::Log, wait::until};

const MEMBERS: &str = "/api/v1/members";
const INVALID: &str = "Bearer realm=\"member-mail\", error=\"invalid_token\"";

/// A key of this form, whatever it opens.
fn key_of(id: &str, secret: &str) -> String {
    let checked = format!("mmk_{id}_{secret}");
    format!("{checked}_{:08x}", crc32fast::hash(checked.as_bytes()))
}

/// Whether a key opens the list of members.
async fn opens(app: &App, key: &str) -> bool {
    let answer = app.request(Method::GET, MEMBERS).with_key(key).send().await;
    answer.status == 200
}

#[tokio::test]
async fn on_loopback_a_key_is_needed_from_the_first_one_on() {
    let app = App::start().await;
    app.get(MEMBERS).await.expect(200);
    let key = app.access_key(&["admin", "members:read"]).await;
    app.get(MEMBERS).await.problem(401, "access_key_required");
    assert!(opens(&app, &key.key).await);

    // A revocation shuts one out, and lets nobody in.
    let revoke = format!("{}/revoke", key.path);
    let revoke = app.request(Method::POST, &revoke).with_key(&key.key);
    revoke.send().await.expect(200);
    app.get(MEMBERS).await.problem(401, "access_key_required");
    assert!(!opens(&app, &key.key).await);
}

#[tokio::test]
async fn a_key_that_is_sent_is_judged_where_none_is_needed_too() {
    let app = App::start().await;
    let damaged = app.request(Method::GET, MEMBERS).with_key("mmk_1_2_3");
    damaged.send().await.problem(401, "invalid_access_key");
}

#[tokio::test]
async fn what_is_not_the_key_opens_nothing_and_is_not_told_why() {
    let app = App::start_with_key().await;
    let key = app.key.clone().expect("a key");
    let (id, secret) = (&key[4..36], &key[37..101]);
    let other_id = "018cc251f40070008000000000000001";
    let other_secret = "0".repeat(64);
    let revoked = app.access_key(&["members:read"]).await;
    app.act(&format!("{}/revoke", revoked.path))
        .await
        .expect(200);
    let body =
        json!({"name": "x", "scopes": ["members:read"], "expires_at": "2001-01-01T00:00:00Z"});
    let expired = app.post(ACCESS_KEYS, body).await.expect(201).body;

    let mut damaged: Vec<_> = (0..key.len())
        .map(|at| {
            let other = if &key[at..=at] == "0" { "1" } else { "0" };
            format!("{}{other}{}", &key[..at], &key[at + 1..])
        })
        .collect();
    damaged.extend([
        key[..key.len() - 1].to_owned(),
        format!("{key}0"),
        format!("{key} {key}"),
        format!("{key},{key}"),
        format!("\"{key}\""),
        key.to_uppercase(),
        format!("{}-{}", &key[..20], &key[20..]),
        key_of(id, &other_secret),
        key_of(other_id, secret),
        key_of(other_id, &other_secret),
        key_of(id, &secret.to_uppercase()),
        key_of(id, ""),
        key_of(&"0".repeat(32), secret),
        "mmk".to_owned(),
        "admin".to_owned(),
        "null".to_owned(),
        "' OR true --".to_owned(),
        revoked.key,
        expired["key"].as_str().expect("a key").to_owned(),
    ]);
    let log = Log::capture();
    let mut answers = HashSet::new();
    for key in &damaged {
        let request = app.request(Method::GET, MEMBERS).with_key(key);
        let answer = request.send().await;
        assert_eq!(answer.header("www-authenticate"), INVALID, "{key}");
        let mut body = answer.problem(401, "invalid_access_key");
        body.as_object_mut()
            .expect("a problem")
            .remove("request_id");
        answers.insert(body.to_string());
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(opens(&app, &key).await);

    // Which it was is for the operator, and the key itself is for nobody.
    let log = log.text();
    for fault in ["Malformed", "Unknown", "WrongSecret", "Revoked", "Expired"] {
        assert!(log.contains(&format!("fault={fault}")), "{fault} in {log}");
    }
    for secret in damaged.iter().chain([&key]).filter(|key| key.len() > 60) {
        assert!(!log.contains(&secret[37..60]), "{log}");
    }
}

#[tokio::test]
async fn a_key_is_taken_from_the_one_header_field_alone() {
    let app = App::start_with_key().await;
    let key = app.key.clone().expect("a key");
    let ask = |path: &str| app.request(Method::GET, path).without_key();
    for query in ["access_token", "key", "authorization"] {
        let path = format!("{MEMBERS}?{query}={key}");
        ask(&path).send().await.problem(401, "access_key_required");
    }
    for (name, value) in [
        ("cookie", format!("Authorization=Bearer {key}")),
        ("x-api-key", key.clone()),
        ("proxy-authorization", format!("Bearer {key}")),
        ("authorization", format!("Basic {key}")),
        ("authorization", key.clone()),
    ] {
        let answer = ask(MEMBERS).header(name, &value).send().await;
        answer.problem(401, "access_key_required");
    }
    let bearer = format!("Bearer {key}");
    let twice = ask(MEMBERS).header("authorization", &bearer);
    let twice = twice.header("authorization", &bearer).send().await;
    twice.problem(401, "invalid_access_key");
    let lower = ask(MEMBERS).header("authorization", format!("bearer {key}"));
    lower.send().await.expect(200);
}

#[tokio::test]
async fn both_secrets_open_during_the_overlap_of_a_rotation_and_one_behind_it() {
    let app = App::start_with_key().await;
    let first = app.access_key(&["members:read"]).await;
    let rotate = |overlap: u32| {
        let path = format!("{}/rotate", first.path);
        let app = &app;
        async move {
            let rotated = app.post(&path, json!({"overlap_seconds": overlap})).await;
            rotated.expect(200).body["key"]
                .as_str()
                .expect("a key")
                .to_owned()
        }
    };
    let second = rotate(3600).await;
    assert!(opens(&app, &first.key).await && opens(&app, &second).await);
    let third = rotate(3600).await;
    assert!(!opens(&app, &first.key).await, "two rotations back");
    assert!(opens(&app, &second).await && opens(&app, &third).await);
    let fourth = rotate(0).await;
    assert!(!opens(&app, &third).await && opens(&app, &fourth).await);
}

#[tokio::test]
async fn the_end_of_an_overlap_and_of_a_key_is_the_end() {
    let app = App::start_with_key().await;
    let key = app.access_key(&["members:read"]).await;
    let rotate = format!("{}/rotate", key.path);
    let rotated = app.post(&rotate, json!({"overlap_seconds": 3600})).await;
    let rotated = rotated.expect(200).body["key"].as_str().map(str::to_owned);
    let rotated = rotated.expect("a key");
    let end = async |what: &str| {
        let id = key.path.rsplit('/').next().expect("an id");
        let sql = format!("UPDATE access_keys SET {what} = now() WHERE id = '{id}'");
        let mut sql_connection = app.sql().await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
            .execute(&mut sql_connection)
            .await
            .expect("changed");
        // A key that is made lets what is known of all others be looked up anew.
        app.access_key(&["privacy"]).await;
    };
    assert!(opens(&app, &key.key).await && opens(&app, &rotated).await);
    end("previous_valid_until").await;
    assert!(!opens(&app, &key.key).await && opens(&app, &rotated).await);
    end("expires_at").await;
    assert!(!opens(&app, &rotated).await);
}

#[tokio::test]
async fn the_use_of_a_key_is_written_down_behind_the_request_and_not_for_each() {
    let app = App::start_with_key().await;
    let key = app.access_key(&["members:read"]).await;
    let used = || async {
        let read = app.get(&key.path).await.expect(200).body;
        (read["last_used_at"].clone(), read["version"].clone())
    };
    assert_eq!(used().await, (Value::Null, json!(1)));
    assert!(opens(&app, &key.key).await);
    until("the use is written down", async || {
        !used().await.0.is_null()
    })
    .await;
    let once = used().await;
    for _ in 0..20 {
        assert!(opens(&app, &key.key).await);
    }
    assert_eq!(used().await, once, "within the same minute");
    assert_eq!(once.1, json!(1), "a use is no new version");
}

#[tokio::test]
async fn the_same_idempotency_key_of_two_callers_is_two() {
    let app = App::start_with_key().await;
    let scopes = ["members:write", "members:read"];
    let callers = [app.access_key(&scopes).await, app.access_key(&scopes).await];
    let mut made = HashSet::new();
    for caller in callers.iter().chain(&callers) {
        let request = app.request(Method::POST, MEMBERS).with_key(&caller.key);
        let request = request.header("idempotency-key", "one");
        let answer = request.json(&json!({"name": "Ann"})).send().await;
        made.insert(answer.expect(201).header("location").to_owned());
    }
    assert_eq!(made.len(), 2);
}

#[tokio::test]
async fn who_may_not_do_it_need_not_send_the_body() {
    let app = App::start_with_key().await;
    let other = app.access_key(&["privacy"]).await.key;
    for (status, key) in [(401, "mmk_1"), (403, &other)] {
        let lines = format!(
            "POST {MEMBERS} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
            app.address
        );
        let mut wire = Wire::connect(app.address).await;
        wire.send(&lines).await;
        assert_eq!(wire.reply().await.expect("an answer").status, status);
    }
}
