//! The URL under which clients reach the service.

use axum::{Router, body::Body, http::header::LINK, routing::get};
use hyper::{Method, Request};
use member_mail::{http::edge::Edge, values::PublicUrl};
use serde_json::json;
use tower::ServiceExt;

use crate::kit::{App, Settings};

const PUBLIC_URL: &str = "https://api.example.org/mail";

#[tokio::test]
async fn what_refers_to_the_service_does_so_by_its_public_url() {
    let app = App::start_with(Settings {
        public_url: PUBLIC_URL.to_owned(),
        ..Settings::default()
    })
    .await;
    let location = app
        .post("/api/v1/members", json!({"name": "Ann"}))
        .await
        .created();
    let path = location.strip_prefix(PUBLIC_URL).expect("an absolute URI");
    app.get(path).await.expect(200);

    app.post("/api/v1/members", json!({"name": "Bob"}))
        .await
        .created();
    let list = app.get("/api/v1/members?limit=1").await.expect(200);
    let next = format!("<{PUBLIC_URL}/api/v1/members?");
    assert!(list.header("link").contains(&next), "{list:?}");
    assert!(!list.header("link").contains("</"), "{list:?}");

    let problem = app.get("/nothing").await.problem(404, "route_not_found");
    let kind = format!("{PUBLIC_URL}/problems/route_not_found");
    assert_eq!(problem["type"], kind);
    let listed = app.get("/problems").await.expect(200).body;
    for kind in listed["data"].as_array().expect("kinds") {
        let uri = kind["type"].as_str().expect("a URI");
        let path = uri.strip_prefix(PUBLIC_URL).expect("an absolute URI");
        assert_eq!(&app.get(path).await.expect(200).body, kind);
    }
}

#[tokio::test]
async fn the_targets_of_links_are_absolute_too() {
    for (public_url, expected) in [
        (
            PUBLIC_URL,
            "<https://api.example.org/mail/a?cursor=b>; rel=\"next\", \
             <https://api.example.org/mail/a>; rel=\"first\"",
        ),
        ("", "</a?cursor=b>; rel=\"next\", </a>; rel=\"first\""),
    ] {
        let links = "</a?cursor=b>; rel=\"next\", </a>; rel=\"first\"";
        let app = Router::new().route("/a", get(async move || [(LINK, links)]));
        let edge = Edge {
            public_url: PublicUrl::new(public_url),
            ..Edge::default()
        };
        let request = Request::get("/a").body(Body::empty()).expect("a request");
        let answer = edge.around(app).oneshot(request).await.expect("an answer");
        assert_eq!(answer.headers()["link"], expected);
    }
}

#[tokio::test]
async fn what_is_relative_to_a_document_stays_so() {
    let app = App::start_with(Settings {
        public_url: PUBLIC_URL.to_owned(),
        ..Settings::default()
    })
    .await;
    let redirect = app.get("/swagger-ui").await.expect(308);
    assert_eq!(redirect.header("location"), "swagger-ui/");
    let document = app.get("/api-docs/openapi.json").await.expect(200).body;
    assert_eq!(document["servers"][0]["url"], "..");
}

#[tokio::test]
async fn without_one_references_begin_at_the_root() {
    let app = App::start().await;
    let body = json!({"name": "Ann"});
    let location = app.post("/api/v1/members", body).await.created();
    assert!(location.starts_with("/api/v1/members/"), "{location}");
    let problem = app.get("/nothing").await.problem(404, "route_not_found");
    assert_eq!(problem["type"], "/problems/route_not_found");
    let request = app.request(Method::GET, "/problems/route_not_found");
    let kind = request.send().await.expect(200).body;
    assert_eq!(kind["type"], problem["type"]);
}
