//! The media types of request bodies, on every operation that takes one.

use serde_json::Value;

use crate::kit::{
    App,
    document::{Subject, writing_operations},
};

#[tokio::test]
async fn equivalent_media_types_are_accepted_and_others_are_not() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let mut body = operation.example();
        body.remove("external_id");
        let body = Value::Object(body).to_string();
        let media_type = operation.media_type().expect("a body");
        let (kind, subtype) = media_type.split_once('/').expect("a type");
        for content_type in [
            media_type.to_owned(),
            format!("{media_type}; charset=utf-8"),
            format!("{media_type};charset=UTF-8"),
            format!("{}/{}", kind.to_uppercase(), subtype.to_uppercase()),
            format!("{media_type} ; charset=\"utf-8\""),
            format!("\t{media_type}"),
        ] {
            let answer = {
                let request = operation
                    .request(&app, &ann)
                    .header("content-type", &content_type);
                request.body(body.clone()).send().await
            };
            assert!(
                answer.status.is_success(),
                "{content_type}: {}",
                answer.text
            );
        }
        let patches = operation.method == "PATCH";
        let (other, code) = if patches {
            ("application/json", "unsupported_patch_type")
        } else {
            ("application/merge-patch+json", "unsupported_media_type")
        };
        for content_type in [
            None,
            Some(""),
            Some("json"),
            Some("text/plain"),
            Some("text/json"),
            Some("application/jsonp"),
            Some("application/problem+json"),
            Some(other),
            Some("application/json-patch+json"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some(&format!("text/plain; {media_type}")),
            Some(&format!("{media_type}, text/plain")),
        ] {
            for body in [body.as_str(), ""] {
                let mut request = operation.request(&app, &ann).body(body.to_owned());
                if let Some(content_type) = content_type {
                    request = request.header("content-type", content_type);
                }
                let answer = request.send().await;
                assert_eq!(answer.status, 415, "{content_type:?}");
                let accepted = answer.headers.get("accept-patch").cloned();
                assert_eq!(accepted.is_some_and(|types| types == media_type), patches);
                answer.problem(415, code);
            }
        }
    }
}

#[tokio::test]
async fn a_delete_needs_no_media_type() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for path in [&ann.mail_record, &ann.member] {
        app.delete(path).await.expect(204);
    }
}
