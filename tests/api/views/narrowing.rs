//! `Client-Platform` and `fields`, which only narrow.

use serde_json::{Value, json};

use super::{marked, scopes};
use crate::kit::{App, document::Subject, views::hiding};

const MEMBERS: &str = "/api/v1/members";

fn names(value: &Value) -> Vec<&str> {
    let fields = value.as_object().expect("an object");
    fields.keys().map(String::as_str).collect()
}

async fn start() -> (App, Subject) {
    let views = format!(
        "[platforms]\nios = \"app\"\nweb = \"everything\"\n{}{}",
        hiding("app", &["members.tags"]),
        hiding("partner", &["members.birth"])
    );
    let app = App::start_with_views(views).await;
    let subject = marked(&app).await;
    (app, subject)
}

#[tokio::test]
async fn a_platform_narrows_what_the_key_sees_and_widens_nothing() {
    let (app, subject) = start().await;
    let partner = app.key_with_view(&scopes(), "partner").await.key;
    for (platform, key, hidden) in [
        (None, None, &[][..]),
        (Some("web"), None, &[]),
        (Some("ios"), None, &["tags"]),
        (None, Some(&partner), &["birth"]),
        (Some("web"), Some(&partner), &["birth"]),
        (Some("ios"), Some(&partner), &["birth", "tags"]),
    ] {
        let mut request = app.request(hyper::Method::GET, &subject.member);
        if let Some(platform) = platform {
            request = request.header("client-platform", platform);
        }
        if let Some(key) = key {
            request = request.with_key(key);
        }
        let member = request.send().await.expect(200).body;
        assert_eq!(names(&member).len(), 13 - hidden.len());
        for field in hidden {
            assert!(member.get(field).is_none(), "{platform:?}: {field}");
        }
    }
    let sorted = app.request(hyper::Method::GET, "/api/v1/members?tag=board");
    let sorted = sorted.header("client-platform", "ios").send().await;
    assert_eq!(sorted.error_at(403, "field_hidden", "tag"), "hidden");
}

#[tokio::test]
async fn a_platform_that_is_not_known_is_refused_with_those_that_are() {
    let (app, subject) = start().await;
    for platform in ["android", "IOS", "", "ios, web", "é"] {
        let request = app.request(hyper::Method::GET, &subject.member);
        let answer = request.header("client-platform", platform).send().await;
        let detail = answer.body["errors"][0]["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(detail.contains("`ios`, `web`"), "{detail}");
        assert_eq!(
            answer.error_at(400, "invalid_header", "client-platform"),
            "invalid"
        );
    }
    let twice = app
        .request(hyper::Method::GET, MEMBERS)
        .header("client-platform", "ios");
    let twice = twice.header("client-platform", "web").send().await;
    twice.problem(400, "invalid_header");
    let unknown = App::start().await;
    let request = unknown
        .request(hyper::Method::GET, MEMBERS)
        .header("client-platform", "ios");
    request.send().await.problem(400, "invalid_header");
}

#[tokio::test]
async fn fields_leaves_out_all_others_in_every_form() {
    let app = App::start().await;
    let subject = marked(&app).await;
    let member = app
        .get(&format!("{}?fields=name,birth", subject.member))
        .await
        .expect(200);
    assert_eq!(
        names(&member.body),
        ["birth", "created_at", "id", "name", "version"]
    );
    let path = format!("{MEMBERS}?fields=name");
    let page = app.get(&path).await.expect(200);
    assert_eq!(
        names(&page.body["data"][0]),
        ["created_at", "id", "name", "version"]
    );
    let csv = app.get(&format!("{path}&format=csv")).await.expect(200);
    assert!(
        csv.text.starts_with("id,name,created_at,version\r\n"),
        "{}",
        csv.text
    );
    let both = format!(
        "{}/with-mail-records?fields=member.name,mail_records.subject",
        subject.member
    );
    let both = app.get(&both).await.expect(200).body;
    assert_eq!(
        names(&both["member"]),
        ["created_at", "id", "name", "version"]
    );
    assert_eq!(
        names(&both["mail_records"][0]),
        ["created_at", "id", "subject", "version"]
    );
    assert_eq!(both["mail_summary"], json!({}));
    let eligible = format!("{}/mail-eligibility?fields=allowed", subject.member);
    assert_eq!(
        app.get(&eligible).await.expect(200).body,
        json!({"allowed": true})
    );
}

#[tokio::test]
async fn fields_are_for_showing_and_others_can_still_be_asked_for() {
    let app = App::start().await;
    for name in ["b", "a"] {
        app.member(name).await;
    }
    let page = app
        .get(&format!("{MEMBERS}?fields=email&sort=name&limit=1"))
        .await
        .expect(200);
    assert_eq!(page.body["data"][0]["email"], "a@example.org");
    // A page may have other fields than the one before.
    let cursor = page.cursor("next_cursor").expect("a cursor");
    let next = format!("{MEMBERS}?fields=name&sort=name&limit=1&cursor={cursor}");
    assert_eq!(
        app.get(&next).await.expect(200).body["data"][0]["name"],
        "b"
    );
    let link = page.link("next").expect("a link");
    assert!(link.contains("fields=email"), "{link}");
}

#[tokio::test]
async fn a_field_that_is_not_known_is_refused_with_the_nearest_and_a_hidden_one_as_such() {
    let (app, subject) = start().await;
    for (fields, nearest) in [
        ("nmae", "`name`"),
        ("", "`id`"),
        ("name,", "`id`"),
        ("member.name", "`name`"),
    ] {
        let answer = app
            .get(&format!("{}?fields={fields}", subject.member))
            .await;
        let detail = answer.body["errors"][0]["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(
            answer.error_at(400, "invalid_parameter", "fields"),
            "invalid"
        );
        assert!(detail.contains(nearest), "{fields}: {detail}");
    }
    let twice = app
        .get(&format!("{}?fields=name&fields=birth", subject.member))
        .await;
    assert_eq!(
        twice.error_at(400, "invalid_parameter", "fields"),
        "repeated"
    );
    let unknown = app.get(&format!("{}?feilds=name", subject.member)).await;
    assert_eq!(
        unknown.error_at(400, "invalid_parameter", "feilds"),
        "unknown"
    );
    let key = app.key_with_view(&scopes(), "partner").await.key;
    let path = format!("{}?fields=name,birth", subject.member);
    let hidden = app
        .request(hyper::Method::GET, &path)
        .with_key(&key)
        .send()
        .await;
    assert_eq!(hidden.error_at(403, "field_hidden", "fields"), "hidden");
}
