//! Writes that are in each other's way, and what is told of them.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::json;

use crate::kit::{App, Settings};

const MEMBERS: &str = "/api/v1/members";

async fn start() -> App {
    let settings = Settings {
        connections: 20,
        ..Settings::default()
    };
    App::start_with(settings).await
}

/// Each takes two keys, and two that take them crosswise wait for each other.
#[tokio::test]
async fn members_put_under_each_others_keys_at_once_are_made_or_refused() {
    let app = start().await;
    for round in 0..10 {
        let pairs = [("x", "x"), ("x", "y"), ("y", "y"), ("y", "x")];
        let puts = pairs.into_iter().cycle().take(12).map(|(key, name)| {
            let body = json!({"name": "N", "email": format!("{name}{round}@example.org")});
            let path = format!("{MEMBERS}/by-external-id/{key}-{round}");
            app.request(Method::PUT, &path).json(&body).send()
        });
        for answer in join_all(puts).await {
            if !answer.status.is_success() {
                answer.problem(409, "email_taken");
            }
        }
    }
}

/// Of a member who comes and goes, nothing is told that was not asked.
#[tokio::test]
async fn a_write_without_preconditions_fails_none() {
    let app = start().await;
    let path = format!("{MEMBERS}/by-external-id/a");
    for _ in 0..20 {
        let requests = (0..9).map(|number| match number % 3 {
            0 => app
                .request(Method::PUT, &path)
                .json(&json!({"name": "A"}))
                .send(),
            1 => app.patch_request(&path, &json!({"name": "B"})).send(),
            _ => app.request(Method::DELETE, &path).send(),
        });
        for answer in join_all(requests).await {
            if !answer.status.is_success() {
                answer.problem(404, "member_not_found");
            }
        }
    }
}

#[tokio::test]
async fn the_time_of_a_write_is_never_before_that_of_the_one_before() {
    let app = start().await;
    let ann = app.member("ann").await;
    let body = json!({"name": "Ann"});
    let answers = join_all((0..40).map(|_| app.put(&ann, body.clone()))).await;
    let mut writes: Vec<_> = answers
        .into_iter()
        .map(|answer| {
            let written = answer.expect(200).body;
            (
                written["version"].as_u64(),
                written["updated_at"].to_string(),
            )
        })
        .collect();
    writes.sort();
    assert!(writes.is_sorted_by_key(|(_, at)| at.clone()), "{writes:?}");
}
