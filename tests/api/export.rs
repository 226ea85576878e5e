//! `/api/v1/members/{member_id}/export`

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{App, Settings, document::Subject};

#[tokio::test]
async fn an_export_has_all_that_is_stored_about_a_member() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let other = app.member("bob").await;
    app.mail_record(&other, "Not hers").await;
    app.post(
        "/api/v1/suppressions",
        json!({"address": "ANN@example.org"}),
    )
    .await
    .created();
    let records = format!("{}/mail-records", ann.member);
    let old = json!({"subject": "Old", "recipient": "old@example.org", "metadata": {"a": 1}});
    let old = app.post(&records, old).await.created();
    app.post(
        &format!("{old}/events"),
        json!([{"type": "bounced"}, {"type": "opened"}]),
    )
    .await
    .expect(200);

    let export = app.get(&format!("{}/export", ann.member)).await.expect(200);
    assert_eq!(export.header("content-type"), "application/json");
    let disposition = format!("attachment; filename=\"member-{}.json\"", ann.member_id);
    assert_eq!(export.header("content-disposition"), disposition);
    let body = export.body;
    assert_eq!(body["member"], app.get(&ann.member).await.expect(200).body);
    let oldest_first = |mut rows: Value| {
        rows.as_array_mut().expect("rows").reverse();
        rows
    };
    let listed = app.get(&records).await.expect(200).body["data"].take();
    assert_eq!(body["mail_records"], oldest_first(listed));
    let consents = app
        .get(&format!("{}/consents", ann.member))
        .await
        .expect(200);
    assert_eq!(body["consents"], consents.body["data"]);
    assert_eq!(consents.ids().len(), 1);
    let mut events = Vec::new();
    for record in [&ann.mail_record, &old] {
        let listed = app.get(&format!("{record}/events")).await.expect(200).body["data"].take();
        events.extend(oldest_first(listed).as_array().expect("rows").clone());
    }
    assert_eq!(body["mail_events"], json!(events));
    let suppressed: Vec<_> = body["suppressions"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["address"].as_str().expect("an address"))
        .collect();
    assert_eq!(suppressed, ["ANN@example.org", "old@example.org"]);
}

#[tokio::test]
async fn an_export_of_nobody_is_not_found() {
    let app = App::start().await;
    let path = format!("/api/v1/members/{}/export", uuid::Uuid::now_v7());
    app.get(&path).await.problem(404, "member_not_found");
}

/// Enough mail for the export not to fit on its way.
async fn much_mail(app: &App, ann: &Subject) {
    sqlx::query(
        "INSERT INTO mail_records (member_id, id, recipient, recipient_folded, subject)
         SELECT $1, gen_random_uuid(), 'a@example.org', 'a@example.org', repeat('s', 900)
         FROM generate_series(1, 20000)",
    )
    .bind(ann.member_id.parse::<uuid::Uuid>().expect("an id"))
    .execute(&app.pool)
    .await
    .expect("mail");
}

#[tokio::test]
async fn an_export_that_fails_half_way_does_not_look_like_the_whole() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    much_mail(&app, &ann).await;
    let path = format!("{}/export", ann.member);
    let mut streamed = app.request(Method::GET, &path).open().await;
    streamed.more().await.expect("a beginning");
    sqlx::query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    .execute(&mut app.sql().await)
    .await
    .expect("terminated");
    streamed.rest().await.expect_err("a broken transfer");
}

#[tokio::test]
async fn a_client_that_leaves_an_export_gives_the_connection_free() {
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = Subject::create(&app).await;
    much_mail(&app, &ann).await;
    let path = format!("{}/export", ann.member);
    let mut streamed = app.request(Method::GET, &path).open().await;
    streamed.more().await.expect("a beginning");
    drop(streamed);
    app.get(&ann.member).await.expect(200);
    let whole = app.get(&path).await.expect(200);
    assert_eq!(
        whole.body["mail_records"].as_array().expect("rows").len(),
        20_001
    );
}
