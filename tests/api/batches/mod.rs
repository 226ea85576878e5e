//! `/api/v1/members/batch` and `/api/v1/mail-records/batch`.
//!
//! - `requests`: what a batch may be, and how it is answered
//! - `outcomes`: what becomes of each item
//! - `failures`: batches that meet other writes, that are cut off, and what they cost

mod failures;
mod outcomes;
mod requests;

use serde_json::{Value, json};

use crate::kit::{Answer, App};

const MEMBERS: &str = "/api/v1/members";
const MEMBERS_BATCH: &str = "/api/v1/members/batch";
const MAIL_BATCH: &str = "/api/v1/mail-records/batch";

async fn post(app: &App, path: &str, items: &Value) -> Answer {
    app.post(path, json!({ "items": items })).await
}

/// The statuses of the results, in their order.
fn statuses(answer: &Answer) -> Vec<u64> {
    let results = answer.body["results"].as_array().expect("results");
    let status = |result: &Value| result["status"].as_u64().expect("a status");
    results.iter().map(status).collect()
}

/// The code of the problem of a result, and where in the request it lies.
#[track_caller]
fn problem(result: &Value) -> (&str, &str) {
    let problem = &result["problem"];
    assert_eq!(problem["status"], result["status"], "{result}");
    for member in ["member", "mail_record", "id", "version"] {
        assert!(result[member].is_null(), "{result}");
    }
    let errors = problem["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 1, "{result}");
    (
        problem["code"].as_str().expect("a code"),
        errors[0]["pointer"].as_str().expect("a pointer"),
    )
}

async fn count(app: &App, path: &str) -> usize {
    app.get(path).await.expect(200).ids().len()
}
