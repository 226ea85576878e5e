//! Reports that are odd, too long, too many or no reports at all.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{Answer, App, document::Subject};

async fn start() -> (App, Subject, String) {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let events = format!("{}/events", ann.mail_record);
    (app, ann, events)
}

async fn post_text(app: &App, path: &str, text: &str) -> Answer {
    let request = app.request(Method::POST, path);
    let request = request.header("content-type", "application/json");
    request.body(text.to_owned()).send().await
}

#[tokio::test]
async fn a_list_with_an_item_that_is_no_json_is_refused_as_a_whole() {
    let (app, ann, events) = start().await;
    let before = app.get(&ann.mail_record).await.expect(200).text;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for item in [
        &deep,
        &format!(r#"{{"type":"sent","diagnostic":{deep}}}"#),
        r#"{"type":"sent","diagnostic":"\ud800"}"#,
        r#"{"type":"sent","smtp_code":1e400}"#,
    ] {
        for list in [
            format!("[{item}]"),
            format!(r#"[{{"type":"opened"}},{item},{{"type":"clicked"}}]"#),
            format!(r#"[{{"type":"lost"}},{item}]"#),
        ] {
            let answer = post_text(&app, &events, &list).await;
            answer.problem(400, "malformed_json");
        }
    }
    assert_eq!(app.get(&ann.mail_record).await.text, before);
    assert_eq!(app.get(&events).await.expect(200).ids().len(), 1);
}

#[tokio::test]
async fn what_is_no_event_is_refused_and_named() {
    let (app, _, events) = start().await;
    for (body, place, code) in [
        (r#"[[{"type":"sent"}]]"#, "#/0", "invalid"),
        ("[null]", "#/0", "invalid"),
        (r#"{"type":"sent","type":"opened"}"#, "#/type", "repeated"),
        (
            r#"[{"type":"sent"},{"type":"sent","type":"sent"}]"#,
            "#/1/type",
            "repeated",
        ),
        (
            r#"[{"type":"sent","source":{"a":1,"a":1}}]"#,
            "#/0/source",
            "invalid",
        ),
        (
            r#"[{"type":"sent","effect":"applied"}]"#,
            "#/0/effect",
            "unknown",
        ),
        (r#"{"type":{"sent":null}}"#, "#/type", "invalid"),
        (
            r#"{"type":"sent","smtp_code":"550"}"#,
            "#/smtp_code",
            "invalid",
        ),
        (
            r#"{"type":"sent","smtp_code":199}"#,
            "#/smtp_code",
            "out_of_range",
        ),
        (
            r#"{"type":"sent","enhanced_code":"5.1"}"#,
            "#/enhanced_code",
            "invalid_enhanced_code",
        ),
    ] {
        let answer = post_text(&app, &events, body).await;
        assert_eq!(answer.error_at(422, "invalid_body", place), code, "{body}");
    }
    assert_eq!(app.get(&events).await.expect(200).ids().len(), 1);
}

#[tokio::test]
async fn any_time_of_four_digits_is_taken_and_no_other() {
    let (app, ann, events) = start().await;
    let opened = |at: &str| json!({"type": "opened", "occurred_at": at});
    for at in [
        "9999-12-31T23:59:59.999999Z",
        "0001-01-01T00:00:00.000000Z",
        "2000-02-29T00:00:00.000000Z",
    ] {
        let added = app.post(&events, opened(at)).await.expect(201);
        assert_eq!(added.body["occurred_at"], at);
        let again = app.post(&events, opened(at)).await.expect(200);
        assert_eq!(again.body["effect"], "duplicate");
    }
    // A shift within the microsecond is the same time.
    let again = opened("2000-02-29T01:00:00.0000009+01:00");
    app.post(&events, again).await.expect(200);
    for at in [
        "2016-12-31T23:59:60Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "0000-12-31T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01",
        "1772323200",
    ] {
        let refused = app.post(&events, opened(at)).await;
        let code = refused.error_at(422, "invalid_body", "#/occurred_at");
        assert_eq!(code, "invalid_timestamp", "{at}");
    }
    let record = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(record["opened_count"], 3);
    assert_eq!(record["first_opened_at"], "0001-01-01T00:00:00.000000Z");
}

/// What may become a line of a header or of a log stays one.
#[tokio::test]
async fn line_breaks_stand_in_diagnostics_alone() {
    let (app, _, events) = start().await;
    let lines = ["source", "remote_mta", "url", "provider_event_id"];
    for field in lines {
        let pointer = format!("#/{field}");
        for text in [
            "a\r\nBcc: x@example.org",
            "a\rb",
            "a\nb",
            "a\0b",
            "a\u{85}b",
        ] {
            let event = json!({"type": "opened", field: text});
            let refused = app.post(&events, event.clone()).await;
            let code = refused.error_at(422, "invalid_body", &pointer);
            assert_eq!(code, "control_character", "{field} {text:?}");
            let refused = app.post(&events, json!([event])).await;
            let pointer = format!("#/0/{field}");
            refused.error_at(422, "invalid_body", &pointer);
        }
        // An encoded word is not decoded, and U+2028 is a letter like any other.
        for text in ["=?utf-8?B?SGkNCkJjYzogeA==?=", "a\u{2028}b"] {
            let event = json!({"type": "opened", field: text});
            let added = app.post(&events, event).await.expect(201);
            assert_eq!(added.body[field], text);
        }
    }
    for text in ["550 5.1.1\r\nno such user", "a\rb", "a\nb"] {
        let event = json!({"type": "opened", "diagnostic": text});
        let added = app.post(&events, event).await.expect(201);
        assert_eq!(added.body["diagnostic"], text);
        let listed = app.get(&format!("{events}?format=ndjson&limit=1")).await;
        assert_eq!(listed.expect(200).text.lines().count(), 1);
    }
    let nul = json!({"type": "opened", "diagnostic": "a\0b"});
    let refused = app.post(&events, nul).await;
    refused.error_at(422, "invalid_body", "#/diagnostic");
}

#[tokio::test]
async fn texts_have_their_limits_in_characters() {
    let (app, ann, events) = start().await;
    for (field, limit) in [
        ("diagnostic", 4000),
        ("url", 2048),
        ("remote_mta", 255),
        ("provider_event_id", 255),
        ("source", 100),
    ] {
        let event = |length| json!({"type": "failed", field: "\u{1F4E7}".repeat(length)});
        let added = app.post(&events, event(limit)).await.expect(201);
        let read = app.get(added.header("location")).await.expect(200);
        assert_eq!(read.body[field], added.body[field]);
        let refused = app.post(&events, event(limit + 1)).await;
        let code = refused.error_at(422, "invalid_body", &format!("#/{field}"));
        assert_eq!(code, "too_long");
    }
    let enormous = json!({"type": "failed", "diagnostic": "x".repeat(900_000)});
    let refused = app.post(&events, enormous).await;
    refused.error_at(422, "invalid_body", "#/diagnostic");
    // The one reason that is longest is told in full.
    let record = app.get(&ann.mail_record).await.expect(200).body;
    let reason = record["status_reason"].as_str().expect("a reason");
    assert_eq!(reason.chars().count(), 4000);
}

#[tokio::test]
async fn a_thousand_reports_of_one_event_are_one_event() {
    let (app, ann, events) = start().await;
    let event = json!({"type": "opened", "provider_event_id": "one"});
    let told = app.post(&events, json!(vec![&event; 1000])).await;
    let told = told.expect(200).body;
    let told = told["data"].as_array().expect("events");
    assert_eq!(told.len(), 1000);
    assert_eq!(told[0]["effect"], "applied");
    let rest = &told[1..];
    assert!(rest.iter().all(|event| event["effect"] == "duplicate"));
    assert!(rest.iter().all(|event| event["id"] == told[0]["id"]));
    let record = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(record["opened_count"], 1);
}

#[tokio::test]
async fn a_list_with_a_key_is_added_once_and_answered_the_same() {
    let (app, ann, events) = start().await;
    let list = json!([{"type": "opened"}, {"type": "opened"}, {"type": "clicked"}]);
    let ask = async |body: &Value| {
        let request = app.request(Method::POST, &events);
        let request = request.header("idempotency-key", "k-1").json(body);
        request.send().await
    };
    let first = ask(&list).await.expect(200);
    let again = ask(&list).await.expect(200);
    assert_eq!(first.text, again.text);
    ask(&json!([{"type": "opened"}]))
        .await
        .problem(422, "idempotency_key_reused");
    ask(&json!({"type": "opened"}))
        .await
        .problem(422, "idempotency_key_reused");
    let record = app.get(&ann.mail_record).await.expect(200).body;
    assert_eq!(
        (&record["opened_count"], &record["clicked_count"]),
        (&json!(2), &json!(1))
    );
}
