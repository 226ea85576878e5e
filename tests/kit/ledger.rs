//! What a mail record must say by its events: read off the rules one after the other, and apart from the
//! program.

use serde_json::{Map, Value, json};

const PROGRESS: [&str; 5] = ["recorded", "scheduled", "queued", "sent", "deferred"];
const OUTCOMES: [&str; 5] = ["canceled", "suppressed", "failed", "delivered", "bounced"];

/// All types of events.
pub(crate) const TYPES: [&str; 14] = [
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
    "opened",
    "clicked",
    "complained",
    "unsubscribed",
];

/// The fields of a mail record that follow from its events, as they must be.
pub(crate) fn folded(events: &[Value]) -> Value {
    let first = |kind: &str| {
        of(events, kind)
            .map(|event| &event["occurred_at"])
            .min_by_key(|time| text(time))
    };
    let deciding = deciding(events);
    json!({
        "status": deciding["type"],
        "status_at": deciding["occurred_at"],
        "status_reason": reason(deciding),
        "status_event_id": deciding["id"],
        "delivered_at": first("delivered"),
        "bounced_at": first("bounced"),
        "opened_count": of(events, "opened").count(),
        "first_opened_at": first("opened"),
        "clicked_count": of(events, "clicked").count(),
        "first_clicked_at": first("clicked"),
        "complained_at": first("complained"),
        "unsubscribed_at": first("unsubscribed"),
    })
}

/// The same fields, as a mail record has them.
pub(crate) fn said(record: &Value) -> Value {
    let folded = folded(&[json!({"type": "recorded"})]);
    let fields = folded.as_object().expect("fields").keys();
    let said: Map<_, _> = fields
        .map(|field| (field.clone(), record[field].clone()))
        .collect();
    Value::Object(said)
}

fn of<'e>(events: &'e [Value], kind: &str) -> impl Iterator<Item = &'e Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

fn deciding(events: &[Value]) -> &Value {
    let was_sent = events
        .iter()
        .any(|event| event["type"] == "sent" || event["type"] == "deferred");
    for outcome in OUTCOMES.iter().rev() {
        let denied = was_sent && ["canceled", "suppressed"].contains(outcome);
        let earliest = of(events, outcome)
            .map(|event| text(&event["occurred_at"]))
            .min();
        if let Some(earliest) = earliest.filter(|_| !denied) {
            return saying_most(of(events, outcome), &earliest);
        }
    }
    // The `recorded` of its creation says nothing of the mail.
    let created =
        |event: &&Value| event["type"] == "recorded" && event["id"] == event["mail_record_id"];
    let told: Vec<_> = events
        .iter()
        .filter(|event| !created(event))
        .cloned()
        .collect();
    let is_progress = |event: &Value| PROGRESS.iter().any(|kind| event["type"] == *kind);
    if told.len() < events.len() && told.iter().any(is_progress) {
        return events
            .iter()
            .find(|event| event["id"] == deciding(&told)["id"])
            .expect("one of them");
    }
    let progress = || PROGRESS.iter().flat_map(|kind| of(events, kind));
    let newest = progress().map(|event| text(&event["occurred_at"])).max();
    let newest = newest.expect("an event");
    let kind = PROGRESS
        .iter()
        .rev()
        .find(|kind| of(events, kind).any(|event| text(&event["occurred_at"]) == newest));
    saying_most(of(events, kind.expect("a type")), &newest)
}

/// Of those at this time, the one that decides by what it says.
fn saying_most<'e>(events: impl Iterator<Item = &'e Value>, at: &str) -> &'e Value {
    let events = events.filter(|event| text(&event["occurred_at"]) == at);
    let most = events.max_by_key(|event| {
        (
            event["diagnostic"].as_str(),
            event["enhanced_code"].as_str(),
            event["smtp_code"].as_i64(),
            event["id"].as_str(),
        )
    });
    most.expect("an event")
}

fn reason(event: &Value) -> Value {
    if !event["diagnostic"].is_null() {
        return event["diagnostic"].clone();
    }
    let codes = [&event["smtp_code"], &event["enhanced_code"]];
    let codes: Vec<_> = codes
        .into_iter()
        .filter(|code| !code.is_null())
        .map(text)
        .collect();
    if codes.is_empty() {
        return Value::Null;
    }
    json!(codes.join(" "))
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
