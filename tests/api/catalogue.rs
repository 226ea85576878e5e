//! Every problem of the catalogue, made to happen.

use std::time::Duration;

use hyper::{HeaderMap, Method};
use member_mail::problem::Code;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kit::{
    Answer, App, Settings, Wire,
    document::{DOCUMENT, Subject},
    request::Request,
    sessions::until_locked,
    wire::Reply,
};

const MEMBERS: &str = "/api/v1/members";
const LIST: &str = "GET /api/v1/members";
const CREATE: &str = "POST /api/v1/members";
const READ: &str = "GET /api/v1/members/{member_id}";
const REPLACE: &str = "PUT /api/v1/members/{member_id}";
const SECOND: Duration = Duration::from_secs(1);

/// A refusal as a client sees it.
struct Refusal {
    /// As the document has it.
    operation: &'static str,
    status: u16,
    headers: HeaderMap,
    body: Value,
}

fn of_answer(operation: &'static str, answer: Answer) -> Refusal {
    Refusal {
        operation,
        status: answer.status.as_u16(),
        headers: answer.headers,
        body: answer.body,
    }
}

fn of_reply(operation: &'static str, reply: Reply) -> Refusal {
    Refusal {
        operation,
        status: reply.status,
        headers: reply.headers,
        body: reply.body,
    }
}

/// Makes a problem happen. A new one does not compile before it has its place here.
async fn happen(code: Code) -> Refusal {
    match code {
        Code::MalformedJson => malformed_json().await,
        Code::InvalidParameter => invalid_parameter().await,
        Code::InvalidHeader => invalid_header().await,
        Code::InvalidHost => invalid_host().await,
        Code::UnknownHost => unknown_host().await,
        Code::RouteNotFound => route_not_found().await,
        Code::MemberNotFound => member_not_found().await,
        Code::MailRecordNotFound => mail_record_not_found().await,
        Code::MethodNotAllowed => method_not_allowed().await,
        Code::NotAcceptable => not_acceptable().await,
        Code::RequestTimeout => request_timeout().await,
        Code::EmailTaken => email_taken().await,
        Code::ExternalIdTaken => external_id_taken().await,
        Code::ProviderMessageIdTaken => provider_message_id_taken().await,
        Code::IdempotencyKeyInUse => idempotency_key_in_use().await,
        Code::PreconditionFailed => precondition_failed().await,
        Code::ContentTooLarge => content_too_large().await,
        Code::UriTooLong => uri_too_long().await,
        Code::UnsupportedMediaType => unsupported_media_type().await,
        Code::UnsupportedPatchType => unsupported_patch_type().await,
        Code::InvalidBody => invalid_body().await,
        Code::IdempotencyKeyReused => idempotency_key_reused().await,
        Code::PreconditionRequired => precondition_required().await,
        Code::HeaderFieldsTooLarge => header_fields_too_large().await,
        Code::InternalError => internal_error().await,
        Code::DatabaseUnavailable => database_unavailable().await,
        Code::TimedOut => timed_out().await,
        Code::TooManyStreams => too_many_streams().await,
        Code::NotReady => not_ready().await,
        Code::ShuttingDown => shutting_down().await,
    }
}

#[tokio::test]
async fn every_problem_happens_as_the_catalogue_and_the_document_have_it() {
    let app = App::start().await;
    for code in Code::ALL.iter().copied() {
        let entry = code.entry();
        let Refusal {
            operation,
            status,
            headers,
            body,
        } = happen(code).await;
        let name = format!("{operation}: {body}");
        assert_eq!(status, entry.status.as_u16(), "{name}");
        assert_eq!(headers["content-type"], "application/problem+json");
        assert_eq!(headers["cache-control"], "no-store", "{name}");
        assert_eq!(headers.contains_key("retry-after"), waits(code), "{name}");
        for (member, value) in [
            ("code", json!(entry.code)),
            ("status", json!(status)),
            ("title", json!(entry.title)),
            (
                "request_id",
                json!(headers["x-request-id"].to_str().expect("ASCII")),
            ),
        ] {
            assert_eq!(body[member], value, "{name}");
        }
        assert!(body["detail"].as_str().is_some_and(|text| !text.is_empty()));

        let page = app.get(body["type"].as_str().expect("type")).await;
        assert_eq!(page.expect(200).body["code"], entry.code);

        let (method, path) = operation.split_once(' ').expect("a method and a path");
        let says = &DOCUMENT["paths"][path][method.to_lowercase()];
        if code == Code::MethodNotAllowed {
            assert!(says.is_null(), "{name}");
            continue;
        }
        let documented = &says["responses"][status.to_string()]["content"];
        let examples = &documented["application/problem+json"]["examples"];
        assert!(examples[entry.code].is_object(), "{name}");
    }
}

/// Whether the problem passes by waiting.
fn waits(code: Code) -> bool {
    code.entry().status == 503 || code == Code::IdempotencyKeyInUse
}

fn get(app: &App, path: &str) -> Request {
    app.request(Method::GET, path)
}

fn create(app: &App) -> Request {
    app.request(Method::POST, MEMBERS)
}

/// Nobody gets at the members until this is dropped.
async fn locked(app: &App) -> PgConnection {
    let mut sql = app.sql().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE members IN ACCESS EXCLUSIVE MODE")
        .execute(&mut sql)
        .await
        .expect("locked");
    sql
}

async fn malformed_json() -> Refusal {
    let app = App::start().await;
    let request = create(&app).header("content-type", "application/json");
    of_answer(CREATE, request.body("{").send().await)
}

async fn invalid_parameter() -> Refusal {
    let app = App::start().await;
    of_answer(LIST, app.get("/api/v1/members?limit=0").await)
}

async fn invalid_header() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let request = get(&app, &ann).header("if-none-match", "1");
    of_answer(READ, request.send().await)
}

async fn invalid_host() -> Refusal {
    let app = App::start().await;
    let request = "GET /api/v1/members HTTP/1.1\r\nConnection: close\r\n\r\n";
    of_reply(LIST, Wire::exchange(app.address, request).await)
}

async fn unknown_host() -> Refusal {
    let app = App::start_with(Settings {
        allowed_hosts: Some(Vec::new()),
        ..Settings::default()
    })
    .await;
    let request = get(&app, MEMBERS).header("host", "evil.example");
    of_answer(LIST, request.send().await)
}

async fn route_not_found() -> Refusal {
    let app = App::start().await;
    of_answer("GET /problems/{code}", app.get("/problems/nothing").await)
}

async fn member_not_found() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    app.delete(&ann).await.expect(204);
    of_answer(READ, app.get(&ann).await)
}

async fn mail_record_not_found() -> Refusal {
    let app = App::start().await;
    let record = Subject::create(&app).await.mail_record;
    app.delete(&record).await.expect(204);
    let operation = "GET /api/v1/members/{member_id}/mail-records/{id}";
    of_answer(operation, app.get(&record).await)
}

async fn method_not_allowed() -> Refusal {
    let app = App::start().await;
    of_answer("DELETE /api/v1/members", app.delete(MEMBERS).await)
}

async fn request_timeout() -> Refusal {
    let app = App::start_with(Settings {
        request_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let mut slow = Wire::connect(app.address).await;
    slow.send("POST /api/v1/members HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
        .await;
    of_reply(CREATE, slow.reply().await.expect("an answer"))
}

async fn email_taken() -> Refusal {
    let app = App::start().await;
    app.member("ann").await;
    let body = json!({"name": "Ann", "email": "ANN@example.org"});
    of_answer(CREATE, app.post(MEMBERS, body).await)
}

async fn external_id_taken() -> Refusal {
    let app = App::start().await;
    let body = json!({"name": "Ann", "external_id": "ann-1"});
    app.post(MEMBERS, body.clone()).await.created();
    of_answer(CREATE, app.post(MEMBERS, body).await)
}

async fn provider_message_id_taken() -> Refusal {
    let app = App::start().await;
    let records = format!("{}/mail-records", app.member("ann").await);
    let body = json!({"subject": "Hi", "provider": "p", "provider_message_id": "1"});
    let other = json!({"subject": "Other", "provider": "p", "provider_message_id": "1"});
    app.post(&records, body).await.created();
    let operation = "POST /api/v1/members/{member_id}/mail-records";
    of_answer(operation, app.post(&records, other).await)
}

async fn idempotency_key_in_use() -> Refusal {
    let app = App::start().await;
    let mut sql = locked(&app).await;
    let body = json!({"name": "Ann"});
    let mut first = Wire::connect(app.address).await;
    first
        .request_with("POST", MEMBERS, "Idempotency-Key: one\r\n", &body)
        .await;
    until_locked(&mut sql, 1).await;
    let second = create(&app).header("idempotency-key", "one").json(&body);
    of_answer(CREATE, second.send().await)
}

async fn idempotency_key_reused() -> Refusal {
    let app = App::start().await;
    let named = |name| {
        let request = create(&app).header("idempotency-key", "one");
        request.json(&json!({"name": name})).send()
    };
    named("Ann").await.expect(201);
    of_answer(CREATE, named("Bob").await)
}

async fn precondition_failed() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let request = get(&app, &ann).header("if-match", "\"2\"");
    of_answer(READ, request.send().await)
}

async fn precondition_required() -> Refusal {
    let app = App::start_with(Settings {
        require_if_match: true,
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    of_answer(REPLACE, app.put(&ann, json!({"name": "Anna"})).await)
}

async fn content_too_large() -> Refusal {
    let app = App::start_with(Settings {
        max_body: 1024,
        ..Settings::default()
    })
    .await;
    of_answer(CREATE, create(&app).body(vec![b' '; 1025]).send().await)
}

async fn uri_too_long() -> Refusal {
    let app = App::start().await;
    let path = format!("{MEMBERS}?tag={}", "a".repeat(9_000));
    of_answer(LIST, app.get(&path).await)
}

async fn unsupported_media_type() -> Refusal {
    let app = App::start().await;
    let request = create(&app).header("content-type", "text/csv");
    of_answer(CREATE, request.body("name\nAnn\n").send().await)
}

async fn unsupported_patch_type() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let request = app.request(Method::PATCH, &ann);
    let request = request.of_type("application/json-patch+json");
    let operation = "PATCH /api/v1/members/{member_id}";
    of_answer(operation, request.json(&json!([])).send().await)
}

async fn invalid_body() -> Refusal {
    let app = App::start().await;
    of_answer(CREATE, app.post(MEMBERS, json!({})).await)
}

async fn header_fields_too_large() -> Refusal {
    let app = App::start().await;
    let request = get(&app, MEMBERS).header("x-long", "a".repeat(33_000));
    of_answer(LIST, request.send().await)
}

async fn internal_error() -> Refusal {
    let app = App::start().await;
    sqlx::raw_sql("ALTER TABLE members DROP COLUMN name")
        .execute(&mut app.sql().await)
        .await
        .expect("dropped");
    of_answer(LIST, app.get(MEMBERS).await)
}

async fn database_unavailable() -> Refusal {
    let (app, shim) = App::start_over_shim(Settings {
        acquire_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    shim.cut();
    of_answer(LIST, app.get(MEMBERS).await)
}

async fn timed_out() -> Refusal {
    let app = App::start_with(Settings {
        statement_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let locked = locked(&app).await;
    let refusal = of_answer(LIST, app.get(MEMBERS).await);
    drop(locked);
    refusal
}

async fn not_acceptable() -> Refusal {
    let app = App::start().await;
    let request = get(&app, MEMBERS).header("accept", "image/png");
    of_answer(LIST, request.send().await)
}

async fn too_many_streams() -> Refusal {
    let app = App::start_with(Settings {
        streams: 1,
        acquire_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let path = format!("{MEMBERS}?format=ndjson");
    let mut sql = locked(&app).await;
    let held = app.wire("GET", &path, &Value::Null).await;
    until_locked(&mut sql, 1).await;
    let refusal = of_answer(LIST, app.get(&path).await);
    drop(held);
    refusal
}

async fn not_ready() -> Refusal {
    let app = App::start().await;
    app.shutdown.announce();
    of_answer("GET /readyz", app.get("/readyz").await)
}

async fn shutting_down() -> Refusal {
    let app = App::start().await;
    let mut sql = locked(&app).await;
    // While this one runs the service is there to refuse others.
    let running = app.wire("POST", MEMBERS, &json!({"name": "Ann"})).await;
    until_locked(&mut sql, 1).await;
    app.shutdown.begin();
    let mut late = app.wire("GET", MEMBERS, &Value::Null).await;
    let refusal = of_reply(LIST, late.reply().await.expect("an answer"));
    drop(running);
    refusal
}
