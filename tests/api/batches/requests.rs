//! What a batch may be, and how it is answered.

use hyper::Method;
use serde_json::{Value, json};

use super::{MEMBERS, MEMBERS_BATCH, count, post, problem};
use crate::kit::{App, Settings, document::batch_operations};

#[tokio::test]
async fn a_batch_has_one_to_a_thousand_items() {
    let app = App::start().await;
    for operation in batch_operations() {
        let path = &operation.path;
        for items in [json!([]), Value::Array(vec![json!({}); 1001])] {
            let answer = post(&app, path, &items).await;
            assert_eq!(
                answer.error_at(422, "invalid_body", "#/items"),
                "out_of_range"
            );
        }
        for items in [json!({}), json!(null), json!("[]"), json!(1)] {
            let answer = post(&app, path, &items).await;
            assert_eq!(answer.error_at(422, "invalid_body", "#/items"), "invalid");
        }
        app.post(path, json!({}))
            .await
            .error_at(422, "invalid_body", "#/items");
        app.post(path, json!({"items": [{}], "all": 1}))
            .await
            .error_at(422, "invalid_body", "#/all");
        let wrong = post(&app, path, &Value::Array(vec![json!({}); 1000]))
            .await
            .expect(200);
        assert_eq!(
            (&wrong.body["created"], &wrong.body["failed"]),
            (&json!(0), &json!(1000))
        );
    }
}

#[tokio::test]
async fn many_wrong_items_are_not_answered_with_many_times_as_much() {
    let app = App::start().await;
    let fields = (0..100)
        .map(|n| format!("\"{n}\":1"))
        .collect::<Vec<_>>()
        .join(",");
    let items = vec![format!("{{{fields}}}"); 1000].join(",");
    let request = app
        .request(Method::POST, MEMBERS_BATCH)
        .header("content-type", "application/json");
    let answer = request
        .body(format!("{{\"items\":[{items}]}}"))
        .send()
        .await
        .expect(200);
    let errors = answer.body["results"][999]["problem"]["errors"]
        .as_array()
        .expect("errors");
    assert_eq!(errors.len(), 10);
}

#[tokio::test]
async fn results_come_without_the_representations_where_that_is_preferred() {
    let app = App::start().await;
    let items = json!([{"name": "Ann"}, {"name": 1}]);
    let ask = |key: &str, preference: &str| {
        let request = app
            .request(Method::POST, MEMBERS_BATCH)
            .header("prefer", preference);
        request
            .header("idempotency-key", key)
            .json(&json!({ "items": items }))
            .send()
    };
    let minimal = ask("one", "return=minimal").await.expect(200);
    assert_eq!(minimal.header("preference-applied"), "return=minimal");
    let results = &minimal.body["results"];
    assert!(results[0]["member"].is_null());
    assert_eq!(
        (&results[0]["status"], &results[0]["version"]),
        (&json!(201), &json!(1))
    );
    assert_eq!(problem(&results[1]), ("invalid_body", "#/items/1/name"));
    assert_eq!(
        (&minimal.body["created"], &minimal.body["failed"]),
        (&json!(1), &json!(1))
    );

    let whole = ask("one", "return=representation").await.expect(200);
    assert_eq!(whole.header("idempotency-replayed"), "true");
    assert_eq!(whole.header("preference-applied"), "return=representation");
    assert_eq!(whole.body["results"][0]["id"], results[0]["id"]);
    assert_eq!(whole.body["results"][0]["member"]["name"], "Ann");
    let again = ask("one", "return=minimal").await.expect(200);
    assert_eq!(again.text, minimal.text);
    assert_eq!(count(&app, MEMBERS).await, 1);
}

#[tokio::test]
async fn a_key_is_for_one_way_of_writing_too() {
    let app = App::start().await;
    let ask = |path: &str| {
        let request = app
            .request(Method::POST, path)
            .header("idempotency-key", "one");
        request
            .json(&json!({"items": [{"name": "Ann"}, {}]}))
            .send()
    };
    let atomic = format!("{MEMBERS_BATCH}?atomic=true");
    let refused = ask(&atomic).await;
    let again = ask(&atomic).await;
    assert_eq!(again.text, refused.text);
    assert_eq!(again.header("idempotency-replayed"), "true");
    refused.problem(422, "batch_refused");
    ask(MEMBERS_BATCH)
        .await
        .problem(422, "idempotency_key_reused");
    assert_eq!(count(&app, MEMBERS).await, 0);
}

#[tokio::test]
async fn one_connection_is_enough() {
    let app = App::start_with(Settings {
        connections: 1,
        ..Settings::default()
    })
    .await;
    let requests = (0..20).map(|number| {
        let items =
            (0..10).map(|item| json!({"name": "x", "external_id": format!("{}", number + item)}));
        let items: Value = items.collect();
        let app = &app;
        async move { post(app, MEMBERS_BATCH, &items).await.expect(200) }
    });
    let answers = futures_util::future::join_all(requests).await;
    let created: u64 = answers
        .iter()
        .filter_map(|answer| answer.body["created"].as_u64())
        .sum();
    assert_eq!(created, 29);
}
