//! `Idempotency-Key` where something breaks: however often a request is sent until it is answered, it is
//! done once.

use std::time::Duration;

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::kit::{
    Answer, App, Moment, Settings, Wire,
    sessions::{sessions, until_locked},
    wait::{Wait, until},
};

const MEMBERS: &str = "/api/v1/members";

async fn post(app: &App, key: &str, body: &Value) -> Answer {
    let request = app
        .request(Method::POST, MEMBERS)
        .header("idempotency-key", key);
    request.json(body).send().await
}

/// Sends a request until it is answered.
async fn insist(app: &App, key: &str, body: &Value) -> Answer {
    let wait = Wait::new("the request is answered");
    loop {
        let answer = post(app, key, body).await;
        if ![409, 503].contains(&answer.status.as_u16()) {
            return answer.expect(201);
        }
        assert_eq!(answer.header("retry-after"), "1");
        tokio::time::sleep(wait.pause()).await;
    }
}

async fn ids(sql: &mut PgConnection, name: &str) -> Vec<String> {
    sqlx::query_scalar("SELECT id::text FROM members WHERE name = $1")
        .bind(name)
        .fetch_all(sql)
        .await
        .expect("ids")
}

#[tokio::test]
async fn a_link_to_postgres_that_is_cut_at_any_step_makes_no_second_member() {
    let (app, shim) = App::start_over_shim(Settings::default()).await;
    let mut sql = app.sql().await;
    for moment in [Moment::BeforeItArrives, Moment::BeforeItIsAnswered] {
        for step in 1.. {
            let name = format!("{moment:?} {step}");
            let key = name.replace(' ', "-");
            let body = json!({"name": name});
            shim.cut_at(step, moment);
            let first = post(&app, &key, &body).await;
            if !shim.mend() {
                first.expect(201);
                // BEGIN, the lock, the look, SAVEPOINT, the member, the answer, COMMIT.
                assert!(step > 7, "{name}");
                break;
            }
            let answer = insist(&app, &key, &body).await;
            assert_eq!(insist(&app, &key, &body).await.text, answer.text);
            assert_eq!(
                ids(&mut sql, &name).await,
                [answer.body["id"].as_str().expect("an id")]
            );
        }
    }
}

#[tokio::test]
async fn a_client_that_is_cut_off_at_any_byte_makes_no_second_member() {
    let app = App::start().await;
    let mut sql = app.sql().await;
    for end in (0..).step_by(10) {
        let name = format!("cut at {end}");
        let key = format!("key-{end}");
        let body = json!({"name": name});
        let text = body.to_string();
        let request = format!(
            "POST {MEMBERS} HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n\
             Idempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        );
        let mut leaving = Wire::connect(app.address).await;
        leaving.send(&request[..end.min(request.len())]).await;
        drop(leaving);
        let answer = insist(&app, &key, &body).await;
        assert_eq!(
            ids(&mut sql, &name).await,
            [answer.body["id"].as_str().expect("an id")]
        );
        if end >= request.len() {
            break;
        }
    }
}

#[tokio::test]
async fn a_key_is_free_soon_after_the_link_of_its_request_is_lost() {
    let settings = Settings {
        // Beyond what the test waits for.
        statement_timeout: Duration::from_mins(10),
        ..Settings::default()
    };
    let (app, shim) = App::start_over_shim(settings).await;
    let (mut sql, mut holder) = (app.sql().await, app.sql().await);
    let mut held = holder.begin().await.expect("a transaction");
    sqlx::query("LOCK TABLE members IN SHARE MODE")
        .execute(&mut *held)
        .await
        .expect("locked");
    let body = json!({"name": "Ann"});
    let cut = async {
        until_locked(&mut sql, 1).await;
        shim.cut();
    };
    let (answer, ()) = tokio::join!(post(&app, "one", &body), cut);
    answer.problem(503, "database_unavailable");
    shim.release();

    until("nobody waits for the lock any more", async || {
        sessions(&mut sql, "wait_event_type = 'Lock'").await == 0
    })
    .await;
    held.rollback().await.expect("released");
    let answer = insist(&app, "one", &body).await;
    assert!(!answer.headers.contains_key("idempotency-replayed"));
    assert_eq!(ids(&mut sql, "Ann").await.len(), 1);
}

#[tokio::test]
async fn one_connection_answers_many_requests_with_keys_at_once() {
    let app = App::start_with(Settings {
        connections: 1,
        ..Settings::default()
    })
    .await;
    let mut sql = app.sql().await;
    let answers = join_all((0..60).map(async |number| {
        // Twenty members, each asked for three times.
        let name = format!("m{}", number % 20);
        insist(&app, &name, &json!({"name": name})).await
    }));
    for answer in answers.await {
        let name = answer.body["name"].as_str().expect("a name");
        assert_eq!(
            ids(&mut sql, name).await,
            [answer.body["id"].as_str().expect("an id")]
        );
    }
    assert_eq!(app.pool.size(), 1);
    assert_eq!(
        sessions(&mut sql, "state LIKE 'idle in transaction%'").await,
        0
    );
}
