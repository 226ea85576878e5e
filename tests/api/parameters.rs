//! Parameters in path and query that are refused, on every operation that has them.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{
    Answer, App, Wire,
    document::{Operation, Subject, api_operations, fill},
    lists::lists,
};

/// Sends `operation` with what stands behind its path.
async fn send(app: &App, operation: &Operation, path: &str, query: &str) -> Answer {
    let mut request = app.request(operation.method.clone(), &format!("{path}{query}"));
    if operation.says["requestBody"].is_object() {
        request = request.json(&operation.example().into());
    }
    request.send().await
}

/// Each operation with each of its query's parameters.
fn query_parameters() -> Vec<(Operation, String)> {
    let parameters: Vec<_> = api_operations()
        .into_iter()
        .flat_map(|operation| {
            let names = operation.parameters("query");
            names.into_iter().map(move |name| (operation.clone(), name))
        })
        .collect();
    assert!(parameters.len() >= 20);
    parameters
}

fn names(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().expect("errors");
    errors
        .iter()
        .map(|error| error["parameter"].as_str().expect("a parameter"))
        .collect()
}

const BAD_IDS: [&str; 12] = [
    "1",
    "ann",
    "018cc251-f400-7000-8000-00000000000",
    "018cc251-f400-7000-8000-0000000000011",
    "018cc251-f400-7000-8000-00000000000g",
    "018cc251f40070008000000000000001",
    "%7B018cc251-f400-7000-8000-000000000001%7D",
    "urn:uuid:018cc251-f400-7000-8000-000000000001",
    "%20018cc251-f400-7000-8000-000000000001",
    "%00",
    "%zz",
    "%ff",
];

#[tokio::test]
async fn a_bad_id_in_the_path_is_named() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let mut tried = 0;
    for operation in api_operations() {
        let ids = operation.parameters("path");
        for name in ids
            .into_iter()
            .filter(|name| name.ends_with("id") && name != "external_id")
        {
            for bad in BAD_IDS {
                let path = fill(&operation.path, |parameter| {
                    if parameter.name == name {
                        bad.to_owned()
                    } else {
                        ann.value(&parameter).to_owned()
                    }
                });
                let answer = send(&app, &operation, &path, "").await;
                let code = answer.error_at(400, "invalid_parameter", &name);
                assert_eq!(code, "invalid", "{}: {bad}", operation.name());
                tried += 1;
            }
        }
    }
    assert!(tried >= 10 * BAD_IDS.len());
}

#[tokio::test]
async fn two_bad_ids_in_the_path_are_both_named() {
    let app = App::start().await;
    for operation in api_operations() {
        let ids = operation.parameters("path");
        if ids.len() < 2 {
            continue;
        }
        let path = fill(&operation.path, |_| "x".to_owned());
        let problem = send(&app, &operation, &path, "").await;
        let problem = problem.problem(400, "invalid_parameter");
        let mut named = names(&problem);
        named.sort_unstable();
        let mut ids = ids.clone();
        ids.sort_unstable();
        assert_eq!(named, ids);
    }
}

#[tokio::test]
async fn an_id_may_be_written_in_upper_case() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let path = format!("/api/v1/members/{}", ann.member_id.to_uppercase());
    let read = app.get(&path).await.expect(200);
    assert_eq!(read.body["id"], ann.member_id.as_str());
}

#[tokio::test]
async fn a_repeated_parameter_is_named() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (operation, name) in query_parameters() {
        for query in [
            format!("?{name}=1&{name}=1"),
            format!("?{name}=1&{name}=2"),
            format!("?{name}&{name}"),
            format!("?{name}=1&%{:02x}{}=1", name.as_bytes()[0], &name[1..]),
        ] {
            let answer = send(&app, &operation, &operation.path_on(&ann), &query).await;
            let problem = answer.problem(400, "invalid_parameter");
            let errors = problem["errors"].as_array().expect("errors");
            assert!(
                errors
                    .iter()
                    .any(|error| error["parameter"] == *name && error["code"] == "repeated"),
                "{query}: {problem}"
            );
        }
    }
}

#[tokio::test]
async fn an_empty_value_is_refused_and_never_taken_for_no_filter() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (operation, name) in query_parameters() {
        for query in [
            format!("?{name}="),
            format!("?{name}"),
            format!("?{name}=%20"),
            format!("?{name}=+"),
            format!("?&{name}=&"),
        ] {
            let answer = send(&app, &operation, &operation.path_on(&ann), &query).await;
            answer.error_at(400, "invalid_parameter", &name);
        }
    }
}

#[tokio::test]
async fn a_value_that_is_not_percent_encoded_utf_8_is_refused() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (operation, name) in query_parameters() {
        for value in [
            "%",
            "%2",
            "%zz",
            "a%",
            "100%",
            "%%20",
            "%+1",
            "%ff",
            "%c3%28",
            "%ed%a0%80",
            "%00",
        ] {
            let query = format!("?{name}={value}");
            let answer = send(&app, &operation, &operation.path_on(&ann), &query).await;
            answer.error_at(400, "invalid_parameter", &name);
        }
    }
}

#[tokio::test]
async fn an_unknown_parameter_is_named_whatever_its_name() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in api_operations() {
        for (query, name) in [
            ("?verbose=1", "verbose"),
            ("?verbose", "verbose"),
            ("?=1", ""),
            ("?Limit=1", "Limit"),
            ("?limit%20=1", "limit "),
            ("?limit%00=1", "limit\0"),
            ("?limit[]=1", "limit[]"),
            ("?%F0%9F%98%80=1", "😀"),
            ("?a;b=1", "a;b"),
            ("?a=b=c", "a"),
        ] {
            let answer = send(&app, &operation, &operation.path_on(&ann), query).await;
            let code = answer.error_at(400, "invalid_parameter", name);
            assert_eq!(code, "unknown", "{query}");
        }
        for query in ["?%ff=1", "?%zz=1"] {
            let answer = send(&app, &operation, &operation.path_on(&ann), query).await;
            let problem = answer.problem(400, "invalid_parameter");
            assert_eq!(names(&problem).len(), 1);
        }
    }
}

#[tokio::test]
async fn every_parameter_that_is_wrong_is_named_at_once() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in api_operations() {
        let mut known = operation.parameters("query");
        if known.is_empty() {
            continue;
        }
        // One that is unknown among them.
        known.push("verbose".to_owned());
        known.sort_unstable();
        let query: Vec<_> = known.iter().map(|name| format!("{name}=%20")).collect();
        let query = format!("?{}", query.join("&"));
        let answer = send(&app, &operation, &operation.path_on(&ann), &query).await;
        let problem = answer.problem(400, "invalid_parameter");
        let mut named = names(&problem);
        named.sort_unstable();
        assert_eq!(named, known);
    }
}

#[tokio::test]
async fn a_hundred_wrong_parameters_are_named_and_no_more() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in api_operations() {
        let path = operation.path_on(&ann);
        let answer = send(&app, &operation, &path, &format!("?{}", "a&".repeat(3_000))).await;
        let problem = answer.problem(400, "invalid_parameter");
        assert_eq!(names(&problem).len(), 100);
    }
}

#[tokio::test]
async fn numbers_of_rows_and_pages_are_whole_and_within_their_bounds() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let mut seen = 0;
    for (operation, name) in query_parameters() {
        if !["limit", "page", "size"].contains(&name.as_str()) {
            continue;
        }
        seen += 1;
        let path = operation.path_on(&ann);
        for value in [
            "-1",
            "0",
            "9223372036854775808",
            "1e3",
            "1.0",
            "0x10",
            "%20",
            "",
            "%2B5",
            "+5",
            "5%20",
            "5,0",
            "NaN",
            "null",
            "%D9%A5",
            "%EF%BC%95",
        ] {
            let answer = send(&app, &operation, &path, &format!("?{name}={value}")).await;
            let code = answer.error_at(400, "invalid_parameter", &name);
            assert_eq!(code, "out_of_range", "{value}");
        }
        for value in ["1", "007", "%31"] {
            let answer = send(&app, &operation, &path, &format!("?{name}={value}")).await;
            answer.expect(200);
        }
        if name == "page" {
            continue;
        }
        for value in ["501", "65537"] {
            let answer = send(&app, &operation, &path, &format!("?{name}={value}")).await;
            answer.error_at(400, "invalid_parameter", &name);
        }
        let answer = send(&app, &operation, &path, &format!("?{name}=500")).await;
        answer.expect(200);
    }
    // Each list has all three, and a member's newest mail has a limit.
    assert_eq!(seen, 3 * lists().len() + 1);
}

#[tokio::test]
async fn a_path_that_is_not_percent_encoded_is_refused() {
    let app = App::start().await;
    for key in ["%zz", "a%", "%4"] {
        let path = format!("/api/v1/members/by-external-id/{key}");
        let request = format!(
            "PUT {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        let reply = Wire::exchange(app.address, &request).await;
        reply.problem(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn one_path_is_one_path_however_it_is_spelled() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let (base, id) = ann.rsplit_once('/').expect("an id");
    let escaped = format!("%{:02x}{}", id.as_bytes()[0], &id[1..]);
    let mut texts = Vec::new();
    for id in [id.to_owned(), id.to_uppercase(), escaped] {
        let path = format!("{base}/{id}/mail-records");
        let request = app
            .request(Method::POST, &path)
            .header("idempotency-key", "k");
        texts.push(
            request
                .json(&json!({"subject": "Hi"}))
                .send()
                .await
                .expect(201)
                .text,
        );
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
}
