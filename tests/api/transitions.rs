//! A mail called back, and a mail tried again.

use serde_json::{Value, json};

use crate::kit::{App, document::Subject};

const ALL: [&str; 10] = [
    "recorded",
    "scheduled",
    "queued",
    "sent",
    "deferred",
    "canceled",
    "suppressed",
    "failed",
    "delivered",
    "bounced",
];

async fn record_of(app: &App, ann: &Subject, status: &str) -> String {
    let body = json!({"subject": "Hi", "status": status, "tags": ["a"], "metadata": {"b": 1},
        "recipient": "Ann.Old@example.org", "sender": "news@club.example", "category": "marketing",
        "provider": "ses", "message_id": "1@club.example"});
    app.post(&format!("{}/mail-records", ann.member), body)
        .await
        .created()
}

#[tokio::test]
async fn what_was_not_sent_can_be_called_back() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for status in ALL {
        let record = record_of(&app, &ann, status).await;
        let before = app.get(&record).await.expect(200);
        let answer = app.act(&format!("{record}/cancel")).await;
        let allowed = ["recorded", "scheduled", "queued", "canceled"].contains(&status);
        if !allowed {
            let problem = answer.problem(409, "invalid_transition");
            let detail = problem["detail"].as_str().expect("a detail");
            assert!(detail.contains(status), "{detail}");
            assert_eq!(app.get(&record).await.text, before.text);
            continue;
        }
        let canceled = answer.expect(200);
        assert_eq!(canceled.body["status"], "canceled");
        assert_eq!(app.get(&record).await.text, canceled.text);
        let again = app.act(&format!("{record}/cancel")).await.expect(200);
        assert_eq!(again.text, canceled.text);
    }
}

/// The newest progress may be `queued` although an older event tells of sending.
#[tokio::test]
async fn what_is_known_to_be_sent_is_not_called_back() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let sent = json!({"type": "sent", "occurred_at": "2020-01-01T00:00:00Z"});
    let queued = record_of(&app, &ann, "queued").await;
    let events = format!("{queued}/events");
    app.post(&events, sent.clone()).await.expect(201);
    let before = app.get(&queued).await.expect(200);
    assert_eq!(before.body["status"], "queued");
    let answer = app.act(&format!("{queued}/cancel")).await;
    answer.problem(409, "invalid_transition");
    assert_eq!(app.get(&queued).await.text, before.text);
    assert_eq!(app.get(&events).await.expect(200).ids().len(), 2);

    // Nor does it stay called back if that comes to light later.
    let other = record_of(&app, &ann, "queued").await;
    app.act(&format!("{other}/cancel")).await.expect(200);
    app.post(&format!("{other}/events"), sent).await.expect(201);
    assert_eq!(app.get(&other).await.expect(200).body["status"], "queued");
}

#[tokio::test]
async fn what_ended_undelivered_can_be_tried_again_once() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for status in ALL {
        let record = record_of(&app, &ann, status).await;
        let answer = app.act(&format!("{record}/retry")).await;
        if !["canceled", "suppressed", "failed", "bounced"].contains(&status) {
            answer.problem(409, "invalid_transition");
            continue;
        }
        let retry = answer.expect(201);
        let first = app.get(&record).await.expect(200);
        assert_eq!(retry.body["retry_of"], first.body["id"]);
        assert_eq!(first.body["retried_by"], retry.body["id"]);
        assert_eq!(first.body["version"], 2);
        assert_eq!(retry.body["status"], "recorded");
        for field in [
            "recipient",
            "sender",
            "subject",
            "category",
            "tags",
            "metadata",
            "provider",
        ] {
            assert_eq!(retry.body[field], first.body[field], "{field}");
        }
        assert_eq!(retry.body["message_id"], Value::Null);
        assert_eq!(app.get(retry.header("location")).await.text, retry.text);

        let again = app.act(&format!("{record}/retry")).await;
        let problem = again.problem(409, "invalid_transition");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(retry.body["id"].as_str().expect("an id")));
    }
}

#[tokio::test]
async fn a_chain_of_attempts_can_be_followed_both_ways() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let records = format!("{}/mail-records", ann.member);
    let mut chain = vec![record_of(&app, &ann, "failed").await];
    for _ in 0..3 {
        let last = chain.last().expect("a record").clone();
        let retry = app.act(&format!("{last}/retry")).await.created();
        app.post(&format!("{retry}/events"), json!({"type": "failed"}))
            .await
            .expect(201);
        chain.push(retry);
    }
    for (from, way, expected) in [
        (&chain[0], "retried_by", chain.clone()),
        (&chain[3], "retry_of", chain.iter().rev().cloned().collect()),
    ] {
        let mut met = vec![from.clone()];
        while let Some(id) = app.get(met.last().expect("one")).await.expect(200).body[way].as_str()
        {
            met.push(format!("{records}/{id}"));
        }
        assert_eq!(met, expected, "{way}");
    }

    // What is deleted is not pointed to.
    app.delete(&chain[1]).await.expect(204);
    let first = app.get(&chain[0]).await.expect(200).body;
    assert_eq!(
        (&first["retried_by"], &first["version"]),
        (&json!(null), &json!(3))
    );
    assert_eq!(
        app.get(&chain[2]).await.expect(200).body["retry_of"],
        json!(null)
    );
    app.act(&format!("{}/retry", chain[0])).await.expect(201);
}

#[tokio::test]
async fn a_retry_that_is_written_down_is_pointed_to_as_well() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let body = json!({"subject": "Hi", "retry_of": ann.mail_record_id});
    let one = app
        .post(&format!("{}/mail-records", ann.member), body.clone())
        .await
        .created();
    let first = app.get(&ann.mail_record).await.expect(200).body;
    assert!(one.ends_with(first["retried_by"].as_str().expect("an id")));
    let mut item = body;
    item["member_id"] = json!(ann.member_id);
    let batch = json!({"items": [item]});
    let results = app
        .post("/api/v1/mail-records/batch", batch)
        .await
        .expect(200)
        .body;
    let first = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(first["retried_by"], results["results"][0]["id"]);
}

#[tokio::test]
async fn of_retries_at_once_one_is_made() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let record = record_of(&app, &ann, "failed").await;
    let path = format!("{record}/retry");
    let answers = futures_util::future::join_all((0..8).map(|_| app.act(&path))).await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 1);
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.problem(409, "invalid_transition");
    }
}
