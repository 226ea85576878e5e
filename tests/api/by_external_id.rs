//! `/members/by-external-id/{external_id}` and `/members/by-email/{email}`

use futures_util::future::join_all;
use hyper::Method;
use serde_json::json;

use crate::kit::{App, Settings};

const BASE: &str = "/api/v1/members/by-external-id";

async fn start() -> App {
    let settings = Settings {
        connections: 20,
        ..Settings::default()
    };
    App::start_with(settings).await
}

#[tokio::test]
async fn put_makes_the_member_and_then_replaces_her() {
    let app = App::start().await;
    let path = format!("{BASE}/a-1");
    let body = json!({"name": "Ann", "joined": "2001-02-03", "tags": ["x"]});
    let created = app.put(&path, body).await.expect(201);
    assert_eq!(created.body["external_id"], "a-1");
    assert_eq!(created.header("etag"), "\"1\"");
    let by_id = app.get(created.header("location")).await.expect(200);
    assert_eq!(by_id.text, created.text);
    let replaced = app.put(&path, json!({"name": "Ann Lee"})).await.expect(200);
    assert!(!replaced.headers.contains_key("location"));
    assert_eq!(replaced.body["id"], created.body["id"]);
    assert_eq!(replaced.body["version"], 2);
    assert_eq!(replaced.body["joined"], "2001-02-03");
    assert_eq!(replaced.body["tags"], json!([]));
    assert_eq!(app.get(&path).await.expect(200).text, replaced.text);
    app.delete(&path).await.expect(204);
    app.get(&path).await.problem(404, "member_not_found");
    app.delete(&path).await.problem(404, "member_not_found");
}

#[tokio::test]
async fn of_many_who_put_one_key_one_makes_the_member_and_every_write_counts() {
    let app = start().await;
    for round in 0..20 {
        let path = format!("{BASE}/key-{round}");
        let body = json!({"name": "Ann", "email": format!("ann{round}@example.org")});
        let answers = join_all((0..20).map(|_| app.put(&path, body.clone()))).await;
        let made = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(made, 1);
        let mut versions: Vec<_> = answers
            .into_iter()
            .map(|answer| {
                assert!(answer.status.is_success(), "{}", answer.text);
                answer.body["version"].as_i64()
            })
            .collect();
        versions.sort_unstable();
        assert_eq!(versions, (1..=20).map(Some).collect::<Vec<_>>());
    }
    let mut sql = app.sql().await;
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM members")
        .fetch_one(&mut sql)
        .await
        .expect("a count");
    assert_eq!(rows, 20);
}

/// A restored database may have its keys in another order, and so meet the address first.
#[tokio::test]
async fn it_is_the_same_where_the_database_looks_at_the_address_first() {
    let app = start().await;
    sqlx::raw_sql(
        "ALTER TABLE members DROP CONSTRAINT members_external_id_key,
             ADD CONSTRAINT members_external_id_key UNIQUE (external_id)",
    )
    .execute(&mut app.sql().await)
    .await
    .expect("another order");
    for round in 0..20 {
        let path = format!("{BASE}/key-{round}");
        let body = json!({"name": "Ann", "email": format!("ann{round}@example.org")});
        let answers = join_all((0..20).map(|_| app.put(&path, body.clone()))).await;
        for answer in answers {
            assert!(answer.status.is_success(), "{}", answer.text);
        }
        assert_eq!(app.get(&path).await.expect(200).body["version"], 20);
    }
}

#[tokio::test]
async fn an_address_that_another_member_has_merges_nobody() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let taken = json!({"name": "Bo", "email": "ANN@example.org"});
    let path = format!("{BASE}/bo");
    app.put(&path, taken.clone())
        .await
        .problem(409, "email_taken");
    app.get(&path).await.problem(404, "member_not_found");
    app.put(&path, json!({"name": "Bo"})).await.expect(201);
    app.put(&path, taken).await.problem(409, "email_taken");
    assert_eq!(app.get(&path).await.expect(200).body["version"], 1);
    assert_eq!(app.get(&ann).await.expect(200).body["version"], 1);
}

#[tokio::test]
async fn the_key_in_the_path_is_the_one_that_counts() {
    let app = App::start().await;
    let path = format!("{BASE}/a-1");
    for key in [json!(null), json!("a-1")] {
        let body = json!({"name": "Ann", "external_id": key});
        let answer = app.put(&path, body).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        assert_eq!(answer.body["external_id"], "a-1");
    }
    let other = json!({"name": "Ann", "external_id": "a-2"});
    let code = app.put(&path, other).await;
    assert_eq!(
        code.error_at(422, "invalid_body", "#/external_id"),
        "mismatch"
    );
    // Another key may be given by a patch, and the member is found by that from then on.
    let renamed = app.patch(&path, json!({"external_id": "a-2"})).await;
    assert_eq!(renamed.expect(200).body["version"], 3);
    app.get(&path).await.problem(404, "member_not_found");
    app.get(&format!("{BASE}/a-2")).await.expect(200);
}

#[tokio::test]
async fn any_key_that_a_member_may_have_can_stand_in_the_path() {
    let app = App::start().await;
    for (encoded, key) in [
        ("a%2Fb", "a/b"),
        ("%2e%2e", ".."),
        ("a+b", "a+b"),
        ("a%20b", "a b"),
        ("%25", "%"),
        ("M%C3%BCller", "M\u{fc}ller"),
        ("Mu%CC%88ller", "M\u{fc}ller"),
        ("%F0%9F%98%80", "😀"),
        ("a?b".replace('?', "%3F").as_str(), "a?b"),
        ("by-email", "by-email"),
    ] {
        let path = format!("{BASE}/{encoded}");
        let answer = app.put(&path, json!({"name": "Ann"})).await;
        assert!(answer.status.is_success(), "{encoded}: {}", answer.text);
        assert_eq!(answer.body["external_id"], key, "{encoded}");
        app.get(&path).await.expect(200);
    }
    for refused in ["%00", "a%0Ab", "%20", &"x".repeat(256)] {
        let answer = app
            .put(&format!("{BASE}/{refused}"), json!({"name": "Ann"}))
            .await;
        answer.error_at(400, "invalid_parameter", "external_id");
    }
}

#[tokio::test]
async fn a_put_only_makes_or_only_replaces_where_its_preconditions_say_so() {
    let app = App::start().await;
    let path = format!("{BASE}/a-1");
    let put = |name: &'static str, value: &'static str| {
        let request = app.request(Method::PUT, &path).header(name, value);
        request.json(&json!({"name": "Ann"})).send()
    };
    for (name, value) in [("if-match", "*"), ("if-match", "\"1\"")] {
        put(name, value).await.problem(412, "precondition_failed");
    }
    app.get(&path).await.problem(404, "member_not_found");
    put("if-none-match", "*").await.expect(201);
    put("if-none-match", "*")
        .await
        .problem(412, "precondition_failed");
    put("if-none-match", "\"1\"")
        .await
        .problem(412, "precondition_failed");
    put("if-match", "\"2\"")
        .await
        .problem(412, "precondition_failed");
    assert_eq!(
        put("if-match", "\"1\"").await.expect(200).body["version"],
        2
    );
    assert_eq!(put("if-match", "*").await.expect(200).body["version"], 3);
}

#[tokio::test]
async fn of_many_who_only_make_the_member_one_does() {
    let app = start().await;
    let path = format!("{BASE}/a-1");
    let put = || {
        let request = app.request(Method::PUT, &path).header("if-none-match", "*");
        request.json(&json!({"name": "Ann"})).send()
    };
    let answers = join_all((0..20).map(|_| put())).await;
    let (made, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(made.len(), 1);
    for answer in refused {
        answer.problem(412, "precondition_failed");
    }
}

#[tokio::test]
async fn a_member_is_found_by_any_spelling_of_the_address() {
    let app = App::start().await;
    let body = json!({"name": "Ann", "email": "Ann+News@B\u{fc}cher.example"});
    let ann = app.post("/api/v1/members", body).await.expect(201).body;
    for email in [
        "Ann+News@B%C3%BCcher.example",
        "ann%2Bnews@BU%CC%88CHER.example",
        "ANN+NEWS@xn--bcher-kva.example",
    ] {
        let found = app.get(&format!("/api/v1/members/by-email/{email}")).await;
        assert_eq!(found.expect(200).body, ann, "{email}");
    }
    let none = app.get("/api/v1/members/by-email/bo@example.org").await;
    none.problem(404, "member_not_found");
    let wrong = app.get("/api/v1/members/by-email/bo").await;
    wrong.error_at(400, "invalid_parameter", "email");
}
