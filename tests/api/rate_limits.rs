//! How many requests each client may send, and how many keys that open nothing.

use hyper::Method;
use serde_json::json;

use crate::kit::{
    Answer, App, Settings,
    document::{ACCESS_KEYS, DOCUMENT, Subject, api_operations},
    request::Request,
};

const MEMBERS: &str = "/api/v1/members";
/// Few, and more than a test sends to prepare.
const PER_SECOND: u32 = 20;

async fn start(trusted_proxies: &[&str]) -> App {
    let trusted = trusted_proxies.iter().map(|network| network.parse());
    App::start_with(Settings {
        rate_limit: PER_SECOND,
        failed_sign_ins: 3,
        trusted_proxies: trusted.collect::<Result<_, _>>().expect("networks"),
        ..Settings::default()
    })
    .await
}

fn list(app: &App) -> Request {
    app.request(Method::GET, MEMBERS)
}

/// Sends requests until one is refused; each is told its number. While that goes on some are let in again,
/// but far fewer than are sent.
async fn until_refused(request: impl Fn(usize) -> Request) -> Answer {
    for number in 0..5_000 {
        let answer = request(number).send().await;
        if answer.status == 429 {
            return answer;
        }
    }
    panic!("never refused");
}

#[tokio::test]
async fn who_sends_too_much_is_told_how_much_is_allowed_and_when_to_come_back() {
    let app = start(&[]).await;
    let first = app.get(MEMBERS).await.expect(200);
    assert_eq!(first.header("ratelimit-policy"), "\"default\";q=20;w=1");
    assert_eq!(first.header("ratelimit"), "\"default\";r=19;t=1");

    let refused = until_refused(|_| list(&app)).await;
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(refused.header("ratelimit-policy"), "\"default\";q=20;w=1");
    assert_eq!(refused.header("ratelimit"), "\"default\";r=0;t=1");
    refused.problem(429, "rate_limited");

    for path in ["/livez", "/", "/api-docs/openapi.json"] {
        for _ in 0..2 * PER_SECOND {
            let answer = app.get(path).await.expect(200);
            assert!(!answer.headers.contains_key("ratelimit"), "{path}");
        }
    }
}

#[tokio::test]
async fn every_answer_of_the_api_says_how_much_is_left() {
    let settings = Settings {
        rate_limit: 1_000_000,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = Subject::create(&app).await;
    for operation in api_operations() {
        let right = operation.request(&app, &ann).send().await;
        let refused = operation.request(&app, &ann).with_key("x").send().await;
        for answer in [right, refused.expect(401)] {
            assert!(answer.headers.contains_key("ratelimit"), "{answer:?}");
        }
        let refused = &operation.says["responses"]["429"];
        for name in ["RateLimit", "RateLimit-Policy", "Retry-After"] {
            assert!(refused["headers"][name].is_object(), "{refused}");
        }
    }
    for (method, path) in [(Method::GET, "/api/v1/nothing"), (Method::DELETE, MEMBERS)] {
        let answer = app.request(method, path).send().await;
        assert!(answer.headers.contains_key("ratelimit"), "{answer:?}");
    }
    let names = DOCUMENT["components"]["headers"].as_object();
    assert_eq!(names.expect("headers").len(), 2);
}

#[tokio::test]
async fn without_a_limit_nothing_is_said_of_one() {
    let app = App::start().await;
    let answer = app.get(MEMBERS).await.expect(200);
    assert!(!answer.headers.contains_key("ratelimit"));
    assert!(!answer.headers.contains_key("ratelimit-policy"));
}

#[tokio::test]
async fn each_key_is_counted_by_itself_and_so_is_who_has_none() {
    let mut app = start(&[]).await;
    let made = app.access_key(&["admin"]).await;
    app.key = Some(made.key);
    let (one, other) = (
        app.access_key(&["members:read"]).await.key,
        app.access_key(&["members:read"]).await.key,
    );
    until_refused(|_| list(&app).with_key(&one)).await;
    let answer = list(&app).with_key(&other).send().await.expect(200);
    assert_eq!(answer.header("ratelimit"), "\"default\";r=19;t=1");
    // Not even to be told that a key is needed.
    let refused = until_refused(|_| list(&app).without_key()).await;
    refused.problem(429, "rate_limited");
    list(&app).with_key(&other).send().await.expect(200);
    // What the key does not allow counts as well, and as the key's.
    let suppressions = |_| app.request(Method::GET, "/api/v1/suppressions");
    until_refused(|number| suppressions(number).with_key(&other)).await;
}

#[tokio::test]
async fn what_a_client_says_of_its_address_is_not_believed() {
    let app = start(&[]).await;
    let from = |number| format!("192.0.2.{}", number % 250);
    until_refused(|number| list(&app).header("x-forwarded-for", from(number))).await;
}

#[tokio::test]
async fn each_address_behind_a_trusted_proxy_is_counted_by_itself() {
    let app = start(&["127.0.0.0/8"]).await;
    let from = |address: &str| list(&app).header("x-forwarded-for", address);
    let fresh = async |address: &str| {
        let answer = from(address).send().await.expect(200);
        answer.header("ratelimit") == "\"default\";r=19;t=1"
    };
    until_refused(|_| from("192.0.2.1")).await;
    assert!(fresh("192.0.2.2").await);
    assert!(fresh("2001:db8::1").await);
    // What a client wrote itself stands before what the proxy adds.
    until_refused(|number| from(&format!("198.51.100.{}, 192.0.2.3", number % 250))).await;
    until_refused(|number| from(&format!("2001:db8::{number:x}"))).await;
    assert!(fresh("2001:db8:0:1::1").await);
    assert!(fresh("198.51.100.1").await);
}

#[tokio::test]
async fn an_address_from_which_keys_opened_nothing_is_asked_to_wait() {
    let mut app = start(&["127.0.0.0/8"]).await;
    let made = app.access_key(&["admin"]).await;
    app.key = Some(made.key);
    let in_use = app.access_key(&["members:read"]).await.key;
    list(&app).with_key(&in_use).send().await.expect(200);
    let unused = app.access_key(&["members:read"]).await.key;
    let wrong = format!("{in_use}0");
    let from = |address, key: &str| {
        let request = list(&app).with_key(key);
        request.header("x-forwarded-for", address).send()
    };

    for _ in 0..2 {
        from("192.0.2.1", &wrong).await.expect(401);
        // No key at all is no failure.
        let request = list(&app).without_key();
        let request = request.header("x-forwarded-for", "192.0.2.1");
        request.send().await.expect(401);
    }
    from("192.0.2.1", "x").await.expect(401);
    for key in [&wrong, "x", &unused] {
        let refused = from("192.0.2.1", key).await;
        let seconds: u32 = refused.header("retry-after").parse().expect("seconds");
        assert!((1..=60).contains(&seconds));
        refused.problem(429, "too_many_failed_sign_ins");
    }
    from("192.0.2.1", &in_use).await.expect(200);
    from("192.0.2.2", &wrong).await.expect(401);
    from("192.0.2.2", &unused).await.expect(200);
    // Now it is in use.
    from("192.0.2.1", &unused).await.expect(200);
}

#[tokio::test]
async fn a_key_that_was_revoked_is_not_in_use() {
    let mut app = start(&["127.0.0.0/8"]).await;
    let made = app.access_key(&["admin"]).await;
    app.key = Some(made.key);
    let key = app.access_key(&["members:read"]).await;
    let read = async || {
        let request = list(&app).with_key(&key.key);
        let request = request.header("x-forwarded-for", "192.0.2.1");
        request.send().await
    };
    read().await.expect(200);
    app.post(ACCESS_KEYS, json!({"name": "x", "scopes": ["admin"]}))
        .await
        .expect(201);
    read().await.expect(200);
    app.act(&format!("{}/revoke", key.path)).await.expect(200);
    for _ in 0..3 {
        read().await.problem(401, "invalid_access_key");
    }
    read().await.problem(429, "too_many_failed_sign_ins");
}

#[tokio::test]
async fn the_database_is_not_asked_for_the_keys_of_who_is_to_wait() {
    let settings = Settings {
        failed_sign_ins: 1,
        ..Settings::default()
    };
    let (app, shim) = App::start_over_shim(settings).await;
    let key = app.access_key(&["members:read"]).await.key;
    list(&app).with_key("x").send().await.expect(401);
    let sent = shim.sent();
    for _ in 0..10 {
        let refused = list(&app).with_key(&key).send().await;
        refused.problem(429, "too_many_failed_sign_ins");
    }
    assert_eq!(shim.sent(), sent);
}
