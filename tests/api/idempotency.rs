//! `Idempotency-Key`: what is sent again is done once.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection};

use crate::kit::{
    Answer, App, Settings,
    document::{ACCESS_KEYS, Subject, operations},
    request::Request,
    sessions::until_locked,
    wait::until,
};

const MEMBERS: &str = "/api/v1/members";
const KEY: &str = "idempotency-key";
const REPLAYED: &str = "idempotency-replayed";

fn keyed(app: &App, path: &str, key: &str) -> Request {
    app.request(Method::POST, path).header(KEY, key)
}

async fn post(app: &App, path: &str, key: &str, body: &Value) -> Answer {
    keyed(app, path, key).json(body).send().await
}

/// Expects the same answer again, which says that it is one.
#[track_caller]
fn assert_replays(first: &Answer, again: &Answer) {
    assert!(!first.headers.contains_key(REPLAYED));
    assert_eq!(again.header(REPLAYED), "true");
    assert_eq!(again.status, first.status);
    assert_eq!(again.text, first.text);
    for name in ["content-type", "location", "etag"] {
        assert_eq!(again.headers.get(name), first.headers.get(name), "{name}");
    }
}

async fn count(app: &App, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    sqlx::query_scalar(AssertSqlSafe(count))
        .fetch_one(&app.pool)
        .await
        .expect("a count")
}

async fn rows(app: &App) -> i64 {
    let mut rows = 0;
    for table in [
        "members",
        "mail_records",
        "mail_events",
        "consents",
        "suppressions",
    ] {
        rows += count(app, table).await;
    }
    rows
}

async fn execute(app: &App, statement: &'static str) -> u64 {
    let done = sqlx::query(statement).execute(&app.pool).await;
    done.expect(statement).rows_affected()
}

#[tokio::test]
async fn every_post_is_done_once_for_a_key() {
    let app = App::start().await;
    let subject = Subject::create(&app).await;
    let mut posts = operations();
    posts.retain(|operation| operation.method == Method::POST);
    // Their answers hold a secret, which must not be kept.
    posts.retain(|operation| !operation.path.starts_with(ACCESS_KEYS));
    assert!(posts.len() >= 4);
    for operation in posts {
        let name = operation.name();
        assert!(
            operation
                .parameters("header")
                .contains(&"Idempotency-Key".to_owned()),
            "{name} takes no key"
        );
        for status in ["409", "422"] {
            let headers = &operation.says["responses"][status]["headers"];
            assert!(
                headers["Idempotency-Replayed"].is_object(),
                "{name} {status}"
            );
        }
        let send = async |key: &str| {
            let request = operation.request(&app, &subject).header(KEY, key);
            if operation.media_type().is_none() {
                return request.send().await;
            }
            request.json(&operation.example_on(&subject)).send().await
        };
        operation.allow(&app, &subject).await;
        let before = rows(&app).await;
        let first = send("one").await;
        assert!(first.status.is_success(), "{name}: {}", first.text);
        let added = rows(&app).await - before;
        assert!(added > 0, "{name}");
        assert_replays(&first, &send("one").await);
        assert_replays(&first, &send("\"one\"").await);
        assert_eq!(rows(&app).await, before + added, "{name}");
    }
}

#[tokio::test]
async fn of_thirty_that_come_at_once_one_is_done() {
    let app = App::start().await;
    for round in 0..10 {
        let name = format!("m{round}");
        let body = json!({"name": name});
        let mut holder = app.sql().await;
        let mut watcher = app.sql().await;
        let mut held = holder.begin().await.expect("a transaction");
        if round % 2 == 0 {
            // All others come while the first waits.
            sqlx::query("LOCK TABLE members IN SHARE MODE")
                .execute(&mut *held)
                .await
                .expect("locked");
        }
        let requests = join_all((0..30).map(|_| post(&app, MEMBERS, &name, &body)));
        let release = async {
            if round % 2 == 0 {
                until_locked(&mut watcher, 1).await;
            }
            held.rollback().await.expect("released");
        };
        let (answers, ()) = tokio::join!(requests, release);

        let (done, refused): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 201);
        for answer in refused {
            assert_eq!(answer.header("retry-after"), "1");
            answer.problem(409, "idempotency_key_in_use");
        }
        assert!(done.iter().all(|answer| answer.text == done[0].text));
        let replayed = |answer: &&Answer| answer.headers.contains_key(REPLAYED);
        assert_eq!(done.len() - done.iter().filter(replayed).count(), 1);
        assert_eq!(count(&app, "members").await, round + 1);
    }
}

#[tokio::test]
async fn a_key_is_held_while_its_request_runs_also_when_the_client_has_left() {
    let app = App::start().await;
    let mut sql = app.sql().await;
    let mut holder = app.sql().await;
    let mut held = holder.begin().await.expect("a transaction");
    sqlx::query("LOCK TABLE members IN SHARE MODE")
        .execute(&mut *held)
        .await
        .expect("locked");
    let body = json!({"name": "Ann"});
    let mut leaving = crate::kit::Wire::connect(app.address).await;
    leaving
        .request_with("POST", MEMBERS, "Idempotency-Key: one\r\n", &body)
        .await;
    until_locked(&mut sql, 1).await;
    drop(leaving);
    app.notice_departures().await;

    let meanwhile = post(&app, MEMBERS, "one", &body).await;
    assert_eq!(meanwhile.header("retry-after"), "1");
    meanwhile.problem(409, "idempotency_key_in_use");
    held.rollback().await.expect("released");

    until("the request is done", async || {
        let answer = post(&app, MEMBERS, "one", &body).await;
        answer.status == 201 && answer.headers.contains_key(REPLAYED)
    })
    .await;
    assert_eq!(count(&app, "members").await, 1);
}

#[tokio::test]
async fn a_key_is_for_one_body_however_it_is_written() {
    let app = App::start().await;
    let send = |body: &'static str| {
        let request = keyed(&app, MEMBERS, "one").header("content-type", "application/json");
        request.body(body).send()
    };
    let first = send(r#"{"name":"Ann","attributes":{"a":1,"b":[1,2]}}"#)
        .await
        .expect(201);
    for same in [
        r#"{"attributes":{"b":[1,2],"a":1},"name":"Ann"}"#,
        "{\n  \"name\": \"\\u0041nn\",\n  \"attributes\": {\"a\": 1, \"b\": [1, 2]}\n}\n",
    ] {
        assert_replays(&first, &send(same).await);
    }
    for other in [
        r#"{"name":"Anna","attributes":{"a":1,"b":[1,2]}}"#,
        r#"{"name":"Ann","attributes":{"a":1,"b":[2,1]}}"#,
        r#"{"name":"Ann","attributes":{"a":1,"b":[1,2]},"tags":[]}"#,
    ] {
        send(other).await.problem(422, "idempotency_key_reused");
    }
    assert_eq!(count(&app, "members").await, 1);
}

#[tokio::test]
async fn a_refusal_that_was_decided_is_repeated_when_its_reason_is_gone() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let taken = json!({"name": "Ann", "email": "ann@example.org"});
    let refused = post(&app, MEMBERS, "one", &taken).await;
    let again = post(&app, MEMBERS, "one", &taken).await;
    assert_replays(&refused, &again);
    refused.problem(409, "email_taken");

    let bob = app.post(MEMBERS, json!({"name": "Bob"})).await.created();
    let records = format!("{bob}/mail-records");
    let without = json!({"subject": "Hi"});
    let refused = post(&app, &records, "one", &without).await;
    let again = post(&app, &records, "one", &without).await;
    assert_replays(&refused, &again);
    refused.problem(422, "invalid_body");

    app.delete(&ann).await.expect(204);
    app.put(&bob, json!({"name": "Bob", "email": "bob@example.org"}))
        .await
        .expect(200);
    for (path, body, status) in [(MEMBERS, &taken, 409), (&records, &without, 422)] {
        let again = post(&app, path, "one", body).await.expect(status);
        assert_eq!(again.header(REPLAYED), "true");
        post(&app, path, "two", body).await.expect(201);
    }
}

#[tokio::test]
async fn what_was_not_decided_is_tried_again() {
    let app = App::start_with(Settings {
        statement_timeout: std::time::Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    let id = uuid::Uuid::now_v7();
    let records = format!("{MEMBERS}/{id}/mail-records");
    let record = json!({"subject": "Hi"});
    post(&app, &records, "one", &record)
        .await
        .problem(404, "member_not_found");
    sqlx::query(
        "INSERT INTO members (id, name, email, email_folded, joined)
         VALUES ($1, 'Ann', 'ann@example.org', 'ann@example.org', now())",
    )
    .bind(id)
    .execute(&app.pool)
    .await
    .expect("Ann");
    let first = post(&app, &records, "one", &record).await.expect(201);
    assert_replays(&first, &post(&app, &records, "one", &record).await);

    let mut holder = app.sql().await;
    let mut held = holder.begin().await.expect("a transaction");
    sqlx::query("LOCK TABLE members IN SHARE MODE")
        .execute(&mut *held)
        .await
        .expect("locked");
    let bob = json!({"name": "Bob"});
    post(&app, MEMBERS, "two", &bob)
        .await
        .problem(503, "timed_out");
    held.rollback().await.expect("released");

    let malformed = keyed(&app, MEMBERS, "two").header("content-type", "application/json");
    malformed
        .body("{")
        .send()
        .await
        .problem(400, "malformed_json");
    for wrong in [
        json!({"name": "B\0b"}),
        json!({"name": 1}),
        json!({"nmae": "Bob"}),
    ] {
        post(&app, MEMBERS, "two", &wrong)
            .await
            .problem(422, "invalid_body");
    }
    let first = post(&app, MEMBERS, "two", &bob).await.expect(201);
    assert_replays(&first, &post(&app, MEMBERS, "two", &bob).await);
}

#[tokio::test]
async fn keys_paths_and_methods_do_not_meet() {
    let app = App::start().await;
    let (ann, bob) = (app.member("ann").await, app.member("bob").await);
    let record = json!({"subject": "Hi"});
    for records in [format!("{ann}/mail-records"), format!("{bob}/mail-records")] {
        for key in ["one", "One", "two"] {
            let answer = post(&app, &records, key, &record).await.expect(201);
            assert!(!answer.headers.contains_key(REPLAYED));
        }
        assert_eq!(app.get(&records).await.expect(200).ids().len(), 3);
    }
    post(&app, MEMBERS, "one", &json!({"name": "Cat"}))
        .await
        .expect(201);

    // The others are repeatable by themselves, and pass the key over.
    for version in [2, 3] {
        let put = app.request(Method::PUT, &ann).header(KEY, "one");
        let ann = put
            .json(&json!({"name": "Anna"}))
            .send()
            .await
            .expect(200)
            .body;
        assert_eq!(ann["version"], version);
    }
    for _ in 0..2 {
        let get = app.request(Method::GET, &ann).header(KEY, "");
        get.send().await.expect(200);
    }
}

#[tokio::test]
async fn a_key_of_another_form_is_refused() {
    let app = App::start().await;
    let body = json!({"name": "Ann"});
    let long = "k".repeat(256);
    for key in ["", "\"\"", "\"one", "a b", "\u{e9}", &long] {
        let code = post(&app, MEMBERS, key, &body)
            .await
            .error_at(400, "invalid_header", KEY);
        assert_eq!(code, "invalid");
    }
    let twice = keyed(&app, MEMBERS, "one").header(KEY, "one").json(&body);
    let code = twice.send().await.error_at(400, "invalid_header", KEY);
    assert_eq!(code, "repeated");
    assert_eq!(count(&app, "members").await, 0);
    post(&app, MEMBERS, &long[1..], &body).await.expect(201);
}

#[tokio::test]
async fn what_has_expired_is_not_repeated_though_it_is_still_there() {
    let app = App::start().await;
    let ann = json!({"name": "Ann"});
    let first = post(&app, MEMBERS, "one", &ann).await.expect(201);
    execute(&app, "UPDATE idempotency_keys SET expires_at = now()").await;
    let second = post(&app, MEMBERS, "one", &ann).await.expect(201);
    assert_ne!(second.text, first.text);
    assert_replays(&second, &post(&app, MEMBERS, "one", &ann).await);
    assert_eq!(count(&app, "members").await, 2);

    // Another body too.
    execute(&app, "UPDATE idempotency_keys SET expires_at = now()").await;
    let bob = json!({"name": "Bob"});
    let third = post(&app, MEMBERS, "one", &bob).await.expect(201);
    assert_replays(&third, &post(&app, MEMBERS, "one", &bob).await);
}

#[tokio::test]
async fn what_has_expired_is_removed_and_the_rest_stays() {
    let app = App::start_with(Settings {
        sweep_interval: std::time::Duration::from_millis(10),
        ..Settings::default()
    })
    .await;
    let ann = json!({"name": "Ann"});
    let first = post(&app, MEMBERS, "one", &ann).await.expect(201);
    let expired = execute(
        &app,
        "INSERT INTO idempotency_keys (scope, caller, fingerprint, status, header, body, expires_at)
         SELECT sha256(n::text::bytea), caller, fingerprint, status, header, body, now()
         FROM idempotency_keys, generate_series(1, 1200) n",
    )
    .await;
    assert_eq!(expired, 1200);
    until("one is left", async || {
        count(&app, "idempotency_keys").await == 1
    })
    .await;
    assert_replays(&first, &post(&app, MEMBERS, "one", &ann).await);
}

#[tokio::test]
async fn how_much_of_a_kept_answer_goes_out_is_each_requests_own() {
    let app = App::start().await;
    let ann = json!({"name": "Ann"});
    let minimal = keyed(&app, MEMBERS, "one").header("prefer", "return=minimal");
    let minimal = minimal.json(&ann).send().await.expect(201);
    assert_eq!(minimal.text, "");
    let whole = post(&app, MEMBERS, "one", &ann).await.expect(201);
    assert_eq!(whole.header(REPLAYED), "true");
    assert_eq!(whole.header("location"), minimal.header("location"));
    assert_eq!(whole.body["name"], "Ann");
}
