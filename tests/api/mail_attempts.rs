//! One mail, attempted, reported and written down several times: each attempt is told, and none is doubled.

use serde_json::{Value, json};

use crate::kit::{App, ledger::said, walk};

/// A campaign: a mail record and a report for each member, as its sender writes them down.
async fn send(app: &App, members: &[String]) -> Vec<(String, Vec<u16>)> {
    let mut sent = Vec::new();
    for (member, number) in members.iter().zip(1..) {
        let body = json!({
            "subject": "Summer", "category": "marketing", "external_id": "summer",
            "provider": "ses", "provider_message_id": format!("m-{number}"),
            "status": "queued", "status_at": "2026-06-01T08:00:00Z"
        });
        let record = app.post(&format!("{member}/mail-records"), body).await;
        let id = record.body["id"].as_str().expect("an id");
        let path = format!("{member}/mail-records/{id}");
        let mut statuses = vec![record.status.as_u16()];
        for (kind, second) in [("sent", 1), ("delivered", 2), ("opened", 3)] {
            let event = json!({
                "type": kind, "occurred_at": format!("2026-06-01T08:00:{second:02}Z"),
                "provider_event_id": format!("{kind}-{number}")
            });
            let event = app.post(&format!("{path}/events"), event).await;
            statuses.push(event.status.as_u16());
        }
        sent.push((path, statuses));
    }
    sent
}

async fn members(app: &App) -> Vec<String> {
    let mut members = Vec::new();
    for name in ["ann", "bo", "cy", "di"] {
        members.push(app.member(name).await);
    }
    members
}

#[tokio::test]
async fn a_campaign_that_is_resumed_or_replayed_is_written_down_once() {
    let app = App::start().await;
    let members = members(&app).await;
    // It ended after one half, and its sender begins from the start.
    send(&app, &members[..2]).await;
    let resumed = send(&app, &members).await;
    let statuses: Vec<_> = resumed
        .iter()
        .map(|(_, statuses)| statuses[..].to_vec())
        .collect();
    assert_eq!(statuses[..2], [[200; 4], [200; 4]]);
    assert_eq!(statuses[2..], [[201; 4], [201; 4]]);
    let mut before = Vec::new();
    for (path, _) in &resumed {
        before.push(app.get(path).await.expect(200).text);
    }
    let replayed = send(&app, &members).await;
    for ((path, statuses), before) in replayed.iter().zip(before) {
        assert_eq!(statuses, &[200; 4]);
        assert_eq!(app.get(path).await.expect(200).text, before);
    }
    for member in &members {
        let records = walk(&app, &format!("{member}/mail-records")).await;
        assert_eq!(records.len(), 1);
    }

    // A dump that was made after one half is restored, and all of it comes again.
    let restored = App::start().await;
    let members = self::members(&restored).await;
    send(&restored, &members[..2]).await;
    for (path, (known, _)) in send(&restored, &members).await.iter().zip(&resumed) {
        let (there, here) = (
            restored.get(&path.0).await.expect(200).body,
            app.get(known).await.expect(200).body,
        );
        let (mut there, mut here) = (said(&there), said(&here));
        there["status_event_id"].take();
        here["status_event_id"].take();
        assert_eq!(there, here);
        assert_eq!(there["opened_count"], 1);
    }
}

#[tokio::test]
async fn a_campaign_under_a_key_that_stands_for_other_mail_is_a_conflict() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    send(&app, std::slice::from_ref(&ann)).await;
    let other = json!({"subject": "Winter", "external_id": "summer"});
    let refused = app.post(&format!("{ann}/mail-records"), other).await;
    refused.problem(409, "external_id_taken");
}

fn deferred(hour: usize) -> Value {
    json!({
        "type": "deferred", "occurred_at": format!("2026-01-01T{hour:02}:00:00.000000Z"),
        "smtp_code": 451, "enhanced_code": "4.7.1", "diagnostic": format!("attempt {hour}")
    })
}

#[tokio::test]
async fn each_attempt_is_told_by_itself_and_is_not_the_end() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let body = json!({"subject": "Hi", "status": "queued", "status_at": "2026-01-01T00:00:00Z"});
    let records = format!("{ann}/mail-records");
    let record = app.post(&records, body).await.created();
    let events = format!("{record}/events");
    let mut attempts = Vec::new();
    for hour in 1..=18 {
        let attempt = app.post(&events, deferred(hour)).await.created();
        let read = app.get(&attempt).await.expect(200).body;
        assert_eq!(read["diagnostic"], format!("attempt {hour}"));
        attempts.push(read["id"].as_str().expect("an id").to_owned());
    }
    let read = app.get(&record).await.expect(200).body;
    assert_eq!(read["status"], "deferred");
    assert_eq!(read["status_reason"], "attempt 18");
    for (status, count) in [("deferred", 1), ("failed", 0), ("bounced", 0)] {
        let listed = app.get(&format!("{records}?status={status}")).await;
        assert_eq!(listed.expect(200).ids().len(), count, "{status}");
    }

    let delivered = json!({"type": "delivered", "occurred_at": "2026-01-01T19:00:00Z"});
    app.post(&events, delivered).await.expect(201);
    let read = app.get(&record).await.expect(200).body;
    assert_eq!(read["status"], "delivered");
    let path = format!("{events}?type=deferred&sort=occurred_at&limit=100");
    let listed = app.get(&format!("{path}&count=exact")).await.expect(200);
    assert_eq!(listed.ids(), attempts);
    assert_eq!(listed.body["page"]["total"], 18);
    let streamed = app.get(&format!("{path}&format=ndjson")).await.expect(200);
    let lines = streamed.text.lines();
    let ids = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), attempts);
    // A mail that was put off and arrived does not count against its address.
    let suppressions = app.get("/api/v1/suppressions").await.expect(200);
    assert!(suppressions.ids().is_empty());
}

#[tokio::test]
async fn a_second_bounce_is_told_beside_the_first() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let record = app.mail_record(&ann, "Hi").await;
    let events = format!("{record}/events");
    let mut bounces = Vec::new();
    for (day, effect) in [(8, "applied"), (1, "applied"), (15, "superseded")] {
        let bounce = json!({
            "type": "bounced", "occurred_at": format!("2026-01-{day:02}T00:00:00Z"),
            "diagnostic": format!("550 5.1.1 on day {day}")
        });
        let added = app.post(&events, bounce).await.expect(201);
        assert_eq!(added.body["effect"], effect);
        let read = app.get(added.header("location")).await.expect(200);
        assert_eq!(read.text, added.text);
        bounces.push(added.body["id"].as_str().expect("an id").to_owned());
    }
    bounces.swap(0, 1);
    let listed = app
        .get(&format!("{events}?type=bounced&sort=occurred_at"))
        .await;
    assert_eq!(listed.expect(200).ids(), bounces);
    let read = app.get(&record).await.expect(200).body;
    assert_eq!(read["bounced_at"], "2026-01-01T00:00:00.000000Z");
    assert_eq!(read["status_reason"], "550 5.1.1 on day 1");
}
