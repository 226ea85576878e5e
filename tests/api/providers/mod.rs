//! What providers report, mapped by docs/providers.md, ends in the status that a person would give.
//!
//! The reports beside this file are made after those that each provider documents. `sequences` says which
//! of them come, and what the mail record then says; `decided_by` is the event that decides on the status,
//! and `suppressions` are the reasons for which the address is not mailed from then on.

mod table;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use table::Provider;
use uuid::Uuid;

use crate::kit::{App, Random};

struct Sequence<'a> {
    name: &'a str,
    events: Vec<Value>,
    expected: &'a Value,
}

/// A mail record that a provider has taken, to an address of its own.
async fn taken(app: &App, member: &str, provider: &str) -> String {
    let body = json!({
        "subject": "Your card", "status": "queued", "status_at": "2026-03-01T00:00:00Z",
        "provider": provider, "recipient": format!("{}@example.org", Uuid::now_v7().simple())
    });
    app.post(&format!("{member}/mail-records"), body)
        .await
        .created()
}

async fn assert_says(app: &App, record: &str, sequence: &Sequence<'_>, order: &str) {
    let read = app.get(record).await.expect(200).body;
    let deciding = read["status_event_id"].as_str().expect("an event");
    let deciding = app.get(&format!("{record}/events/{deciding}")).await;
    let deciding = deciding.expect(200).body;
    let name = sequence.name;
    for (field, value) in sequence.expected.as_object().expect("fields") {
        match field.as_str() {
            "events" => {}
            "suppressions" => {
                let recipient = read["recipient"].as_str().expect("an address");
                let path = format!("/api/v1/suppressions?address={recipient}");
                let listed = app.get(&path).await.expect(200).body;
                let rows = listed["data"].as_array().expect("rows").iter();
                let reasons: BTreeSet<_> = rows.map(|row| row["reason"].as_str()).collect();
                let expected = value.as_array().expect("reasons").iter();
                let expected: BTreeSet<_> = expected.map(Value::as_str).collect();
                assert_eq!(reasons, expected, "{name}, {order}: {field}");
            }
            "decided_by" => {
                for (field, value) in value.as_object().expect("fields") {
                    assert_eq!(&deciding[field], value, "{name}, {order}: {field}");
                }
            }
            _ => assert_eq!(&read[field], value, "{name}, {order}: {field}"),
        }
    }
    let listed = app.get(&format!("{record}/events")).await.expect(200);
    let added = listed.ids().len() - 1;
    assert_eq!(added, sequence.events.len(), "{name}, {order}");
}

async fn report(app: &App, record: &str, events: &[Value], as_list: bool) {
    let path = format!("{record}/events");
    if as_list {
        app.post(&path, json!(events)).await.expect(200);
        return;
    }
    for event in events {
        let answer = app.post(&path, event.clone()).await;
        assert!(answer.status.is_success(), "{event}: {}", answer.text);
    }
}

async fn assert_agrees(name: &str, reports: &str) {
    let provider = Provider::named(name);
    let reports: Value = serde_json::from_str(reports).expect("JSON");
    let app = App::start().await;
    let member = app.member("ann").await;
    let mut random = Random::new(5);
    for (title, expected) in reports["sequences"].as_object().expect("sequences") {
        let names = expected["events"].as_array().expect("events");
        let of = |name: &Value| &reports["reports"][name.as_str().expect("a name")];
        let sequence = Sequence {
            name: title,
            events: names
                .iter()
                .filter_map(|name| provider.event(of(name)))
                .collect(),
            expected,
        };
        if sequence.events.is_empty() {
            continue;
        }
        let mut backwards = sequence.events.clone();
        backwards.reverse();
        let mut orders = vec![
            ("in order", sequence.events.clone()),
            ("in reverse", backwards),
        ];
        for _ in 0..2 {
            let mut shuffled = [sequence.events.clone(), sequence.events.clone()].concat();
            random.shuffle(&mut shuffled);
            orders.push(("shuffled, each twice", shuffled));
        }
        for (turn, (order, events)) in orders.iter().enumerate() {
            let record = taken(&app, &member, name).await;
            report(&app, &record, events, turn % 2 == 1).await;
            assert_says(&app, &record, &sequence, order).await;
        }
    }
    assert_eq!(
        provider.untried(),
        Vec::<&str>::new(),
        "rows without a report"
    );
}

macro_rules! providers {
    ($($test:ident: $name:literal, $file:literal;)*) => {$(
        #[tokio::test]
        async fn $test() {
            assert_agrees($name, include_str!($file)).await;
        }
    )*};
}

providers! {
    reports_of_amazon_ses_end_as_a_person_would_say: "Amazon SES", "ses.json";
    reports_of_postmark_end_as_a_person_would_say: "Postmark", "postmark.json";
    reports_of_mailgun_end_as_a_person_would_say: "Mailgun", "mailgun.json";
    reports_of_sendgrid_end_as_a_person_would_say: "SendGrid", "sendgrid.json";
    reports_of_resend_end_as_a_person_would_say: "Resend", "resend.json";
    reports_of_postal_end_as_a_person_would_say: "Postal", "postal.json";
}

/// The provider's API calls a mail back and reports nothing of it.
#[tokio::test]
async fn a_scheduled_mail_that_is_called_back_stays_so_unless_it_was_sent() {
    let provider = Provider::named("Resend");
    let reports: Value = serde_json::from_str(include_str!("resend.json")).expect("JSON");
    let event = |name: &str| provider.event(&reports["reports"][name]).expect("an event");
    let app = App::start().await;
    let member = app.member("ann").await;
    let record = taken(&app, &member, "Resend").await;
    let status = async || app.get(&record).await.expect(200).body["status"].clone();
    report(&app, &record, &[event("scheduled")], false).await;
    app.act(&format!("{record}/cancel")).await.expect(200);
    report(&app, &record, &[event("scheduled anew")], false).await;
    report(&app, &record, &[event("sent")], false).await;
    assert_eq!(status().await, "canceled");
    report(&app, &record, &[event("delivered")], false).await;
    assert_eq!(status().await, "delivered");
}
