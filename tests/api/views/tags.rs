//! Entity tags, caches and replays across views.

use hyper::Method;
use serde_json::json;

use super::{marked, start_hiding};
use crate::kit::{App, document::Subject, views::hiding};

const MEMBERS: &str = "/api/v1/members";

#[tokio::test]
async fn a_tag_is_of_one_view_and_304_never_crosses_them() {
    let (app, partner) = start_hiding(&["members.birth"]).await;
    let subject = marked(&app).await;
    let read = |key: Option<&String>, query: &str, tag: Option<&str>| {
        let mut request = app.request(Method::GET, &format!("{}{query}", subject.member));
        if let Some(key) = key {
            request = request.with_key(key);
        }
        if let Some(tag) = tag {
            request = request.header("if-none-match", tag);
        }
        request.send()
    };
    let asked = [
        (None, ""),
        (Some(&partner), ""),
        (None, "?fields=name"),
        (Some(&partner), "?fields=name,tags"),
    ];
    let mut tags = Vec::new();
    for (key, query) in asked {
        let answer = read(key, query, None).await.expect(200);
        assert_eq!(answer.header("cache-control"), "private, no-cache");
        let vary: Vec<_> = answer.headers.get_all("vary").iter().collect();
        assert!(
            vary.iter()
                .any(|line| *line == "authorization, client-platform"),
            "{vary:?}"
        );
        tags.push(answer.header("etag").to_owned());
    }
    assert_eq!(tags[0], "\"1\"");
    for (at, (key, query)) in asked.into_iter().enumerate() {
        for (of, tag) in tags.iter().enumerate() {
            let answer = read(key, query, Some(tag)).await;
            assert_eq!(answer.status == 304, at == of, "{tag} for {query}");
            let encoded = tag.trim_end_matches('"').to_owned() + "-gzip\"";
            let answer = read(key, query, Some(&encoded)).await;
            assert_eq!(answer.status == 304, at == of, "{encoded} for {query}");
        }
    }
}

#[tokio::test]
async fn if_match_takes_the_version_whatever_the_view() {
    let (app, partner) = start_hiding(&["members.birth"]).await;
    let subject = Subject::create(&app).await;
    let request = app.request(Method::GET, &subject.member).with_key(&partner);
    let tag = request.send().await.expect(200).header("etag").to_owned();
    let change = |key: &str, tag: &str, name: &str| {
        let request = app.patch_request(&subject.member, &json!({"name": name}));
        request.with_key(key).header("if-match", tag).send()
    };
    let everything = app.key.clone().expect("a key");
    change(&everything, &tag, "b").await.expect(200);
    change(&partner, &tag, "c")
        .await
        .problem(412, "precondition_failed");
    let changed = change(&partner, "\"2\"", "c").await.expect(200);
    assert!(
        changed.header("etag").starts_with("\"3-"),
        "{:?}",
        changed.headers
    );
    let request = app.request(Method::GET, &subject.member);
    request
        .header("if-match", changed.header("etag"))
        .send()
        .await
        .expect(200);
    for strange in ["\"3-\"", "\"3-0123456g\"", "\"3-br\"", "\"-01234567\""] {
        change(&partner, strange, "d")
            .await
            .problem(412, "precondition_failed");
    }
}

#[tokio::test]
async fn a_tag_tells_that_something_changed_and_not_what() {
    let (app, partner) = start_hiding(&["members.birth", "members.updated_at"]).await;
    let subject = Subject::create(&app).await;
    let read = || {
        app.request(Method::GET, &subject.member)
            .with_key(&partner)
            .send()
    };
    let before = read().await.expect(200);
    app.patch(&subject.member, json!({"birth": "1950-01-01"}))
        .await
        .expect(200);
    let after = read().await.expect(200);
    let (_, view) = before.header("etag").split_once('-').expect("a view");
    assert_eq!(after.header("etag"), format!("\"2-{view}"));
    let mut wanted = before.body;
    wanted["version"] = json!(2);
    assert_eq!(after.body, wanted);
}

#[tokio::test]
async fn an_answer_is_not_repeated_to_another_view() {
    let views = format!(
        "[platforms]\nios = \"app\"\nweb = \"everything\"\n{}",
        hiding("app", &["members.joined"])
    );
    let app = App::start_with_views(views).await;
    let subject = Subject::create(&app).await;
    let batch = json!({"items": [{"name": "a"}]});
    let event = json!({"type": "opened"});
    for (path, body) in [
        (MEMBERS.to_owned(), json!({"name": "a"})),
        (format!("{MEMBERS}/batch"), batch),
        (format!("{}/events", subject.mail_record), event),
    ] {
        let send = |platform: &str| {
            let request = app.request(Method::POST, &path).json(&body);
            request
                .header("idempotency-key", "one")
                .header("client-platform", platform)
                .send()
        };
        let first = send("web").await;
        assert!(first.status.is_success(), "{}", first.text);
        let again = send("web").await;
        assert_eq!(again.body, first.body);
        let other = send("ios").await;
        assert_eq!(other.header("idempotency-replayed"), "true");
        let status = if first.status == 200 { 204 } else { 201 };
        assert_eq!(other.expect(status).text, "", "{path}");
    }
    let members = app.get(MEMBERS).await.ids();
    assert_eq!(members.len(), 3);
}

#[tokio::test]
async fn what_is_repeated_to_the_same_view_hides_the_same() {
    let (app, partner) = start_hiding(&["members.joined"]).await;
    let send = || {
        let request = app.request(Method::POST, MEMBERS).with_key(&partner);
        let request = request
            .header("idempotency-key", "one")
            .json(&json!({"name": "a"}));
        request.send()
    };
    let (first, again) = (send().await.expect(201), send().await.expect(201));
    assert!(first.body.get("joined").is_none(), "{}", first.text);
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("etag"), first.header("etag"));
    // The key of another caller is another key.
    let request = app
        .request(Method::POST, MEMBERS)
        .header("idempotency-key", "one");
    let other = request.json(&json!({"name": "a"})).send().await.expect(201);
    assert_ne!(other.body["id"], first.body["id"]);
    let minimal = app.request(Method::POST, MEMBERS).with_key(&partner);
    let minimal = minimal
        .header("prefer", "return=minimal")
        .json(&json!({"name": "b"}));
    assert_eq!(minimal.send().await.expect(201).text, "");
}
