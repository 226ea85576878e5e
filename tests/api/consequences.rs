//! What events mean for the address that the mail went to.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::kit::{App, Settings, document::Subject};

/// Reason and scope of each suppression of an address, the newest first.
async fn suppressions(app: &App, address: &str) -> Vec<(String, String)> {
    let listed = app
        .get(&format!("/api/v1/suppressions?address={address}"))
        .await;
    let listed = listed.expect(200).body;
    let rows = listed["data"].as_array().expect("rows").iter();
    let word = |row: &Value, field: &str| row[field].as_str().expect(field).to_owned();
    rows.map(|row| {
        assert_eq!(row["origin"], "event");
        assert!(row["source_mail_record_id"].is_string());
        (word(row, "reason"), word(row, "scope"))
    })
    .collect()
}

fn one(reason: &str, scope: &str) -> Vec<(String, String)> {
    vec![(reason.to_owned(), scope.to_owned())]
}

/// A mail record to an address, and where its events go.
async fn mail_to(app: &App, ann: &Subject, address: &str) -> String {
    let body = json!({"subject": "Hi", "recipient": address});
    let record = app
        .post(&format!("{}/mail-records", ann.member), body)
        .await
        .created();
    format!("{record}/events")
}

#[tokio::test]
async fn an_event_blocks_the_address_that_it_is_about_and_no_other() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (number, (event, expected)) in [
        (json!({"type": "bounced"}), one("hard_bounce", "all")),
        (
            json!({"type": "bounced", "enhanced_code": "5.1.1"}),
            one("hard_bounce", "all"),
        ),
        (
            json!({"type": "bounced", "smtp_code": 550}),
            one("hard_bounce", "all"),
        ),
        (json!({"type": "complained"}), one("complaint", "all")),
        (
            json!({"type": "unsubscribed"}),
            one("unsubscribe", "marketing"),
        ),
        // The message was to blame, or nobody knows.
        (json!({"type": "bounced", "enhanced_code": "5.2.3"}), vec![]),
        (json!({"type": "bounced", "enhanced_code": "5.3.4"}), vec![]),
        (json!({"type": "bounced", "enhanced_code": "5.6.1"}), vec![]),
        (json!({"type": "bounced", "enhanced_code": "5.7.1"}), vec![]),
        (json!({"type": "bounced", "smtp_code": 554}), vec![]),
        (
            json!({"type": "bounced", "diagnostic": "552 5.3.4 message too big"}),
            vec![],
        ),
        (json!({"type": "bounced", "enhanced_code": "4.2.2"}), vec![]),
        (json!({"type": "failed"}), vec![]),
        (json!({"type": "failed", "enhanced_code": "5.1.1"}), vec![]),
        (
            json!({"type": "deferred", "enhanced_code": "4.2.1"}),
            vec![],
        ),
        (json!({"type": "delivered"}), vec![]),
        (json!({"type": "opened"}), vec![]),
    ]
    .into_iter()
    .enumerate()
    {
        let address = format!("m{number}@example.org");
        let events = mail_to(&app, &ann, &address).await;
        app.post(&events, event.clone()).await.expect(201);
        assert_eq!(suppressions(&app, &address).await, expected, "{event}");
    }
    assert!(suppressions(&app, "ann@example.org").await.is_empty());
}

#[tokio::test]
async fn a_mail_record_that_is_created_as_bounced_blocks_its_address_too() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let records = format!("{}/mail-records", ann.member);
    for (number, (reason, blocked)) in [
        (json!(null), true),
        (json!("550 5.1.1 no such user"), true),
        (json!("552 5.2.3 too big"), false),
        (json!("452 4.2.2 mailbox full"), false),
    ]
    .into_iter()
    .enumerate()
    {
        let addresses = [
            format!("a{number}@example.org"),
            format!("b{number}@example.org"),
        ];
        let [alone, item] = addresses.each_ref().map(|address| {
            json!({"subject": "Hi", "status": "bounced", "status_reason": reason, "recipient": address})
        });
        app.post(&records, alone).await.expect(201);
        let mut item = item;
        item["member_id"] = json!(ann.member_id);
        let batch = json!({"items": [item]});
        app.post("/api/v1/mail-records/batch", batch)
            .await
            .expect(200);
        for address in addresses {
            let expected = if blocked {
                one("hard_bounce", "all")
            } else {
                vec![]
            };
            assert_eq!(suppressions(&app, &address).await, expected, "{reason}");
        }
    }
}

#[tokio::test]
async fn a_repetition_blocks_nothing_that_was_released() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let events = mail_to(&app, &ann, "m@example.org").await;
    let bounced = json!({"type": "bounced", "provider_event_id": "1"});
    app.post(&events, bounced.clone()).await.expect(201);
    let listed = app
        .get("/api/v1/suppressions?address=m@example.org")
        .await
        .expect(200);
    let id = listed.ids().remove(0);
    app.delete(&format!("/api/v1/suppressions/{id}"))
        .await
        .expect(204);
    app.post(&events, bounced).await.expect(200);
    assert!(suppressions(&app, "m@example.org").await.is_empty());
    let again = json!({"type": "bounced", "provider_event_id": "2"});
    app.post(&events, again).await.expect(201);
    assert_eq!(
        suppressions(&app, "M@example.org").await,
        one("hard_bounce", "all")
    );
}

/// Reports that the mails end so, one second after the other.
async fn end(app: &App, ann: &Subject, address: &str, endings: &[Value]) {
    for (second, ending) in endings.iter().enumerate() {
        let mut ending = ending.clone();
        ending["occurred_at"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
        let events = mail_to(app, ann, address).await;
        app.post(&events, ending).await.expect(201);
    }
}

#[tokio::test]
async fn five_mails_in_a_row_that_failed_for_a_time_block_the_address() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let full = || json!({"type": "bounced", "enhanced_code": "4.2.2"});
    let late = || json!({"type": "failed", "smtp_code": 451});
    let large = || json!({"type": "bounced", "enhanced_code": "5.2.3"});
    let delivered = || json!({"type": "delivered"});
    for (number, (endings, blocked)) in [
        (vec![full(), late(), full(), late()], false),
        (vec![full(), late(), full(), late(), full()], true),
        (vec![full(), late(), large(), full(), late(), full()], true),
        (
            vec![full(), late(), delivered(), full(), late(), full()],
            false,
        ),
        (
            vec![delivered(), full(), late(), full(), late(), full()],
            true,
        ),
        (
            vec![large(), large(), large(), large(), large(), large()],
            false,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let address = format!("m{number}@example.org");
        end(&app, &ann, &address, &endings).await;
        let expected = if blocked {
            one("hard_bounce", "all")
        } else {
            vec![]
        };
        assert_eq!(suppressions(&app, &address).await, expected, "{endings:?}");
    }
}

/// Greylisting, say: that is one mail, and it is still on its way.
#[tokio::test]
async fn one_mail_may_be_put_off_as_often_as_it_likes() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let events = mail_to(&app, &ann, "m@example.org").await;
    let mut list: Vec<_> = (0..18)
        .map(|_| json!({"type": "deferred", "smtp_code": 451}))
        .collect();
    list.push(json!({"type": "delivered"}));
    app.post(&events, json!(list)).await.expect(200);
    assert!(suppressions(&app, "m@example.org").await.is_empty());
}

#[tokio::test]
async fn how_many_failures_block_an_address_is_a_setting() {
    for (limit, failures, blocked) in [(0, 8, false), (1, 1, true), (2, 1, false), (2, 2, true)] {
        let settings = Settings {
            transient_failures_limit: limit,
            ..Settings::default()
        };
        let app = App::start_with(settings).await;
        let ann = Subject::create(&app).await;
        let endings = vec![json!({"type": "failed", "enhanced_code": "4.4.1"}); failures];
        end(&app, &ann, "m@example.org", &endings).await;
        assert_eq!(
            !suppressions(&app, "m@example.org").await.is_empty(),
            blocked
        );
    }
}

#[tokio::test]
async fn failures_that_are_reported_at_once_are_all_counted() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for round in 0..5 {
        let address = format!("m{round}@example.org");
        let mut mails = Vec::new();
        for _ in 0..5 {
            mails.push(mail_to(&app, &ann, &address).await);
        }
        let reports = mails
            .iter()
            .map(|events| app.post(events, json!({"type": "failed", "smtp_code": 450})));
        for answer in join_all(reports).await {
            answer.expect(201);
        }
        assert_eq!(
            suppressions(&app, &address).await,
            one("hard_bounce", "all")
        );
    }
}
