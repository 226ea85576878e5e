//! `ETag`, `If-Match`, `If-None-Match`, on every operation that takes them.

use hyper::Method;
use serde_json::{Value, json};
use sqlx::Connection;

use crate::kit::{
    Answer, App, Settings,
    document::{Operation, Subject, api_operations},
    sessions::until_locked,
};

/// The operations that take preconditions: reads if `reads`, else writes.
fn conditional(reads: bool) -> Vec<Operation> {
    let mut operations = api_operations();
    operations.retain(|operation| {
        let takes = operation.parameters("header");
        takes.contains(&"If-Match".to_owned()) && operation.method.is_safe() == reads
    });
    assert!(operations.len() >= 4);
    operations
}

/// Sends the operation with lines of the header, and where it takes a body, one that is accepted.
async fn send(app: &App, ann: &Subject, operation: &Operation, lines: &[(&str, &str)]) -> Answer {
    let mut request = operation.request(app, ann);
    for (name, value) in lines {
        request = request.header(name, value);
    }
    if operation.media_type().is_some() {
        let mut body = operation.example();
        body.remove("external_id");
        body.insert("tags".to_owned(), json!(["changed"]));
        request = request.json(&body.into());
    }
    request.send().await
}

/// What the operation works on, as it is now; null if it is gone.
async fn state(app: &App, ann: &Subject, operation: &Operation) -> Value {
    let path = match operation.path.as_str() {
        path if path.contains("mail-records") => &ann.mail_record,
        path if path.contains("suppressions") => &ann.suppression,
        _ => &ann.member,
    };
    let answer = app.get(path).await;
    if answer.status == 404 {
        Value::Null
    } else {
        answer.expect(200).body
    }
}

#[tokio::test]
async fn every_single_resource_has_the_tag_of_its_version() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in conditional(true) {
        let read = send(&app, &ann, &operation, &[]).await.expect(200);
        assert_eq!(read.header("etag"), "\"1\"", "{}", operation.name());
    }
    for operation in conditional(false) {
        if operation.method == Method::DELETE {
            continue;
        }
        let written = send(&app, &ann, &operation, &[]).await.expect(200);
        let tag = format!("\"{}\"", written.body["version"]);
        assert_eq!(written.header("etag"), tag, "{}", operation.name());
        let now = state(&app, &ann, &operation).await;
        assert_eq!(now["version"], written.body["version"]);
        app.put(
            &ann.member,
            json!({"name": "ann", "external_id": ann.external_id}),
        )
        .await
        .expect(200);
    }
    let created = app.post("/api/v1/members", json!({"name": "Bo"})).await;
    assert_eq!(created.expect(201).header("etag"), "\"1\"");
    let records = format!("{}/mail-records", ann.member);
    let created = app.post(
        &records,
        json!({"subject": "Hi", "recipient": "a@example.org"}),
    );
    assert_eq!(created.await.expect(201).header("etag"), "\"1\"");
}

/// RFC 9110, sections 8.8.3.2, 13.1.1, 13.1.2 and 13.2.2, on a resource in version 1.
const READS: [(&[(&str, &str)], u16); 24] = [
    (&[("if-none-match", "\"1\"")], 304),
    (&[("if-none-match", "W/\"1\"")], 304),
    (&[("if-none-match", "\"1-gzip\"")], 304),
    (&[("if-none-match", "*")], 304),
    (&[("if-none-match", "\"2\", \"1\"")], 304),
    (&[("if-none-match", "\"2\",W/\"1\" , \"x,y\"")], 304),
    (
        &[("if-none-match", "\"2\""), ("if-none-match", "\"1\"")],
        304,
    ),
    (&[("if-none-match", "\"2\"")], 200),
    (&[("if-none-match", "W/\"2\"")], 200),
    (&[("if-none-match", "\"01\"")], 200),
    (&[("if-none-match", "\"\"")], 200),
    (&[("if-none-match", "\"anything\"")], 200),
    (&[("if-match", "\"1\"")], 200),
    (&[("if-match", "\"1-gzip\"")], 200),
    (&[("if-match", "*")], 200),
    (&[("if-match", "\"2\", \"1\"")], 200),
    (&[("if-match", "\"2\""), ("if-match", "\"1\"")], 200),
    (&[("if-match", ",, \"1\" ,")], 200),
    (&[("if-match", "W/\"1\"")], 412),
    (&[("if-match", "\"2\"")], 412),
    (&[("if-match", "\"+1\"")], 412),
    // What must match is decided before what must not.
    (&[("if-match", "\"2\""), ("if-none-match", "\"1\"")], 412),
    (&[("if-match", "\"1\""), ("if-none-match", "\"1\"")], 304),
    (&[("if-match", "\"1\""), ("if-none-match", "\"2\"")], 200),
];

#[tokio::test]
async fn a_read_is_answered_as_its_preconditions_say() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in conditional(true) {
        let whole = send(&app, &ann, &operation, &[]).await.expect(200);
        for (lines, status) in READS {
            let answer = send(&app, &ann, &operation, lines).await;
            assert_eq!(answer.status, status, "{lines:?}");
            match status {
                200 => assert_eq!(answer.text, whole.text),
                304 => {
                    assert_eq!(answer.text, "");
                    assert!(answer.header("etag").starts_with("\"1"));
                    assert!(!answer.headers.contains_key("content-type"));
                }
                _ => _ = answer.problem(412, "precondition_failed"),
            }
            let mut head = app.request(Method::HEAD, &operation.path_on(&ann));
            for (name, value) in lines {
                head = head.header(name, value);
            }
            assert_eq!(head.send().await.expect(status).text, "");
        }
    }
}

/// The same for writes, on version 1.
const WRITES: [(&[(&str, &str)], bool); 21] = [
    (&[("if-match", "\"1\"")], true),
    (&[("if-match", "\"1-gzip\"")], true),
    (&[("if-match", "*")], true),
    (&[("if-match", "\"7\", \"1\"")], true),
    (
        &[("if-match", "\"7\""), ("if-match", "W/\"7\",\"1\"")],
        true,
    ),
    (&[("if-none-match", "\"2\"")], true),
    (&[("if-none-match", "\"2\", W/\"3\"")], true),
    (&[("if-match", "\"1\""), ("if-none-match", "\"2\"")], true),
    (&[("if-match", "W/\"1\"")], false),
    (&[("if-match", "\"2\"")], false),
    (&[("if-match", "\"0\"")], false),
    (&[("if-match", "\"\"")], false),
    (&[("if-match", "\"9223372036854775808\"")], false),
    (&[("if-match", "\"2\", W/\"1\"")], false),
    (&[("if-none-match", "\"1\"")], false),
    (&[("if-none-match", "W/\"1\"")], false),
    (&[("if-none-match", "*")], false),
    (
        &[("if-none-match", "\"2\""), ("if-none-match", "\"1\"")],
        false,
    ),
    (&[("if-match", "\"1\""), ("if-none-match", "\"1\"")], false),
    (&[("if-match", "*"), ("if-none-match", "*")], false),
    (&[("if-match", "\"2\""), ("if-none-match", "\"2\"")], false),
];

#[tokio::test]
async fn a_write_is_done_where_its_preconditions_hold_and_else_nothing_is() {
    let app = App::start().await;
    for operation in conditional(false) {
        for (lines, holds) in WRITES {
            let ann = Subject::create(&app).await;
            let before = state(&app, &ann, &operation).await;
            let answer = send(&app, &ann, &operation, lines).await;
            let after = state(&app, &ann, &operation).await;
            let asked = format!("{} {lines:?}: {}", operation.name(), answer.text);
            if holds {
                assert!(answer.status.is_success(), "{asked}");
                assert!(after.is_null() || after["version"] == 2, "{asked}");
            } else {
                assert_eq!(answer.status, 412, "{asked}");
                answer.problem(412, "precondition_failed");
                assert_eq!(after, before, "{asked}");
            }
            app.delete(&ann.member).await;
        }
    }
}

#[tokio::test]
async fn a_field_that_is_no_list_of_tags_is_named_and_nothing_is_done() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in [conditional(true), conditional(false)].concat() {
        let before = state(&app, &ann, &operation).await;
        for name in ["if-match", "if-none-match"] {
            for value in [
                "",
                " ",
                ",",
                "1",
                "\"1",
                "1\"",
                "w/\"1\"",
                "W/1",
                "\"1\" \"2\"",
                "\"1\", *",
                "*, \"1\"",
                "* *",
                "\"a b\"",
                "\"1\";",
                "'1'",
            ] {
                let answer = send(&app, &ann, &operation, &[(name, value)]).await;
                assert_eq!(answer.status, 400, "{name}: {value}");
                let problem = answer.problem(400, "invalid_header");
                assert_eq!(problem["errors"][0]["header"], name, "{value}");
            }
        }
        assert_eq!(state(&app, &ann, &operation).await, before);
    }
}

/// `If-Match` is not met by what is not there; without it, that it is not there is all there is to
/// say.
#[tokio::test]
async fn what_is_not_there_meets_no_if_match() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for path in [&ann.member, &ann.suppression] {
        app.delete(path).await.expect(204);
    }
    let absent = |operation: &Operation| match operation.path.as_str() {
        path if path.contains("suppressions") => "suppression_not_found",
        _ => "member_not_found",
    };
    for operation in conditional(false) {
        if operation.path.contains("by-external-id") && operation.method == Method::PUT {
            continue;
        }
        for value in ["*", "\"1\""] {
            let answer = send(&app, &ann, &operation, &[("if-match", value)]).await;
            answer.problem(412, "precondition_failed");
        }
        for lines in [
            &[][..],
            &[("if-none-match", "*")],
            &[("if-none-match", "\"1\"")],
        ] {
            let answer = send(&app, &ann, &operation, lines).await;
            answer.problem(404, absent(&operation));
        }
    }
    for operation in conditional(true) {
        let answer = send(&app, &ann, &operation, &[("if-match", "*")]).await;
        answer.problem(404, absent(&operation));
    }
    assert_eq!(app.get("/api/v1/members").await.ids().len(), 0);
}

/// Read before the write, the version would still be right.
#[tokio::test]
async fn a_version_that_goes_while_the_write_waits_is_met_by_412() {
    let app = App::start().await;
    for operation in conditional(false) {
        let ann = Subject::create(&app).await;
        let (mut holder, mut watcher) = (app.sql().await, app.sql().await);
        let mut held = holder.begin().await.expect("a transaction");
        for write in [
            "UPDATE members SET version = version + 1",
            "UPDATE mail_records SET version = version + 1",
            "UPDATE suppressions SET version = version + 1",
        ] {
            sqlx::query(write).execute(&mut *held).await.expect("held");
        }
        let overtake = async {
            until_locked(&mut watcher, 1).await;
            held.commit().await.expect("released");
        };
        let write = send(&app, &ann, &operation, &[("if-match", "\"1\"")]);
        let (answer, ()) = tokio::join!(write, overtake);
        answer.problem(412, "precondition_failed");
        assert_eq!(state(&app, &ann, &operation).await["version"], 2);
        app.delete(&ann.member).await.expect(204);
    }
}

#[tokio::test]
async fn of_many_who_write_the_version_that_they_read_one_does() {
    let settings = Settings {
        connections: 20,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    for operation in conditional(false) {
        let ann = Subject::create(&app).await;
        let lines = [("if-match", "\"1\"")];
        let writes = (0..20).map(|_| send(&app, &ann, &operation, &lines));
        let answers = futures_util::future::join_all(writes).await;
        let (done, refused): (Vec<_>, Vec<_>) = answers
            .into_iter()
            .partition(|answer| answer.status.is_success());
        assert_eq!(done.len(), 1, "{}", operation.name());
        for answer in refused {
            answer.problem(412, "precondition_failed");
        }
        app.delete(&ann.member).await;
    }
}

#[tokio::test]
async fn where_if_match_is_demanded_no_write_goes_without() {
    let settings = Settings {
        require_if_match: true,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    for operation in conditional(false) {
        let ann = Subject::create(&app).await;
        let before = state(&app, &ann, &operation).await;
        for lines in [&[][..], &[("if-none-match", "\"7\"")]] {
            let answer = send(&app, &ann, &operation, lines).await;
            answer.problem(428, "precondition_required");
        }
        assert_eq!(state(&app, &ann, &operation).await, before);
        let answer = send(&app, &ann, &operation, &[("if-match", "\"1\"")]).await;
        assert!(answer.status.is_success());
        let gone = app.request(Method::DELETE, &ann.member);
        gone.header("if-match", "*").send().await;
    }
    // That nothing is there is as clear.
    let path = "/api/v1/members/by-external-id/new";
    let bo = app.request(Method::PUT, path).header("if-none-match", "*");
    bo.json(&json!({"name": "Bo"})).send().await.expect(201);
    app.put(path, json!({"name": "Bo"}))
        .await
        .problem(428, "precondition_required");
}

/// It has changed, so a client that has read it before has another one.
#[tokio::test]
async fn a_retry_whose_first_attempt_is_deleted_has_a_new_version() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let first = app.mail_record(&ann, "Hi").await;
    let id = first.rsplit('/').next().expect("an id");
    let records = format!("{ann}/mail-records");
    let retry = app
        .post(&records, json!({"subject": "Hi", "retry_of": id}))
        .await
        .created();
    let refused = app
        .request(Method::DELETE, &first)
        .header("if-match", "\"9\"");
    refused.send().await.problem(412, "precondition_failed");
    assert_eq!(app.get(&retry).await.expect(200).body["version"], 1);
    app.delete(&first).await.expect(204);
    let retry = app
        .request(Method::GET, &retry)
        .header("if-none-match", "\"1\"");
    let retry = retry.send().await.expect(200).body;
    assert_eq!(
        (&retry["retry_of"], &retry["version"]),
        (&json!(null), &json!(2))
    );
}
