//! Every problem of the catalogue, made to happen.
//!
//! - `request`: what is wrong with the request itself
//! - `access`: who may do what
//! - `register`: what is in conflict with what the register has, or is not there
//! - `service`: what lies with the service, its database and time

mod access;
mod register;
mod request;
mod service;

use hyper::{HeaderMap, Method};
use member_mail::problem::Code;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::kit::{Answer, App, document::DOCUMENT, request::Request, wire::Reply};

const MEMBERS: &str = "/api/v1/members";
const LIST: &str = "GET /api/v1/members";
const CREATE: &str = "POST /api/v1/members";
const READ: &str = "GET /api/v1/members/{member_id}";
const REPLACE: &str = "PUT /api/v1/members/{member_id}";

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
        Code::MalformedJson => request::malformed_json().await,
        Code::InvalidParameter => request::invalid_parameter().await,
        Code::InvalidHeader => request::invalid_header().await,
        Code::InvalidHost => request::invalid_host().await,
        Code::UnknownHost => request::unknown_host().await,
        Code::RouteNotFound => request::route_not_found().await,
        Code::MemberNotFound => register::member_not_found().await,
        Code::MailRecordNotFound => register::mail_record_not_found().await,
        Code::ConsentNotFound => register::consent_not_found().await,
        Code::SuppressionNotFound => register::suppression_not_found().await,
        Code::MailEventNotFound => register::mail_event_not_found().await,
        Code::MethodNotAllowed => request::method_not_allowed().await,
        Code::NotAcceptable => request::not_acceptable().await,
        Code::RequestTimeout => service::request_timeout().await,
        Code::EmailTaken => register::email_taken().await,
        Code::ExternalIdTaken => register::external_id_taken().await,
        Code::ProviderMessageIdTaken => register::provider_message_id_taken().await,
        Code::ConfirmationRequired => register::confirmation_required().await,
        Code::InvalidTransition => register::invalid_transition().await,
        Code::NotEligible => register::not_eligible().await,
        Code::AccessKeyRequired => access::access_key_required().await,
        Code::InvalidAccessKey => access::invalid_access_key().await,
        Code::InsufficientScope => access::insufficient_scope().await,
        Code::ViewNotConfigured => access::view_not_configured().await,
        Code::FieldHidden => access::field_hidden().await,
        Code::AccessKeyNotFound => access::access_key_not_found().await,
        Code::AccessKeyEnded => access::access_key_ended().await,
        Code::IdempotencyKeyInUse => register::idempotency_key_in_use().await,
        Code::AnswerErased => register::answer_erased().await,
        Code::PreconditionFailed => register::precondition_failed().await,
        Code::ContentTooLarge => request::content_too_large().await,
        Code::UriTooLong => request::uri_too_long().await,
        Code::UnsupportedMediaType => request::unsupported_media_type().await,
        Code::UnsupportedContentCoding => request::unsupported_content_coding().await,
        Code::UnsupportedPatchType => request::unsupported_patch_type().await,
        Code::InvalidBody => request::invalid_body().await,
        Code::BatchRefused => register::batch_refused().await,
        Code::IdempotencyKeyReused => register::idempotency_key_reused().await,
        Code::PreconditionRequired => request::precondition_required().await,
        Code::HeaderFieldsTooLarge => request::header_fields_too_large().await,
        Code::RateLimited => service::rate_limited().await,
        Code::TooManyFailedSignIns => access::too_many_failed_sign_ins().await,
        Code::InternalError => service::internal_error().await,
        Code::DatabaseUnavailable => service::database_unavailable().await,
        Code::WriteConflict => service::write_conflict().await,
        Code::TimedOut => service::timed_out().await,
        Code::Overloaded => service::overloaded().await,
        Code::TooManyStreams => service::too_many_streams().await,
        Code::NotReady => service::not_ready().await,
        Code::ShuttingDown => service::shutting_down().await,
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
    [429, 503].contains(&code.entry().status.as_u16()) || code == Code::IdempotencyKeyInUse
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
