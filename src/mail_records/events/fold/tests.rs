use proptest::prelude::*;

use super::*;
use crate::mail_records::events::model::MailEventEffect;

/// The table of rules, one row for each type: its place among its kind.
const PROGRESS: [&str; 5] = ["recorded", "scheduled", "queued", "sent", "deferred"];
const OUTCOMES: [&str; 5] = ["canceled", "suppressed", "failed", "delivered", "bounced"];
const OTHERS: [&str; 4] = ["opened", "clicked", "complained", "unsubscribed"];

fn kind(name: &str) -> MailEventType {
    serde_json::from_value(name.into()).expect("a type")
}

fn name(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("JSON");
    value.as_str().expect("a word").to_owned()
}

fn at(second: u32) -> Timestamp {
    let text = format!("2026-01-01T00:00:{second:02}Z");
    text.parse().expect("a time")
}

pub(in crate::mail_records::events) fn event(
    id: u128,
    name: &str,
    second: u32,
    diagnostic: Option<&str>,
) -> MailEvent {
    MailEvent {
        id: Uuid::from_u128(id),
        member_id: Uuid::nil(),
        mail_record_id: Uuid::nil(),
        kind: kind(name),
        occurred_at: at(second),
        received_at: at(0),
        source: None,
        provider_event_id: None,
        smtp_code: None,
        enhanced_code: None,
        diagnostic: diagnostic.map(|text| text.parse().expect("a text")),
        remote_mta: None,
        url: None,
        effect: MailEventEffect::Applied,
        dedupe_key: None,
    }
}

prop_compose! {
    /// Few times and texts, so that many are the same.
    fn events()(
        all in prop::collection::vec((0..14_usize, 0..5_u32, prop::option::of("[ab]")), 0..12)
    ) -> Vec<MailEvent> {
        let names = [&PROGRESS[..], &OUTCOMES, &OTHERS].concat();
        let numbered = all.into_iter().zip(1..);
        numbered
            .map(|((kind, second, text), id)| event(id, names[kind], second, text.as_deref()))
            .collect()
    }
}

/// The rules, read off the table one after the other, with no regard to cost.
fn model(events: &[MailEvent]) -> Option<(String, Timestamp)> {
    let of = |wanted: &str| -> Vec<Timestamp> {
        let of_type = events.iter().filter(|event| name(event.kind) == wanted);
        of_type.map(|event| event.occurred_at).collect()
    };
    let was_sent = !of("sent").is_empty() || !of("deferred").is_empty();
    for outcome in OUTCOMES.iter().rev() {
        let times = of(outcome);
        let denied = was_sent && ["canceled", "suppressed"].contains(outcome);
        if !times.is_empty() && !denied {
            return Some(((*outcome).to_owned(), times.into_iter().min()?));
        }
    }
    let newest = PROGRESS.iter().flat_map(|progress| of(progress)).max()?;
    let progress = PROGRESS
        .iter()
        .rev()
        .find(|progress| of(progress).contains(&newest))?;
    Some(((*progress).to_owned(), newest))
}

/// A mail may have been sent before anything was written down.
#[test]
fn what_a_record_is_created_with_gives_way_to_what_is_known_of_the_mail() {
    let created = MailEvent {
        mail_record_id: Uuid::from_u128(1),
        ..event(1, "recorded", 9, None)
    };
    let status = |events: &[MailEvent]| fold(events).decision.map(|by| name(by.status));
    assert_eq!(
        status(std::slice::from_ref(&created)).as_deref(),
        Some("recorded")
    );
    for kind in [
        "scheduled",
        "queued",
        "sent",
        "deferred",
        "delivered",
        "canceled",
    ] {
        let reported = event(2, kind, 3, None);
        assert_eq!(status(&[created.clone(), reported]).as_deref(), Some(kind));
    }
    let later = [
        created,
        event(2, "sent", 3, None),
        event(3, "recorded", 4, None),
    ];
    assert_eq!(status(&later).as_deref(), Some("recorded"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn the_status_is_that_of_the_table(events in events()) {
        let decision = fold(&events).decision;
        let decided = decision.as_ref().map(|by| (name(by.status), by.status_at));
        prop_assert_eq!(decided, model(&events));
        if let Some(decision) = decision {
            let event = events.iter().find(|event| event.id == decision.status_event_id);
            let event = event.expect("one of them");
            prop_assert_eq!(&event.diagnostic, &decision.status_reason);
            prop_assert_eq!(event.occurred_at, decision.status_at);
        }
    }

    #[test]
    fn neither_order_nor_repetition_counts(
        (events, again) in events().prop_flat_map(|events| {
            let repeated: Vec<_> = events.iter().chain(&events).cloned().collect();
            (Just(events), Just(repeated).prop_shuffle())
        }),
        left_out in any::<prop::sample::Index>(),
    ) {
        let folded = fold(&events);
        prop_assert_eq!(&fold(&again), &folded);
        // Some of those that are repeated, all the same.
        let cut = again.len() / 2 + left_out.index(again.len() / 2 + 1);
        let once: Vec<_> = again[..cut].iter().chain(&events).collect();
        prop_assert_eq!(&fold(once), &folded);
    }

    #[test]
    fn what_bounced_has_bounced(events in events(), more in events()) {
        let bounced = |folded: &Folded| folded.decision.as_ref().is_some_and(|by| by.status == MailStatus::Bounced);
        let before = fold(&events);
        let later: Vec<_> = more
            .into_iter()
            .map(|event| MailEvent { id: Uuid::from_u128(event.id.as_u128() + 100), ..event })
            .collect();
        let after = fold(events.iter().chain(&later));
        if bounced(&before) {
            prop_assert!(bounced(&after));
        }
        for (earlier, later) in [
            (before.delivered_at, after.delivered_at),
            (before.bounced_at, after.bounced_at),
            (before.first_opened_at, after.first_opened_at),
            (before.first_clicked_at, after.first_clicked_at),
            (before.complained_at, after.complained_at),
            (before.unsubscribed_at, after.unsubscribed_at),
        ] {
            prop_assert!(earlier.is_none_or(|earlier| later.is_some_and(|later| later <= earlier)));
        }
        prop_assert!(before.opened_count <= after.opened_count);
        prop_assert!(before.clicked_count <= after.clicked_count);
    }

    /// Events that say the same at the same time may come with other ids.
    #[test]
    fn what_is_told_does_not_depend_on_ids(events in events()) {
        let last = u128::try_from(events.len()).expect("few");
        let renumbered = events.iter().map(|event| {
            let id = Uuid::from_u128(last + 1 - event.id.as_u128());
            MailEvent { id, ..event.clone() }
        });
        let renumbered: Vec<_> = renumbered.collect();
        let without_id = |folded: Folded| Folded {
            decision: folded.decision.map(|by| Decision { status_event_id: Uuid::nil(), ..by }),
            ..folded
        };
        prop_assert_eq!(without_id(fold(&renumbered)), without_id(fold(&events)));
    }
}
