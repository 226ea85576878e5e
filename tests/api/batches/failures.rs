//! Batches that meet other writes, that are cut off, and what they cost.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::{MAIL_BATCH, MEMBERS, MEMBERS_BATCH, post};
use crate::kit::{
    Answer, App, Moment, Settings,
    document::Subject,
    sessions::{sessions, until_locked},
    wait::{Wait, until},
};

fn members<'a>(keys: impl IntoIterator<Item = &'a str>) -> Value {
    let member =
        |key| json!({"name": "x", "email": format!("{key}@example.org"), "external_id": key});
    keys.into_iter().map(member).collect()
}

async fn execute(sql: &mut PgConnection, statement: &'static str) {
    sqlx::query(statement).execute(sql).await.expect(statement);
}

async fn count(sql: &mut PgConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM members")
        .fetch_one(sql)
        .await
        .expect("a count")
}

fn created(answers: &[Answer]) -> u64 {
    let created = |answer: &Answer| {
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body["created"].as_u64().expect("a number")
    };
    answers.iter().map(created).sum()
}

#[tokio::test]
async fn batches_of_the_same_keys_in_any_order_create_each_once() {
    let app = App::start().await;
    let mut sql = app.sql().await;
    let keys: Vec<_> = (0..200).map(|number| format!("{number}")).collect();
    for round in 0..10 {
        execute(&mut sql, "BEGIN").await;
        execute(&mut sql, "LOCK TABLE members IN SHARE MODE").await;
        let batches = (0..5).map(|batch| {
            let mut order: Vec<_> = keys.iter().map(String::as_str).collect();
            order.rotate_left(batch * 37);
            if batch % 2 == 0 {
                order.reverse();
            }
            app.post(MEMBERS_BATCH, json!({"items": members(order)}))
        });
        let begin = async {
            let mut watcher = app.sql().await;
            until_locked(&mut watcher, 5).await;
            execute(&mut sql, "COMMIT").await;
        };
        let (answers, ()) = tokio::join!(join_all(batches), begin);
        assert_eq!(created(&answers), 200, "round {round}");
        execute(&mut sql, "DELETE FROM members").await;
    }
    // They waited for one another in turn, and none had to be ended.
    let deadlocks: i64 = sqlx::query_scalar(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()",
    )
    .fetch_one(&mut sql)
    .await
    .expect("a count");
    assert_eq!(deadlocks, 0);
}

/// With a key twice the order is that of the request, and so each can come to wait for the other.
#[tokio::test]
async fn two_batches_that_wait_for_each_other_are_both_answered() {
    let app = App::start().await;
    let (mut sql, mut holder) = (app.sql().await, app.sql().await);
    for key in [None, Some("one")] {
        execute(&mut holder, "BEGIN").await;
        execute(
            &mut holder,
            "INSERT INTO members (id, name, joined, external_id)
             VALUES (gen_random_uuid(), 'x', now(), 'held')",
        )
        .await;
        let send = |keys: [&'static str; 4]| {
            let mut request = app.request(Method::POST, MEMBERS_BATCH);
            if let Some(key) = key {
                request = request.header("idempotency-key", format!("{key}-{}", keys[0]));
            }
            request.json(&json!({"items": members(keys)})).send()
        };
        let release = async {
            until_locked(&mut sql, 2).await;
            execute(&mut holder, "ROLLBACK").await;
        };
        let first = send(["a", "held", "b", "b"]);
        let second = send(["b", "held", "a", "a"]);
        let (first, second, ()) = tokio::join!(first, second, release);
        assert_eq!(created(&[first, second]), 3);
        assert_eq!(count(&mut sql).await, 3);
        execute(&mut sql, "DELETE FROM members").await;
    }
}

#[tokio::test]
async fn a_key_that_is_free_again_when_its_holder_is_looked_for_is_tried_again() {
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let (app, shim) = App::start_over_shim(settings).await;
    let mut sql = app.sql().await;
    let ann = members(["ann"]);
    post(&app, MEMBERS_BATCH, &ann).await.expect(200);
    post(&app, MEMBERS_BATCH, &ann).await.expect(200);

    // Both statements are prepared, so that what is sent next has no text but its values.
    shim.hold_at("ann@example.org");
    let release = async {
        shim.held().await;
        until("the member was left out", async || {
            let inserted = "state = 'idle in transaction' AND query LIKE '%INSERT INTO members%'";
            sessions(&mut sql, inserted).await == 1
        })
        .await;
        execute(&mut sql, "DELETE FROM members").await;
        shim.release();
    };
    let (answer, ()) = tokio::join!(post(&app, MEMBERS_BATCH, &ann), release);
    assert_eq!(created(&[answer]), 1);
}

#[tokio::test]
async fn what_is_deleted_while_a_batch_refers_to_it_refuses_one_item_only() {
    let app = App::start().await;
    let (mut sql, mut holder) = (app.sql().await, app.sql().await);
    for (delete, code, place) in [
        (
            "DELETE FROM members WHERE name = 'ann'",
            "member_not_found",
            "#/items/1/member_id",
        ),
        (
            "DELETE FROM mail_records WHERE subject = 'Hello'",
            "invalid_body",
            "#/items/1/retry_of",
        ),
    ] {
        let ann = Subject::create(&app).await;
        let bob = app
            .post(MEMBERS, json!({"name": "Bob"}))
            .await
            .expect(201)
            .body;
        execute(&mut holder, "BEGIN").await;
        execute(&mut holder, delete).await;
        let other = json!({"member_id": bob["id"], "subject": "x", "recipient": "bob@example.org"});
        let retry =
            json!({"member_id": ann.member_id, "subject": "x", "retry_of": ann.mail_record_id});
        let commit = async {
            until_locked(&mut sql, 1).await;
            execute(&mut holder, "COMMIT").await;
        };
        let items = json!([other, retry, other]);
        let (answer, ()) = tokio::join!(post(&app, MAIL_BATCH, &items), commit);
        let problem = &answer.body["results"][1]["problem"];
        assert_eq!(problem["code"], code, "{}", answer.text);
        assert_eq!(problem["errors"][0]["pointer"], place);
        assert_eq!(created(&[answer]), 2);
        execute(&mut sql, "DELETE FROM members").await;
    }
}

#[tokio::test]
async fn a_batch_that_is_cut_off_at_any_step_is_done_once_and_whole() {
    let (app, shim) = App::start_over_shim(Settings::default()).await;
    let mut sql = app.sql().await;
    for moment in [Moment::BeforeItArrives, Moment::BeforeItIsAnswered] {
        for step in 1.. {
            let key = format!("{moment:?}-{step}");
            let send = || {
                let request = app
                    .request(Method::POST, MEMBERS_BATCH)
                    .header("idempotency-key", &key);
                let items = members(["a", "b", "a", "c"]);
                request.json(&json!({ "items": items })).send()
            };
            shim.cut_at(step, moment);
            let mut answer = send().await;
            let was_cut = shim.mend();
            let wait = Wait::new("the batch is answered");
            while answer.status != 200 {
                assert!(
                    [409, 503].contains(&answer.status.as_u16()),
                    "{}",
                    answer.text
                );
                tokio::time::sleep(wait.pause()).await;
                answer = send().await;
            }
            assert_eq!(created(&[answer]), 3, "{key}");
            assert_eq!(count(&mut sql).await, 3, "{key}");
            execute(&mut sql, "DELETE FROM members").await;
            if !was_cut {
                assert!(step > 8, "{key}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_thousand_items_take_a_handful_of_statements_and_keep_their_order() {
    let (app, shim) = App::start_over_shim(Settings::default()).await;
    let ann = app.member("ann").await;
    let id = ann.rsplit('/').next().expect("an id");
    let numbers = || (0..1000).map(|number| format!("{:03}", (number * 7) % 1000));
    let keys: Vec<_> = numbers().collect();
    let record = |key: &String| json!({"member_id": id, "subject": key, "external_id": key});
    let records: Value = keys.iter().map(record).collect();
    for (path, list, items) in [
        (
            MEMBERS_BATCH,
            MEMBERS,
            members(keys.iter().map(String::as_str)),
        ),
        (MAIL_BATCH, "/api/v1/mail-records", records),
    ] {
        let before = shim.sent();
        let answer = post(&app, path, &items).await.expect(200);
        assert!(shim.sent() - before < 20, "{path}");
        assert_eq!(answer.body["created"], 1000);
        let results = answer.body["results"].as_array().expect("results");
        let ids: Vec<_> = results
            .iter()
            .map(|result| result["id"].as_str().expect("an id"))
            .collect();
        assert!(ids.is_sorted(), "{path}");
        let newest = app.get(&format!("{list}?limit=500")).await.expect(200);
        let rows = newest.body["data"].as_array().expect("data");
        let row_keys = rows
            .iter()
            .map(|row| row["external_id"].as_str().expect("a key"));
        assert!(
            row_keys.eq(keys.iter().rev().take(500).map(String::as_str)),
            "{path}"
        );

        // Once more: a look at what was left out, and for mail what stands.
        let before = shim.sent();
        let again = post(&app, path, &items).await.expect(200);
        assert!(shim.sent() - before < 30, "{path}");
        assert_eq!(again.body["created"], 0);
        let failed = if path == MEMBERS_BATCH { 1000 } else { 0 };
        assert_eq!(again.body["failed"], failed);
    }
}
