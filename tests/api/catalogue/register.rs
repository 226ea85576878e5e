//! What is in conflict with what the register has, or is not there.

use serde_json::json;

use super::{CREATE, MEMBERS, READ, Refusal, create, get, locked, of_answer};
use crate::kit::{App, Wire, document::Subject, sessions::until_locked};

pub(super) async fn member_not_found() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    app.delete(&ann).await.expect(204);
    of_answer(READ, app.get(&ann).await)
}

pub(super) async fn mail_record_not_found() -> Refusal {
    let app = App::start().await;
    let record = Subject::create(&app).await.mail_record;
    app.delete(&record).await.expect(204);
    let operation = "GET /api/v1/members/{member_id}/mail-records/{id}";
    of_answer(operation, app.get(&record).await)
}

pub(super) async fn consent_not_found() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let operation = "GET /api/v1/members/{member_id}/consents/{id}";
    let path = format!("{ann}/consents/018cc251-f400-7000-8000-000000000001");
    of_answer(operation, app.get(&path).await)
}

pub(super) async fn suppression_not_found() -> Refusal {
    let app = App::start().await;
    let suppression = Subject::create(&app).await.suppression;
    app.delete(&suppression).await.expect(204);
    let operation = "GET /api/v1/suppressions/{id}";
    of_answer(operation, app.get(&suppression).await)
}

pub(super) async fn confirmation_required() -> Refusal {
    let app = App::start().await;
    let body = json!({"address": "ann@example.org", "reason": "complaint"});
    let complaint = app.post("/api/v1/suppressions", body).await.created();
    let operation = "DELETE /api/v1/suppressions/{id}";
    of_answer(operation, app.delete(&complaint).await)
}

pub(super) async fn mail_event_not_found() -> Refusal {
    let app = App::start().await;
    let record = Subject::create(&app).await.mail_record;
    let event = format!("{record}/events/018cc251-f400-7000-8000-000000000001");
    let operation = "GET /api/v1/members/{member_id}/mail-records/{id}/events/{event_id}";
    of_answer(operation, app.get(&event).await)
}

pub(super) async fn invalid_transition() -> Refusal {
    let app = App::start().await;
    let record = Subject::create(&app).await.mail_record;
    let operation = "POST /api/v1/members/{member_id}/mail-records/{id}/retry";
    of_answer(operation, app.act(&format!("{record}/retry")).await)
}

pub(super) async fn not_eligible() -> Refusal {
    let app = App::start().await;
    let records = format!("{}/mail-records?if_eligible=true", app.member("ann").await);
    let body = json!({"address": "ann@example.org"});
    app.post("/api/v1/suppressions", body).await.expect(201);
    let operation = "POST /api/v1/members/{member_id}/mail-records";
    let refused = app.post(&records, json!({"subject": "Hi"})).await;
    of_answer(operation, refused)
}

pub(super) async fn email_taken() -> Refusal {
    let app = App::start().await;
    app.member("ann").await;
    let body = json!({"name": "Ann", "email": "ANN@example.org"});
    of_answer(CREATE, app.post(MEMBERS, body).await)
}

pub(super) async fn external_id_taken() -> Refusal {
    let app = App::start().await;
    let body = json!({"name": "Ann", "external_id": "ann-1"});
    app.post(MEMBERS, body.clone()).await.created();
    of_answer(CREATE, app.post(MEMBERS, body).await)
}

pub(super) async fn provider_message_id_taken() -> Refusal {
    let app = App::start().await;
    let records = format!("{}/mail-records", app.member("ann").await);
    let body = json!({"subject": "Hi", "provider": "p", "provider_message_id": "1"});
    let other = json!({"subject": "Other", "provider": "p", "provider_message_id": "1"});
    app.post(&records, body).await.created();
    let operation = "POST /api/v1/members/{member_id}/mail-records";
    of_answer(operation, app.post(&records, other).await)
}

pub(super) async fn idempotency_key_in_use() -> Refusal {
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

pub(super) async fn batch_refused() -> Refusal {
    let app = App::start().await;
    let path = format!("{MEMBERS}/batch?atomic=true");
    let answer = app.post(&path, json!({"items": [{}]})).await;
    of_answer("POST /api/v1/members/batch", answer)
}

pub(super) async fn idempotency_key_reused() -> Refusal {
    let app = App::start().await;
    let named = |name| {
        let request = create(&app).header("idempotency-key", "one");
        request.json(&json!({"name": name})).send()
    };
    named("Ann").await.expect(201);
    of_answer(CREATE, named("Bob").await)
}

pub(super) async fn answer_erased() -> Refusal {
    let app = App::start().await;
    let send = || {
        let request = create(&app).header("idempotency-key", "one");
        request.json(&json!({"name": "Ann"})).send()
    };
    let ann = send().await.created();
    app.delete(&ann).await.expect(204);
    of_answer(CREATE, send().await)
}

pub(super) async fn precondition_failed() -> Refusal {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let request = get(&app, &ann).header("if-match", "\"2\"");
    of_answer(READ, request.send().await)
}
