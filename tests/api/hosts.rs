//! The names by which the service is called.

use hyper::Method;
use serde_json::json;

use crate::kit::{App, Settings};

#[tokio::test]
async fn a_page_that_lets_its_name_point_here_is_refused() {
    let settings = Settings {
        allowed_hosts: Some(vec!["mail.example.org".to_owned()]),
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = app.member("ann").await;
    for path in ["/api/v1/members", &ann, "/swagger-ui/", "/nothing"] {
        let request = app.request(Method::GET, path);
        let request = request.header("host", "evil.example:8080");
        request.send().await.problem(421, "unknown_host");
    }
    let request = app.request(Method::POST, "/api/v1/members");
    let request = request
        .header("host", "evil.example")
        .json(&json!({"name": "Bob"}));
    request.send().await.problem(421, "unknown_host");
    let listed = app.get("/api/v1/members").await.expect(200);
    assert_eq!(listed.ids().len(), 1);

    for host in ["localhost", "127.0.0.1:1", "[::1]", "mail.example.org:443"] {
        let request = app.request(Method::GET, &ann).header("host", host);
        request.send().await.expect(200);
    }
}
