//! The list of entries, and how long they stay in it.

use std::time::Duration;

use hyper::Method;

use super::AUDIT_LOG;
use crate::kit::{App, Settings, wait::until, walk};

#[tokio::test]
async fn each_filter_finds_what_it_names() {
    let app = App::start_with_key().await;
    let ann = app.member("ann").await;
    let bob = app.member("bob").await;
    let request = app.request(Method::DELETE, &bob);
    request
        .header("x-request-id", "gone")
        .send()
        .await
        .expect(204);
    let id = |path: &str| path.rsplit('/').next().expect("an id").to_owned();
    let (ann, bob) = (id(&ann), id(&bob));
    let newest = app.get(&format!("{AUDIT_LOG}?limit=1")).await.expect(200);
    let newest = &newest.body["data"][0];
    assert_eq!(newest["resource_id"], bob.as_str());
    let at = newest["at"].as_str().expect("a time");
    let key = newest["key_id"].as_str().expect("a key");
    for (filter, count) in [
        (format!("member_id={ann}"), 1),
        (format!("resource_id={bob}"), 2),
        ("resource=member".to_owned(), 3),
        ("operation=create_member".to_owned(), 2),
        ("operation=create_access_key".to_owned(), 1),
        ("request_id=gone".to_owned(), 1),
        (format!("key_id={key}"), 3),
        (format!("from={at}"), 1),
        (format!("to={at}"), 3),
        (format!("member_id={bob}&operation=create_member"), 1),
    ] {
        let found = walk(&app, &format!("{AUDIT_LOG}?{filter}")).await;
        assert_eq!(found.len(), count, "{filter}");
    }
    for filter in ["key_id=1", "resource=user", "from=yesterday", "who=me"] {
        let refused = app.get(&format!("{AUDIT_LOG}?{filter}")).await;
        refused.problem(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn entries_are_removed_when_their_time_is_over() {
    let app = App::start_with(Settings {
        audit_log_retention: Some(Duration::from_hours(24)),
        sweep_interval: Duration::from_millis(10),
        ..Settings::default()
    })
    .await;
    app.member("ann").await;
    app.member("bob").await;
    sqlx::query(
        "UPDATE audit_log SET at = now() - interval '25 hours' WHERE id = (SELECT min(id::text)::uuid FROM audit_log)",
    )
    .execute(&app.pool)
    .await
    .expect("aged");
    until("the old one is gone", async || {
        walk(&app, AUDIT_LOG).await.len() == 1
    })
    .await;
}
