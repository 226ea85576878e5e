//! Files of views, and the keys that have one.

use member_mail::{app::RESOURCES, http::views::Views};
use serde_json::{Value, json};

use crate::kit::{App, document::ACCESS_KEYS, log::Log, views::hiding};

const MEMBERS: &str = "/api/v1/members";

#[test]
fn what_is_declared_of_views_names_what_is_there() {
    let log = Log::capture();
    assert!(!member_mail::app::openapi().paths.paths.is_empty());
    assert_eq!(log.text(), "");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_the_nearest_name() {
    let right = hiding("partner", &["members.birth"]);
    Views::parse(&right, &RESOURCES).expect("right");
    for (from, to, fault) in [
        (
            "\"name\"",
            "\"nmae\"",
            "views.partner.members: there is no field \"nmae\"; the nearest is `name`",
        ),
        (
            "members = ",
            "member = ",
            "views.partner: there is no resource \"member\"; the nearest is `members`",
        ),
        ("suppressions = ", "suppressions = 1 #", "line 7: "),
        (
            "[views.\"partner\"]",
            "[views.everything]",
            "views.everything is there already",
        ),
        (
            "[views.\"partner\"]",
            "[platforms]\nios = \"partne\"\n[views.\"partner\"]",
            "platforms.ios: there is no view \"partne\"; the nearest is `partner`",
        ),
        ("[views.\"partner\"]", "[view.partner]", "line 1: "),
        (
            "[views.\"partner\"]",
            "[views.\"a b\"]",
            "\"a b\" cannot be the name of a view",
        ),
    ] {
        let wrong = right.replace(from, to);
        assert_ne!(wrong, right);
        let error = Views::parse(&wrong, &RESOURCES).expect_err(&wrong);
        assert!(error.starts_with(fault), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let lines = right.lines().filter(|line| !line.starts_with("consents"));
    let error =
        Views::parse(&lines.collect::<Vec<_>>().join("\n"), &RESOURCES).expect_err("missing");
    assert!(
        error.starts_with("views.partner does not name \"consents\""),
        "{error}"
    );
    let all = right.lines().map(|line| match line.split_once(" = ") {
        Some((name, _)) => format!("{name} = \"*\""),
        None => line.to_owned(),
    });
    Views::parse(&all.collect::<Vec<_>>().join("\n"), &RESOURCES).expect("everything");
}

#[test]
fn the_file_that_the_documentation_shows_is_right() {
    let documentation = include_str!("../../../docs/views.md");
    let behind = documentation.split("```toml").nth(1).expect("a sample");
    let sample = behind.split("```").next().expect("its end");
    let views = Views::parse(sample, &RESOURCES).expect("right");
    assert!(views.get("partner").is_some());
}

#[tokio::test]
async fn a_key_is_given_a_view_that_is_configured_and_keeps_it() {
    let app = App::start_with_views(hiding("partner", &["members.birth"])).await;
    let ask = |scopes: Value, view: &str| {
        let body = json!({"name": "a key", "scopes": scopes, "view": view});
        app.post(ACCESS_KEYS, body)
    };
    let unknown = ask(json!(["members:read"]), "partne").await;
    let detail = unknown.body["errors"][0]["detail"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(detail.contains("`partner`"), "{detail}");
    assert_eq!(unknown.error_at(422, "invalid_body", "#/view"), "unknown");
    let admin = ask(json!(["admin"]), "partner").await;
    assert_eq!(admin.error_at(422, "invalid_body", "#/view"), "conflict");
    let created = ask(json!(["members:read"]), "partner").await.expect(201);
    let path = created.header("location");
    assert_eq!(app.get(path).await.expect(200).body["view"], "partner");
    let rotated = app
        .post(&format!("{path}/rotate"), json!({}))
        .await
        .expect(200);
    assert_eq!(rotated.body["view"], "partner");
    let plain = app.access_key(&["members:read"]).await;
    assert_eq!(
        app.get(&plain.path).await.expect(200).body["view"],
        Value::Null
    );
}

#[tokio::test]
async fn a_key_whose_view_is_gone_is_let_in_nowhere() {
    let app = App::start_with_key().await;
    let key = app.access_key(&["members:read", "members:write"]).await.key;
    sqlx::query("UPDATE access_keys SET view = 'gone' WHERE 'members:write' = ANY (scopes) AND NOT 'admin' = ANY (scopes)")
        .execute(&app.pool)
        .await
        .expect("a key whose view is gone");
    let read = app
        .request(hyper::Method::GET, MEMBERS)
        .with_key(&key)
        .send()
        .await;
    read.problem(403, "view_not_configured");
    let write = app.request(hyper::Method::POST, MEMBERS).with_key(&key);
    let write = write.json(&json!({"name": "a"})).send().await;
    write.problem(403, "view_not_configured");
}

#[tokio::test]
async fn the_document_that_is_served_names_views_and_platforms() {
    let views = format!(
        "[platforms]\nios = \"partner\"\n{}",
        hiding("partner", &["members.birth"])
    );
    let app = App::start_with_views(views).await;
    let document = app.get("/api-docs/openapi.json").await.expect(200).body;
    let says = document["info"]["description"].as_str().expect("text");
    assert!(says.contains("; of consents: `id`, "), "{says}");
    assert!(!says.contains("`birth`"), "{says}");
    let parameters = &document["paths"]["/api/v1/members"]["get"]["parameters"];
    let platform = parameters.as_array().expect("parameters").iter();
    let platform = platform
        .filter(|says| says["name"] == "Client-Platform")
        .collect::<Vec<_>>();
    assert_eq!(platform.len(), 1);
    assert_eq!(platform[0]["schema"]["enum"], json!(["ios"]));
}
