//! Paths and methods that the service does not have.

use std::collections::BTreeSet;

use hyper::Method;

use crate::kit::{
    App, Wire,
    document::{DOCUMENT, Subject, operations},
};

/// Everything that is served, and the methods for which it is, from the document and beside it.
fn routes() -> Vec<(String, BTreeSet<String>)> {
    let of_document = DOCUMENT["paths"].as_object().expect("paths");
    let mut routes: Vec<_> = of_document
        .iter()
        .map(|(path, item)| {
            let methods = item.as_object().expect("operations").keys();
            (
                path.clone(),
                methods.map(|method| method.to_uppercase()).collect(),
            )
        })
        .collect();
    for path in [
        "/api-docs/openapi.json",
        "/swagger-ui",
        "/swagger-ui/",
        "/swagger-ui/index.html",
        "/",
        "/page/page.mjs",
    ] {
        routes.push((path.to_owned(), BTreeSet::from(["GET".to_owned()])));
    }
    for (_, methods) in &mut routes {
        if methods.contains("GET") {
            methods.insert("HEAD".to_owned());
        }
    }
    routes
}

#[tokio::test]
async fn a_path_that_is_not_there_is_a_problem() {
    let app = App::start().await;
    let Subject {
        member,
        mail_record,
        ..
    } = Subject::create(&app).await;
    let paths = [
        "//".to_owned(),
        "/api".to_owned(),
        "/api/v1".to_owned(),
        "/api/v1/".to_owned(),
        "/api/v2/members".to_owned(),
        "/API/v1/members".to_owned(),
        "/api/v1/members/".to_owned(),
        "//api/v1/members".to_owned(),
        "/api//v1/members".to_owned(),
        "/api/v1/members/../members".to_owned(),
        "/api/v1/members%2F".to_owned(),
        "/api/v1/mail_records".to_owned(),
        "/api/v1/members%ff".to_owned(),
        "/api/v1/%zz".to_owned(),
        format!("{member}/"),
        format!("{member}/mail-records/"),
        format!("{member}/with-mail-records/"),
        format!("{member}/unknown"),
        format!("{mail_record}/"),
        format!("{mail_record}/opens"),
        "/page".to_owned(),
        "/page/".to_owned(),
        "/page/page.mjs/".to_owned(),
        "/page/mod.rs".to_owned(),
        "/page/no-such-file.mjs".to_owned(),
        "/swagger-ui/no-such-file.js".to_owned(),
        "/swagger-ui/../Cargo.toml".to_owned(),
        "/api-docs".to_owned(),
        "/livez/".to_owned(),
    ];
    for path in &paths {
        for method in [
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::DELETE,
        ] {
            let file = path.starts_with("/swagger-ui/") || path.starts_with("/page/");
            if file && !method.is_safe() {
                continue;
            }
            let head = method == Method::HEAD;
            let answer = app.request(method, path).send().await;
            if head {
                assert_eq!(answer.status, 404, "{path}");
                assert!(answer.text.is_empty());
                assert_eq!(answer.header("content-type"), "application/problem+json");
            } else {
                answer.problem(404, "route_not_found");
            }
        }
    }
}

#[tokio::test]
async fn swagger_ui_finds_everything_that_it_loads() {
    let app = App::start().await;
    let page = app.get("/swagger-ui/").await.expect(200).text;
    let loaded = page.split([' ', '\n']).filter_map(|text| {
        let reference = text
            .strip_prefix("src=\"")
            .or_else(|| text.strip_prefix("href=\""));
        reference?.split('"').next()
    });
    let mut count = 0;
    for file in loaded {
        let path = format!("/swagger-ui/{}", file.trim_start_matches("./"));
        let (status, ..) = app
            .request(Method::GET, &path)
            .exchange()
            .await
            .expect("an answer");
        assert_eq!(status, 200, "{path}");
        count += 1;
    }
    assert_eq!(count, 7, "{page}");
}

#[tokio::test]
async fn a_method_that_is_not_there_is_answered_with_those_that_are() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (template, methods) in routes() {
        let path = ann.fill(&template);
        for method in [
            "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get",
            "X",
        ] {
            if methods.contains(method) {
                continue;
            }
            let method: Method = method.parse().expect("a method");
            let head = method == Method::HEAD;
            let answer = app.request(method.clone(), &path).send().await;
            let allowed: BTreeSet<String> = answer
                .header("allow")
                .split(',')
                .map(|method| method.trim().to_owned())
                .collect();
            assert_eq!(allowed, methods, "{method} {path}");
            if head {
                assert_eq!(answer.status, 405);
            } else {
                answer.problem(405, "method_not_allowed");
            }
        }
    }
}

#[tokio::test]
async fn head_is_answered_as_get_but_for_the_body_failures_too() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in operations() {
        if operation.method != Method::GET {
            continue;
        }
        for query in ["", "?limit=0", "?verbose=1"] {
            let path = format!("{}{query}", operation.path_on(&ann));
            let get = app.get(&path).await;
            let request = format!("HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            let head = Wire::exchange(app.address, &request).await;
            assert_eq!(head.status, get.status, "{path}");
            assert_eq!(head.text, "", "{path}");
            assert_eq!(head.headers["content-type"], get.header("content-type"));
        }
    }
}

#[tokio::test]
async fn a_target_in_another_form_is_answered_too() {
    let app = App::start().await;
    let get = |target: &str| format!("{target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let absolute = Wire::exchange(app.address, &get("GET http://x/api/v1/members")).await;
    assert_eq!(absolute.status, 200);
    let page = Wire::exchange(app.address, &get("GET http://x")).await;
    assert_eq!(page.status, 200);
    for target in ["OPTIONS *", "CONNECT example.org:80"] {
        let answer = Wire::exchange(app.address, &get(target)).await;
        answer.problem(404, "route_not_found");
    }
}
