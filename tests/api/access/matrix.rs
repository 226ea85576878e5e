//! Each operation of the document, with each key.

use std::collections::BTreeSet;

use hyper::Method;
use member_mail::access_keys::scopes::SCOPES;

use crate::kit::{
    Answer, App,
    document::{Operation, Subject, operations},
    request::Request,
};

/// What needs no key. This list may only shrink.
const OPEN: [&str; 4] = [
    "GET /livez",
    "GET /problems",
    "GET /problems/{code}",
    "GET /readyz",
];

/// What needs no key and is no operation: the pages, and what they load. This list may only shrink.
const OPEN_PAGES: [&str; 4] = ["/", "/api-docs/openapi.json", "/swagger-ui", "/swagger-ui/"];

/// The scopes that an operation declares.
fn scopes(operation: &Operation) -> Option<Vec<&str>> {
    let [requirement] = &operation.says["security"].as_array()?[..] else {
        panic!("{}: not one requirement", operation.name());
    };
    let scopes = requirement["bearer"].as_array().expect("scopes").iter();
    Some(
        scopes
            .map(|scope| scope.as_str().expect("a scope"))
            .collect(),
    )
}

fn guarded() -> Vec<Operation> {
    let mut operations = operations();
    operations.retain(|operation| scopes(operation).is_some());
    operations
}

#[test]
fn the_open_operations_are_few_and_named() {
    let open = operations().into_iter();
    let open = open.filter(|operation| scopes(operation).is_none());
    let open: BTreeSet<_> = open.map(|operation| operation.name()).collect();
    assert_eq!(open, OPEN.map(str::to_owned).into());
    assert!(!guarded().is_empty());
}

/// So that nobody deletes with what is for reading.
#[test]
fn a_scope_says_what_its_operations_do() {
    for operation in guarded() {
        for scope in scopes(&operation).expect("scopes") {
            assert!(SCOPES.iter().any(|(name, _)| *name == scope), "{scope}");
            let action = scope.split(':').nth(1);
            let fits = match (&operation.method, action) {
                (_, None) => ["admin", "privacy"].contains(&scope),
                (&Method::GET, _) => action == Some("read"),
                (&Method::DELETE, _) => action == Some("delete") || scope == "suppressions:write",
                _ => action == Some("write"),
            };
            assert!(fits, "{}: {scope}", operation.name());
        }
    }
}

#[tokio::test]
async fn the_pages_are_open_and_all_else_is_not_there_without_a_key() {
    let mut app = App::start_with_key().await;
    app.key = None;
    for path in OPEN_PAGES {
        let answer = app.request(Method::GET, path).exchange().await;
        let (status, ..) = answer.expect("an answer");
        assert!(status.as_u16() < 400, "{path}: {status}");
    }
    for path in [
        "/api/v1/members/",
        "//api/v1/members",
        "/api/v1//members",
        "/API/v1/members",
        "/api/v1/member%73",
        "/api/v1/./members",
        "/swagger-ui/../api/v1/members",
        "/api/v1/access-keys/",
    ] {
        app.get(path).await.problem(404, "route_not_found");
    }
}

/// The operation on a subject of its own, with a body that is accepted.
async fn acceptable(app: &App, operation: &Operation) -> Request {
    let subject = Subject::create(app).await;
    operation.allow(app, &subject).await;
    let request = operation.request(app, &subject);
    match operation.media_type() {
        Some(_) => request.json(&operation.example_on(&subject)),
        None => request,
    }
}

/// Deletes what is in the way of the next subject.
async fn clear(app: &App) {
    sqlx::raw_sql("TRUNCATE members, suppressions CASCADE")
        .execute(&app.pool)
        .await
        .expect("empty");
}

fn challenge(answer: &Answer) -> &str {
    answer.header("www-authenticate")
}

#[tokio::test]
async fn an_operation_is_done_with_its_scopes_and_with_nothing_less() {
    let app = App::start_with_key().await;
    for operation in guarded() {
        let name = operation.name();
        let needed = scopes(&operation).expect("scopes");
        clear(&app).await;

        let request = acceptable(&app, &operation).await;
        let refused = request.without_key().send().await;
        assert_eq!(
            challenge(&refused),
            "Bearer realm=\"member-mail\"",
            "{name}"
        );
        refused.problem(401, "access_key_required");

        for missing in &needed {
            let mut others = SCOPES.map(|(scope, _)| scope).to_vec();
            others.retain(|scope| scope != missing);
            // All the others together, and each by itself.
            let singles = others.iter().map(|scope| vec![*scope]);
            for held in singles.chain([others.clone()]) {
                let key = app.access_key(&held).await.key;
                clear(&app).await;
                let request = acceptable(&app, &operation).await;
                let refused = request.with_key(&key).send().await;
                assert_eq!(
                    challenge(&refused),
                    format!(
                        "Bearer realm=\"member-mail\", error=\"insufficient_scope\", scope=\"{}\"",
                        needed.join(" ")
                    ),
                    "{name} with {held:?}"
                );
                refused.problem(403, "insufficient_scope");
            }
        }

        let key = app.access_key(&needed).await.key;
        clear(&app).await;
        let request = acceptable(&app, &operation).await;
        let answer = request.with_key(&key).send().await;
        assert!(answer.status.is_success(), "{name}: {answer:?}");
    }
}

/// HEAD is GET without the body (RFC 9110, section 9.3.2), and no way around its scope.
#[tokio::test]
async fn head_needs_what_get_needs() {
    let app = App::start_with_key().await;
    let subject = Subject::create(&app).await;
    let mut reads = guarded();
    reads.retain(|operation| operation.method == Method::GET);
    for operation in reads {
        let needed = scopes(&operation).expect("scopes");
        let held: Vec<_> = SCOPES.iter().map(|(scope, _)| *scope).collect();
        let held: Vec<_> = held
            .into_iter()
            .filter(|scope| !needed.contains(scope))
            .collect();
        let key = app.access_key(&held).await.key;
        let ask = || app.request(Method::HEAD, &operation.path_on(&subject));
        for (request, wanted) in [(ask().without_key(), 401), (ask().with_key(&key), 403)] {
            let (status, ..) = request.exchange().await.expect("an answer");
            assert_eq!(status, wanted, "{}", operation.name());
        }
    }
}
