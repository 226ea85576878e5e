//! `Prefer: return=minimal` (RFC 7240), on every operation that takes it.

use hyper::Method;
use serde_json::json;

use crate::kit::{
    App,
    document::{Operation, Subject, writing_operations},
};

fn operations() -> Vec<Operation> {
    let mut operations = writing_operations();
    for operation in &operations {
        let takes = operation.parameters("header");
        // What has no version is answered as it is.
        let unversioned = operation.path.ends_with("/events");
        assert!(
            takes.contains(&"Prefer".to_owned()) != unversioned,
            "{}",
            operation.name()
        );
    }
    operations.retain(|operation| !operation.path.ends_with("/events"));
    operations
}

#[tokio::test]
async fn a_write_answers_without_the_representation_where_that_is_preferred() {
    let app = App::start().await;
    for operation in operations() {
        let ann = Subject::create(&app).await;
        let ask = |preference: &str| {
            let request = operation.request(&app, &ann).header("prefer", preference);
            request.json(&operation.example().into()).send()
        };
        let whole = ask("return=representation").await;
        assert!(whole.status.is_success(), "{}", whole.text);
        assert_eq!(whole.header("preference-applied"), "return=representation");
        assert!(whole.body.is_object());
        let minimal = ask("respond-async, return=minimal").await;
        assert_eq!(minimal.header("preference-applied"), "return=minimal");
        if whole.headers.contains_key("etag") {
            // Of what is there already nothing is created.
            let created = minimal.headers.contains_key("location");
            let status = if created && operation.method == Method::POST {
                201
            } else {
                204
            };
            assert_eq!(minimal.status, status, "{}", operation.name());
            assert_eq!(minimal.text, "");
            assert!(minimal.header("etag").starts_with('"'));
            assert!(!minimal.headers.contains_key("content-type"));
            if status == 201 {
                app.get(minimal.header("location")).await.expect(200);
            }
        }
        for other in ["return=nothing", "wait=1", ""] {
            let answer = ask(other).await;
            assert!(answer.body.is_object());
            assert!(!answer.headers.contains_key("preference-applied"));
        }
        app.delete(&ann.member).await.expect(204);
    }
}

#[tokio::test]
async fn a_problem_is_told_in_full_whatever_is_preferred() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in operations() {
        let request = operation
            .request(&app, &ann)
            .header("prefer", "return=minimal");
        let answer = request.json(&json!([])).send().await;
        assert!(!answer.headers.contains_key("preference-applied"));
        answer.problem(422, "invalid_body");
    }
    let read = app.request(Method::GET, &ann.member);
    let read = read.header("prefer", "return=minimal").send().await;
    assert_eq!(read.expect(200).body["id"], ann.member_id.as_str());
}
