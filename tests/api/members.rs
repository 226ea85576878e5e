//! `/api/v1/members`

use serde_json::json;

use crate::kit::{App, walk};

const MEMBERS: &str = "/api/v1/members";

#[tokio::test]
async fn a_new_member_is_answered_as_it_is_read() {
    let app = App::start().await;
    let input = json!({
        "external_id": "m-1", "email": "Ann.Lee@Example.org", "name": "Ann Lee", "birth": "1973-11-01",
        "joined": "2001-02-03", "status": "suspended", "tags": ["board", "Bristol, UK"],
        "attributes": {"locker": 12, "nested": {"null": null}}
    });

    let created = app.post(MEMBERS, input.clone()).await.expect(201);
    let path = created.header("location").to_owned();
    assert_eq!(
        path,
        format!("{MEMBERS}/{}", created.body["id"].as_str().expect("id"))
    );
    for (field, value) in input.as_object().expect("object") {
        assert_eq!(&created.body[field], value, "{field}");
    }
    assert_eq!(created.body["version"], 1);

    let read = app.get(&path).await.expect(200);
    assert_eq!(read.text, created.text);
}

#[tokio::test]
async fn a_member_needs_a_name_only() {
    let app = App::start().await;
    let member = app
        .post(MEMBERS, json!({"name": "Ann"}))
        .await
        .expect(201)
        .body;
    let today = chrono::Utc::now().date_naive();
    // The day may have ended since.
    let days = [
        today.to_string(),
        today.pred_opt().expect("a day").to_string(),
    ];
    assert!(days.iter().any(|day| member["joined"] == **day), "{member}");
    assert_eq!(member["status"], "active");
    assert_eq!(member["tags"], json!([]));
    assert_eq!(member["attributes"], json!({}));
    for field in ["external_id", "email", "birth"] {
        assert!(member[field].is_null(), "{field}");
    }
}

#[tokio::test]
async fn replacing_a_member_sets_what_is_not_given_to_its_default() {
    let app = App::start().await;
    let input =
        json!({"name": "Ann", "email": "ann@example.org", "tags": ["a"], "birth": "1990-01-01"});
    let created = app.post(MEMBERS, input).await.expect(201).body;
    let path = format!("{MEMBERS}/{}", created["id"].as_str().expect("id"));

    let replaced = app
        .put(&path, json!({"name": "Ann Lee", "joined": "2020-01-01"}))
        .await
        .expect(200);
    assert_eq!(replaced.body["name"], "Ann Lee");
    assert_eq!(replaced.body["joined"], "2020-01-01");
    assert_eq!(replaced.body["tags"], json!([]));
    assert!(replaced.body["email"].is_null() && replaced.body["birth"].is_null());
    assert_eq!(replaced.body["version"], 2);
    assert_eq!(replaced.body["created_at"], created["created_at"]);
    assert_eq!(app.get(&path).await.expect(200).text, replaced.text);
}

#[tokio::test]
async fn replacing_a_member_keeps_the_day_of_joining_unless_another_is_given() {
    let app = App::start().await;
    let ann = app
        .post(MEMBERS, json!({"name": "Ann", "joined": "2001-02-03"}))
        .await
        .created();
    let replaced = app.put(&ann, json!({"name": "Ann Lee"})).await.expect(200);
    assert_eq!(replaced.body["joined"], "2001-02-03");
}

#[tokio::test]
async fn a_deleted_member_is_gone_with_the_mail() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let mail = app.mail_record(&ann, "Hello").await;

    assert!(app.delete(&ann).await.expect(204).text.is_empty());
    app.get(&ann).await.problem(404, "member_not_found");
    app.get(&mail).await.problem(404, "member_not_found");
    app.get(&format!("{ann}/mail-records"))
        .await
        .problem(404, "member_not_found");
    app.delete(&ann).await.problem(404, "member_not_found");
    assert!(
        app.get("/api/v1/mail-records")
            .await
            .expect(200)
            .ids()
            .is_empty()
    );
}

#[tokio::test]
async fn an_unknown_member_cannot_be_replaced() {
    let app = App::start().await;
    let path = format!("{MEMBERS}/{}", uuid::Uuid::now_v7());
    app.put(&path, json!({"name": "Ann"}))
        .await
        .problem(404, "member_not_found");
    assert!(app.get(MEMBERS).await.expect(200).ids().is_empty());
}

#[tokio::test]
async fn an_address_and_an_external_id_belong_to_one_member() {
    let app = App::start().await;
    app.post(
        MEMBERS,
        json!({"name": "Ann", "email": "ann@example.org", "external_id": "1"}),
    )
    .await
    .created();
    let bob = app
        .post(
            MEMBERS,
            json!({"name": "Bob", "email": "bob@example.org", "external_id": "2"}),
        )
        .await
        .created();

    app.post(MEMBERS, json!({"name": "X", "email": "ANN@EXAMPLE.ORG"}))
        .await
        .problem(409, "email_taken");
    app.post(MEMBERS, json!({"name": "X", "external_id": "1"}))
        .await
        .problem(409, "external_id_taken");
    app.put(&bob, json!({"name": "Bob", "email": "Ann@Example.org"}))
        .await
        .problem(409, "email_taken");
    app.put(&bob, json!({"name": "Bob", "external_id": "1"}))
        .await
        .problem(409, "external_id_taken");
    // A member may be written again under the address and the key that she has.
    app.put(
        &bob,
        json!({"name": "Bob", "email": "BOB@example.org", "external_id": "2"}),
    )
    .await
    .expect(200);
}

#[tokio::test]
async fn the_list_shows_the_newest_first_and_every_member_once() {
    let app = App::start().await;
    let mut created = Vec::new();
    for number in 0..12 {
        created.push(app.member(&format!("member-{number}")).await);
    }
    created.reverse();

    for limit in [1, 5, 11, 12, 13] {
        let listed = walk(&app, &format!("{MEMBERS}?limit={limit}")).await;
        let paths: Vec<_> = listed.iter().map(|id| format!("{MEMBERS}/{id}")).collect();
        assert_eq!(paths, created, "limit {limit}");
    }
}

#[tokio::test]
async fn a_page_holds_50_members_unless_asked_and_500_at_most() {
    let app = App::start().await;
    sqlx::query(
        "INSERT INTO members (id, name, joined)
         SELECT gen_random_uuid(), 'n', now() FROM generate_series(1, 501)",
    )
    .execute(&app.pool)
    .await
    .expect("members");
    assert_eq!(app.get(MEMBERS).await.expect(200).ids().len(), 50);
    let page = app.get(&format!("{MEMBERS}?limit=500")).await.expect(200);
    assert_eq!(page.ids().len(), 500);
    assert!(page.body["page"]["next_cursor"].is_string());
}

#[tokio::test]
async fn each_filter_shows_the_members_that_it_names() {
    let app = App::start().await;
    let ann = json!({
        "name": "Ann", "email": "Ann@example.org", "external_id": "a", "joined": "2020-01-31",
        "status": "pending", "tags": ["x", "y"]
    });
    let bob = json!({
        "name": "Bob", "email": "bob@example.org", "external_id": "b", "joined": "2020-02-01",
        "status": "ended", "tags": ["y"]
    });
    let ann = app.post(MEMBERS, ann).await.expect(201).body["id"].clone();
    let bob = app.post(MEMBERS, bob).await.expect(201).body["id"].clone();

    for (filter, expected) in [
        ("status=pending", vec![&ann]),
        ("status=ended", vec![&bob]),
        ("status=active", vec![]),
        ("email=ann@EXAMPLE.org", vec![&ann]),
        ("external_id=b", vec![&bob]),
        ("tag=x", vec![&ann]),
        ("tag=y", vec![&bob, &ann]),
        ("tag=X", vec![]),
        ("joined_from=2020-01-31", vec![&bob, &ann]),
        ("joined_from=2020-02-01", vec![&bob]),
        ("joined_to=2020-02-01", vec![&ann]),
        ("joined_to=2020-01-31", vec![]),
        (
            "joined_from=2020-01-31&joined_to=2020-02-01&tag=y",
            vec![&ann],
        ),
        ("status=ended&tag=x", vec![]),
    ] {
        let listed = app
            .get(&format!("{MEMBERS}?{filter}"))
            .await
            .expect(200)
            .ids();
        assert_eq!(json!(listed), json!(expected), "{filter}");
    }
}

#[tokio::test]
async fn a_cursor_is_refused_with_another_filter() {
    let app = App::start().await;
    app.member("ann").await;
    app.member("bob").await;
    let page = app.get(&format!("{MEMBERS}?limit=1")).await.expect(200);
    let cursor = page.body["page"]["next_cursor"]
        .as_str()
        .expect("cursor")
        .to_owned();

    for query in [
        format!("cursor={cursor}&status=active"),
        format!("cursor={}", &cursor[..cursor.len() - 1]),
        format!("cursor=x{cursor}"),
        "cursor=".to_owned(),
        "cursor=bm90aGluZw".to_owned(),
    ] {
        let code = app.get(&format!("{MEMBERS}?{query}")).await.error_at(
            400,
            "invalid_parameter",
            "cursor",
        );
        assert_eq!(code, "invalid_cursor", "{query}");
    }
    let path = "/api/v1/mail-records";
    app.get(&format!("{path}?cursor={cursor}"))
        .await
        .error_at(400, "invalid_parameter", "cursor");
}

#[tokio::test]
async fn head_answers_as_get_without_a_body() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    for path in [MEMBERS, &ann] {
        let get = app.get(path).await.expect(200);
        let head = app
            .request(hyper::Method::HEAD, path)
            .send()
            .await
            .expect(200);
        assert_eq!(head.header("content-type"), get.header("content-type"));
        assert_eq!(head.header("content-length"), get.text.len().to_string());
        assert!(head.text.is_empty());
    }
}
