//! Requests that are too large: the client is told, and can still read the answer.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{
    App, Settings, Wire,
    document::{Operation, Subject, api_operations, writing_operations},
};

const MAX_BODY: usize = 1024 * 1024;

async fn start() -> App {
    let settings = Settings {
        max_body: MAX_BODY,
        ..Settings::default()
    };
    App::start_with(settings).await
}

/// The operation's example, filled with white space.
fn body_of(operation: &Operation, bytes: usize) -> String {
    let example = Value::Object(operation.example()).to_string();
    format!("{example}{}", " ".repeat(bytes - example.len()))
}

#[tokio::test]
async fn a_body_that_is_too_large_is_answered_with_413() {
    let app = start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let request = operation.request(&app, &ann);
        let request = request.header("content-type", operation.media_type().expect("a body"));
        let answer = request.body(body_of(&operation, MAX_BODY)).send().await;
        assert!(answer.status.is_success(), "{}", answer.text);
        for bytes in [MAX_BODY + 1, 2 * MAX_BODY, 10 * MAX_BODY] {
            // A client that sends all before it reads anything.
            let request = format!(
                "{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n{}",
                operation.method,
                operation.path_on(&ann),
                body_of(&operation, bytes)
            );
            let answer = Wire::exchange(app.address, &request).await;
            let problem = answer.problem(413, "content_too_large");
            assert_eq!(problem["errors"], json!([]));
        }
    }
}

#[tokio::test]
async fn the_largest_body_is_the_one_of_the_setting() {
    let settings = Settings {
        max_body: 4 * MAX_BODY,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let request = operation.request(&app, &ann);
        let request = request.header("content-type", operation.media_type().expect("a body"));
        let answer = request.body(body_of(&operation, 3 * MAX_BODY)).send().await;
        assert!(answer.status.is_success(), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_body_that_is_not_wanted_is_bounded_too() {
    let app = start().await;
    let ann = Subject::create(&app).await;
    for operation in api_operations() {
        let request = operation.request(&app, &ann);
        let answer = request.body("x".repeat(2 * MAX_BODY)).send().await;
        if operation.method.is_safe() {
            answer.expect(200);
        } else {
            answer.problem(413, "content_too_large");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_for_a_path_that_is_not_there_can_be_sent_all_the_same() {
    let app = start().await;
    for path in ["/api/v1/unknown", "/"] {
        let request = app.request(Method::POST, path);
        let answer = request.body("x".repeat(10 * MAX_BODY)).send().await;
        answer.problem(413, "content_too_large");
    }
}

/// The head of a request to create a member.
fn head(fields: &str) -> String {
    format!(
        "POST /api/v1/members HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/json\r\n{fields}\r\n\r\n"
    )
}

#[tokio::test]
async fn a_client_that_waits_to_be_told_to_go_on_is_told_of_413_before_it_sends() {
    let app = start().await;
    for factor in [2, 10, 10_000] {
        let length = factor * MAX_BODY;
        let head = head(&format!("Content-Length: {length}\r\nExpect: 100-continue"));
        let answer = Wire::exchange(app.address, &head).await;
        answer.problem(413, "content_too_large");
    }
    let body = json!({"name": "Ann"}).to_string();
    let fields = format!("Content-Length: {}\r\nExpect: 100-continue", body.len());
    let mut wire = Wire::connect(app.address).await;
    wire.send(&(head(&fields) + &body)).await;
    // The answer that says to go on, and the one behind it.
    for status in [100, 201] {
        assert_eq!(wire.reply().await.expect("an answer").status, status);
    }
    assert_eq!(wire.closed().await, "");
}

#[tokio::test]
async fn a_body_of_unknown_length_that_is_too_large_is_answered_with_413() {
    let app = start().await;
    let mut wire = Wire::connect(app.address).await;
    wire.send(&head("Transfer-Encoding: chunked")).await;
    let chunk = format!("{:x}\r\n{}\r\n", MAX_BODY, " ".repeat(MAX_BODY));
    for _ in 0..10 {
        wire.send(&chunk).await;
    }
    wire.send("0\r\n\r\n").await;
    let answer = wire.last_reply().await;
    answer.problem(413, "content_too_large");
}

#[tokio::test]
async fn a_body_whose_chunks_are_broken_is_not_blamed_on_time() {
    let app = start().await;
    let request = head("Transfer-Encoding: chunked") + "zz\r\n{}\r\n0\r\n\r\n";
    let answer = Wire::exchange(app.address, &request).await;
    answer.problem(400, "malformed_json");
}

#[tokio::test]
async fn a_uri_that_is_too_long_is_answered_with_414() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in api_operations() {
        let path = operation.path_on(&ann);
        for length in [8 * 1024 + 1, 40_000] {
            let padding = "a".repeat(length - path.len() - 1);
            let request = app.request(operation.method.clone(), &format!("{path}?{padding}"));
            request.send().await.problem(414, "uri_too_long");
        }
    }
    // Where there is no route too.
    let path = format!("/{}", "a".repeat(9_000));
    app.get(&path).await.problem(414, "uri_too_long");
}

#[tokio::test]
async fn a_header_that_is_too_large_is_answered_with_431() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in api_operations() {
        let one = operation
            .request(&app, &ann)
            .header("x-large", "a".repeat(33_000));
        one.send().await.problem(431, "header_fields_too_large");
        let many = (0..80).fold(operation.request(&app, &ann), |request, number| {
            request.header(&format!("x-{number}"), "a".repeat(500))
        });
        many.send().await.problem(431, "header_fields_too_large");
    }
    let fits = app.request(Method::GET, "/api/v1/members");
    let fits = (0..80).fold(fits, |request, number| {
        request.header(&format!("x-{number}"), "a".repeat(300))
    });
    fits.send().await.expect(200);
}

/// What the connection cannot hold never reaches the service: the status is right, the body empty.
#[tokio::test]
async fn a_head_that_no_buffer_holds_ends_its_connection_with_the_right_status() {
    let app = App::start().await;
    let fields = |count: usize| {
        let fields: Vec<_> = (0..count)
            .map(|number| format!("x-{number}: a\r\n"))
            .collect();
        let fields = fields.concat();
        format!("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n")
    };
    assert_eq!(Wire::exchange(app.address, &fields(98)).await.status, 200);
    let refused = Wire::exchange(app.address, &fields(99)).await;
    assert_eq!(refused.status, 431);
    assert_eq!(refused.text, "");
    let large = format!(
        "GET /livez HTTP/1.1\r\nHost: x\r\nx-large: {}",
        "a".repeat(64 * 1024)
    );
    assert_eq!(
        Wire::exchange(app.address, &large[..64 * 1024])
            .await
            .status,
        431
    );
}

#[tokio::test]
async fn a_body_that_is_encoded_is_not_taken_for_a_plain_one() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        for (coding, refused) in [("gzip", true), ("br, gzip", true), ("identity", false)] {
            let request = operation
                .request(&app, &ann)
                .header("content-encoding", coding);
            let answer = request.json(&operation.example().into()).send().await;
            if refused {
                answer.problem(415, "unsupported_content_coding");
            } else {
                assert_ne!(answer.status, 415);
            }
        }
    }
}
