//! Reports that meet each other, or what else is done with their mail record.

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use serde_json::{Value, json};
use sqlx::Connection;

use crate::kit::{
    Answer, App, Settings,
    document::Subject,
    ledger::{folded, said},
    sessions::until_locked,
};

async fn start() -> (App, Subject) {
    let settings = Settings {
        connections: 20,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = Subject::create(&app).await;
    (app, ann)
}

/// Sends all requests at once, and lets none of them go on before all wait for the mail records.
async fn at_once(app: &App, requests: Vec<BoxFuture<'_, Answer>>) -> Vec<Answer> {
    let count = requests.len();
    let (mut holder, mut watcher) = (app.sql().await, app.sql().await);
    let mut held = holder.begin().await.expect("a transaction");
    sqlx::query("LOCK TABLE mail_records IN EXCLUSIVE MODE")
        .execute(&mut *held)
        .await
        .expect("locked");
    let release = async {
        until_locked(&mut watcher, count).await;
        held.commit().await.expect("released");
    };
    tokio::join!(join_all(requests), release).0
}

fn event(kind: &str, second: usize) -> Value {
    json!({"type": kind, "occurred_at": format!("2026-01-01T00:00:{second:02}Z")})
}

async fn record(app: &App, ann: &Subject, status: &str) -> String {
    let body = json!({"subject": "Hi", "status": status, "status_at": "2026-01-01T00:00:00Z"});
    app.post(&format!("{}/mail-records", ann.member), body)
        .await
        .created()
}

/// Expects that the mail record says what follows from its events, and answers both.
async fn consistent(app: &App, record: &str) -> (Value, Vec<Value>) {
    let read = app.get(record).await.expect(200).body;
    let listed = app.get(&format!("{record}/events?limit=100")).await;
    let events = listed.expect(200).body["data"].clone();
    let events = events.as_array().expect("rows").clone();
    assert_eq!(said(&read), folded(&events));
    (read, events)
}

#[tokio::test]
async fn reports_at_once_lose_none_and_repeat_none() {
    let (app, ann) = start().await;
    let path = format!("{}/events", ann.mail_record);
    let kinds = ["opened", "sent", "delivered", "failed", "bounced"];
    // Each event twice, and the latter time in a list with another.
    let requests = (0..16).map(|number| {
        let report = |number: usize| event(kinds[number % 5], number);
        let body = if number < 8 {
            report(number)
        } else {
            json!([report(number), report(number - 8)])
        };
        app.post(&path, body).boxed()
    });
    for answer in at_once(&app, requests.collect()).await {
        assert!(answer.status.is_success(), "{}", answer.text);
    }
    let (_, events) = consistent(&app, &ann.mail_record).await;
    assert_eq!(events.len(), 17);
}

#[tokio::test]
async fn a_mail_that_is_called_back_while_reports_come_in_says_what_follows_from_both() {
    let (app, ann) = start().await;
    for kinds in [["sent", "opened"], ["queued", "delivered"]] {
        for _ in 0..4 {
            let record = record(&app, &ann, "queued").await;
            let (cancel, events) = (format!("{record}/cancel"), format!("{record}/events"));
            let requests = vec![
                app.act(&cancel).boxed(),
                app.post(&events, event(kinds[0], 1)).boxed(),
                app.post(&events, event(kinds[1], 2)).boxed(),
                app.act(&cancel).boxed(),
            ];
            let answers = at_once(&app, requests).await;
            let (_, events) = consistent(&app, &record).await;
            let canceled = events.iter().filter(|event| event["type"] == "canceled");
            let done = [&answers[0], &answers[3]].map(|answer| answer.status == 200);
            // Who finds it called back is answered 200 as well.
            assert_eq!(canceled.count(), usize::from(done.contains(&true)));
            for answer in answers {
                assert!([200, 201, 409].contains(&answer.status.as_u16()));
            }
        }
    }
}

#[tokio::test]
async fn a_mail_that_is_tried_again_while_it_turns_out_delivered_says_both() {
    let (app, ann) = start().await;
    for _ in 0..4 {
        let record = record(&app, &ann, "failed").await;
        let (retry, events) = (format!("{record}/retry"), format!("{record}/events"));
        let requests = vec![
            app.act(&retry).boxed(),
            app.post(&events, event("delivered", 1)).boxed(),
            app.act(&retry).boxed(),
        ];
        let answers = at_once(&app, requests).await;
        let (read, _) = consistent(&app, &record).await;
        assert_eq!(read["status"], "delivered");
        let retries = [&answers[0], &answers[2]].map(|answer| answer.body["id"].clone());
        let made: Vec<_> = retries.iter().filter(|id| !id.is_null()).collect();
        assert!(made.len() < 2);
        let made = made.first().map_or(&Value::Null, |id| *id);
        assert_eq!(&read["retried_by"], made);
    }
}

#[tokio::test]
async fn reports_on_what_is_deleted_meanwhile_leave_nothing() {
    let (app, ann) = start().await;
    for whole in [false, true] {
        let record = record(&app, &ann, "queued").await;
        let events = format!("{record}/events");
        let deleted = if whole { &ann.member } else { &record };
        let mut requests: Vec<_> = (0..6)
            .map(|second| app.post(&events, event("bounced", second)).boxed())
            .collect();
        requests.insert(3, app.delete(deleted).boxed());
        let mut answers = at_once(&app, requests).await;
        answers.remove(3).expect(204);
        for answer in answers {
            if answer.status != 201 {
                assert_eq!(answer.status, 404, "{}", answer.text);
            }
        }
        app.get(&events).await.expect(404);
        app.post(&events, event("sent", 1)).await.expect(404);
        let id = record.rsplit('/').next().expect("an id");
        let left: i64 =
            sqlx::query_scalar("SELECT count(*) FROM mail_events WHERE mail_record_id = $1::uuid")
                .bind(id)
                .fetch_one(&mut app.sql().await)
                .await
                .expect("a count");
        assert_eq!(left, 0);
    }
}
