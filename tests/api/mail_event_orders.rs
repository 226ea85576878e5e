//! The same events, reported in other orders and groups, leave the same mail record.

use serde_json::{Value, json};

use crate::kit::{
    App, Random,
    ledger::{TYPES, folded, said},
};

/// Few times, texts and codes, so that many are the same. One in three has an id.
fn event(random: &mut Random, number: usize) -> Value {
    let mut event = json!({
        "type": TYPES[random.below(TYPES.len())],
        "occurred_at": format!("2026-01-01T00:00:{:02}Z", random.below(5)),
        "diagnostic": one_of(random, [None, Some("a"), Some("b")]),
        "smtp_code": one_of(random, [None, Some(450), Some(550)]),
        "enhanced_code": one_of(random, [None, Some("4.2.2"), Some("5.1.1")]),
    });
    if random.below(3) == 0 {
        event["provider_event_id"] = json!(format!("e-{number}"));
    }
    event
}

fn one_of<T: Copy>(random: &mut Random, all: [T; 3]) -> T {
    all[random.below(3)]
}

async fn record(app: &App, member: &str) -> String {
    let body = json!({"subject": "Hi", "status": "queued", "status_at": "2026-01-01T00:00:02Z"});
    app.post(&format!("{member}/mail-records"), body)
        .await
        .created()
}

/// Reports all events, some of them repeatedly, in an order and in groups of chance.
async fn report(app: &App, record: &str, events: &[Value], random: &mut Random) {
    let mut reports = events.to_vec();
    for _ in 0..random.below(4) {
        reports.push(events[random.below(events.len())].clone());
    }
    random.shuffle(&mut reports);
    let path = format!("{record}/events");
    let mut rest = reports.as_slice();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(1 + random.below(4)));
        let body = match now {
            [alone] if random.below(2) == 0 => alone.clone(),
            several => json!(several),
        };
        let answer = app.post(&path, body).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        rest = later;
    }
}

#[tokio::test]
async fn neither_order_nor_groups_nor_repetitions_count() {
    let app = App::start().await;
    let member = app.member("ann").await;
    for seed in 1..=12 {
        let mut random = Random::new(seed);
        let count = 1 + random.below(10);
        let events: Vec<_> = (0..count)
            .map(|number| event(&mut random, number))
            .collect();
        let mut first = None;
        for _ in 0..3 {
            let record = record(&app, &member).await;
            report(&app, &record, &events, &mut random).await;
            let mut said = said(&app.get(&record).await.expect(200).body);
            let listed = app.get(&format!("{record}/events?limit=100")).await;
            let listed = listed.expect(200).body;
            let stored = listed["data"].as_array().expect("rows");
            assert_eq!(said, folded(stored), "seed {seed}: {events:#?}");
            // Ids are given anew.
            said["status_event_id"].take();
            let first = first.get_or_insert_with(|| said.clone());
            assert_eq!(&said, first, "seed {seed}: {events:#?}");
        }
    }
}
