//! `/api/v1/members/{member_id}/mail-records/{id}/events`

use serde_json::{Value, json};

use crate::kit::{App, document::Subject};

const NOW: &str = "2026-01-01T00:00:00.000000Z";

/// An event of this type, `second` seconds into the year.
fn event(kind: &str, second: u32) -> Value {
    json!({"type": kind, "occurred_at": format!("2026-01-01T00:00:{second:02}.000000Z")})
}

async fn start() -> (App, Subject, String) {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let events = format!("{}/events", ann.mail_record);
    (app, ann, events)
}

#[tokio::test]
async fn an_event_is_answered_as_it_is_read() {
    let (app, ann, events) = start().await;
    let input = json!({
        "type": "bounced", "occurred_at": NOW, "source": "ses", "provider_event_id": "e-1",
        "smtp_code": 550, "enhanced_code": "5.1.1", "diagnostic": "550 5.1.1\nno such user",
        "remote_mta": "mx.example.org", "url": null
    });
    let added = app.post(&events, input.clone()).await.expect(201);
    for (field, value) in input.as_object().expect("an object") {
        assert_eq!(&added.body[field], value, "{field}");
    }
    assert_eq!(added.body["effect"], "applied");
    assert_eq!(added.body["mail_record_id"], ann.mail_record_id.as_str());
    let read = app.get(added.header("location")).await.expect(200);
    assert_eq!(read.body, added.body);

    let record = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(record["status"], "bounced");
    assert_eq!(record["status_at"], NOW);
    assert_eq!(record["status_reason"], "550 5.1.1\nno such user");
    assert_eq!(record["status_event_id"], added.body["id"]);
    assert_eq!(record["bounced_at"], NOW);
    assert_eq!(record["version"], 2);
}

#[tokio::test]
async fn a_mail_record_is_created_with_its_first_event() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let records = format!("{ann}/mail-records");
    let input = json!({
        "subject": "Hi", "status": "delivered", "status_at": NOW, "status_reason": "250 OK"
    });
    let alone = app.post(&records, input.clone()).await.created();
    let mut item = input;
    item["member_id"] = json!(ann.rsplit('/').next());
    let batch = app
        .post("/api/v1/mail-records/batch", json!({"items": [item]}))
        .await
        .expect(200);
    let id = batch.body["results"][0]["id"].as_str().expect("an id");
    for record in [alone, format!("{records}/{id}")] {
        let read = app.get(&record).await.expect(200).body;
        assert_eq!(read["delivered_at"], NOW);
        assert_eq!(read["status_event_id"], read["id"]);
        let listed = app.get(&format!("{record}/events")).await.expect(200).body;
        let [event] = listed["data"].as_array().expect("rows").as_slice() else {
            panic!("{listed}");
        };
        assert_eq!(event["id"], read["id"]);
        assert_eq!(event["type"], "delivered");
        assert_eq!(event["occurred_at"], NOW);
        assert_eq!(event["diagnostic"], "250 OK");
        assert_eq!(event["effect"], "applied");
    }
}

#[tokio::test]
async fn an_event_counts_by_what_it_is_and_not_by_when_it_comes() {
    let (app, ann, events) = start().await;
    for (kind, second, effect, status) in [
        ("delivered", 5, "applied", "delivered"),
        ("sent", 2, "superseded", "delivered"),
        ("deferred", 9, "superseded", "delivered"),
        ("failed", 8, "superseded", "delivered"),
        ("bounced", 4, "applied", "bounced"),
        ("delivered", 3, "applied", "bounced"),
        ("delivered", 4, "superseded", "bounced"),
        ("canceled", 1, "superseded", "bounced"),
    ] {
        let before = app.get(&ann.mail_record).await.expect(200).body;
        let added = app.post(&events, event(kind, second)).await.expect(201);
        assert_eq!(added.body["effect"], effect, "{kind} {second}");
        let after = app.get(&ann.mail_record).await.expect(200).body;
        assert_eq!(after["status"], status, "{kind} {second}");
        assert_eq!(before == after, effect == "superseded", "{kind} {second}");
    }
    let listed = app.get(&format!("{events}?sort=occurred_at")).await;
    assert_eq!(listed.expect(200).ids().len(), 9);
    let filtered = app.get(&format!("{events}?type=delivered")).await;
    assert_eq!(filtered.expect(200).ids().len(), 3);
}

#[tokio::test]
async fn a_mail_that_was_sent_before_it_was_written_down_was_sent() {
    let (app, ann, events) = start().await;
    let added = app.post(&events, event("sent", 1)).await.expect(201);
    assert_eq!(added.body["effect"], "applied");
    let record = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(record["status"], "sent");
    assert_eq!(record["status_at"], "2026-01-01T00:00:01.000000Z");
}

#[tokio::test]
async fn a_repetition_is_answered_with_the_event_that_stands() {
    let (app, ann, events) = start().await;
    let input = json!({"type": "opened", "provider_event_id": "e-1", "source": "a"});
    let other = json!({"type": "clicked", "provider_event_id": "e-1", "source": "b"});
    let exact = event("opened", 1);
    let first = app.post(&events, input.clone()).await.expect(201).body;
    let second = app.post(&events, exact.clone()).await.expect(201).body;
    for (again, stands) in [(input, &first), (other, &first), (exact, &second)] {
        let mut repeated = app.post(&events, again).await.expect(200).body;
        assert_eq!(repeated["effect"], "duplicate");
        repeated["effect"] = json!("applied");
        assert_eq!(&repeated, stands);
    }
    // What is said without a time happens now, each time anew.
    for _ in 0..2 {
        app.post(&events, json!({"type": "opened"}))
            .await
            .expect(201);
    }
    let record = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(record["opened_count"], 4);
    assert_eq!(record["clicked_count"], 0);
    assert_eq!(record["status"], "recorded");
}

#[tokio::test]
async fn a_list_of_events_is_added_as_a_whole() {
    let (app, ann, events) = start().await;
    let mut list: Vec<_> = (0..1000).map(|_| json!({"type": "clicked"})).collect();
    list[0] = event("sent", 1);
    list[1] = json!({"type": "delivered", "provider_event_id": "d"});
    list[2] = json!({"type": "delivered", "provider_event_id": "d"});
    list[3] = event("queued", 0);
    let added = app.post(&events, json!(list)).await.expect(200).body;
    let data = added["data"].as_array().expect("events");
    assert_eq!(data.len(), 1000);
    let effects: Vec<_> = data[..4].iter().map(|event| &event["effect"]).collect();
    assert_eq!(effects, ["applied", "applied", "duplicate", "superseded"]);
    assert_eq!(data[1]["id"], data[2]["id"]);
    let record = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(
        (&record["status"], &record["clicked_count"]),
        (&json!("delivered"), &json!(996))
    );
    assert_eq!(record["version"], 2);

    let wrong = json!([event("opened", 1), {"type": "lost"}, {"smtp_code": 99}]);
    let refused = app.post(&events, wrong).await.problem(422, "invalid_body");
    let places: Vec<_> = refused["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|error| &error["pointer"])
        .collect();
    assert_eq!(places, ["#/1/type", "#/2/type", "#/2/smtp_code"]);
    let after = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(after, record);
    for count in [0, 1001] {
        let list = json!(vec![json!({"type": "opened"}); count]);
        let refused = app.post(&events, list).await;
        assert_eq!(refused.error_at(422, "invalid_body", "#"), "out_of_range");
    }
}

#[tokio::test]
async fn opens_are_counted_and_the_first_of_each_kind_is_told() {
    let (app, ann, events) = start().await;
    for kind in ["opened", "clicked", "complained", "unsubscribed"] {
        for second in [7, 3, 5] {
            app.post(&events, event(kind, second)).await.expect(201);
        }
    }
    let record = app.get(&ann.mail_record).await.expect(200).body;
    let first = "2026-01-01T00:00:03.000000Z";
    for field in [
        "first_opened_at",
        "first_clicked_at",
        "complained_at",
        "unsubscribed_at",
    ] {
        assert_eq!(record[field], first, "{field}");
    }
    assert_eq!(record["opened_count"], 3);
    assert_eq!(record["status"], "recorded");
}

#[tokio::test]
async fn the_status_cannot_be_written_and_the_refusal_says_what_to_do() {
    let (app, ann, _) = start().await;
    for field in ["status", "status_at", "status_reason"] {
        for value in [json!("delivered"), json!(null), json!(1)] {
            let patch = json!({field: value});
            let refused = app.patch(&ann.mail_record, patch.clone()).await;
            let mut put = patch;
            put["subject"] = json!("Hi");
            let pointer = format!("#/{field}");
            let errors = refused.problem(422, "invalid_body")["errors"].clone();
            let detail = errors[0]["detail"].as_str().expect("a detail");
            assert!(
                detail.contains("/events") && detail.contains("/cancel"),
                "{detail}"
            );
            assert_eq!(errors[0]["pointer"], pointer);
            assert_eq!(errors[0]["code"], "read_only");
            let refused = app.put(&ann.mail_record, put).await;
            assert_eq!(refused.error_at(422, "invalid_body", &pointer), "read_only");
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_told() {
    let (app, ann, events) = start().await;
    let nobody = "018cc251-f400-7000-8000-00000000000f";
    let id = &ann.mail_record_id;
    let sent = || json!({"type": "sent"});
    for (path, code) in [
        (
            format!("/api/v1/members/{nobody}/mail-records/{id}/events"),
            "member_not_found",
        ),
        (
            format!("{}/mail-records/{nobody}/events", ann.member),
            "mail_record_not_found",
        ),
    ] {
        app.get(&path).await.problem(404, code);
        app.get(&format!("{path}?format=csv"))
            .await
            .problem(404, code);
        app.post(&path, sent()).await.problem(404, code);
        app.post(&path, json!([sent()])).await.problem(404, code);
        app.get(&format!("{path}/{nobody}"))
            .await
            .problem(404, code);
        let record = path.trim_end_matches("/events");
        app.act(&format!("{record}/cancel"))
            .await
            .problem(404, code);
        app.act(&format!("{record}/retry")).await.problem(404, code);
    }
    app.get(&format!("{events}/{nobody}"))
        .await
        .problem(404, "mail_event_not_found");
    app.delete(&ann.mail_record).await.expect(204);
    app.get(&events).await.problem(404, "mail_record_not_found");
}
