//! `mailability` of a member: in step with the suppressions of the address, whatever was written first.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use sqlx::Connection;

use crate::kit::{App, Settings, sessions::until_locked, wait::until};

const MEMBERS: &str = "/api/v1/members";
const SUPPRESSIONS: &str = "/api/v1/suppressions";
const ANN: &str = "ann@example.org";

async fn suppress(app: &App, address: &str, reason: &str) -> String {
    let body = json!({"address": address, "reason": reason});
    app.post(SUPPRESSIONS, body).await.created()
}

async fn mailability(app: &App, member: &str) -> Value {
    app.get(member).await.expect(200).body["mailability"].clone()
}

#[tokio::test]
async fn what_weighs_most_is_told() {
    let app = App::start().await;
    let nobody = app.post(MEMBERS, json!({"name": "Nobody"})).await;
    assert_eq!(nobody.expect(201).body["mailability"], "no_address");
    let ann = app.member("ann").await;
    assert_eq!(mailability(&app, &ann).await, "ok");
    let unsubscribe = suppress(&app, ANN, "unsubscribe").await;
    assert_eq!(mailability(&app, &ann).await, "unsubscribed");
    let bounce = suppress(&app, ANN, "hard_bounce").await;
    assert_eq!(mailability(&app, &ann).await, "suppressed");
    app.delete(&unsubscribe).await.expect(204);
    assert_eq!(mailability(&app, &ann).await, "suppressed");
    app.delete(&bounce).await.expect(204);
    assert_eq!(mailability(&app, &ann).await, "ok");
}

#[tokio::test]
async fn any_spelling_of_the_address_is_suppressed() {
    let app = App::start().await;
    let body = json!({"name": "Ann", "email": "Ann.Lee@Bücher.Example"});
    let ann = app.post(MEMBERS, body).await.created();
    suppress(&app, "ANN.LEE@xn--bcher-kva.example", "manual").await;
    assert_eq!(mailability(&app, &ann).await, "suppressed");
}

#[tokio::test]
async fn every_way_to_an_address_looks_whether_it_is_suppressed() {
    let app = App::start().await;
    suppress(&app, ANN, "complaint").await;
    let with = json!({"name": "Ann", "email": "Ann@Example.org"});
    let without = json!({"name": "Ann"});
    let keyed = format!("{MEMBERS}/by-external-id/ann-1");
    let batch = json!({"items": [with, without]});
    let created = app.post(&format!("{MEMBERS}/batch"), batch).await;
    let results = &created.expect(200).body["results"];
    assert_eq!(results[0]["member"]["mailability"], "suppressed");
    assert_eq!(results[1]["member"]["mailability"], "no_address");
    let made = format!("{MEMBERS}/{}", results[0]["id"].as_str().expect("an id"));
    app.delete(&made).await.expect(204);

    let created = app.post(MEMBERS, with.clone()).await.expect(201);
    assert_eq!(created.body["mailability"], "suppressed");
    let path = created.header("location").to_owned();
    for path in [&path, &keyed] {
        if *path == keyed {
            app.delete(created.header("location")).await.expect(204);
            let made = app.put(path, with.clone()).await.expect(201);
            assert_eq!(made.body["mailability"], "suppressed");
        }
        let replaced = app.put(path, without.clone()).await.expect(200);
        assert_eq!(replaced.body["mailability"], "no_address");
        let replaced = app.put(path, with.clone()).await.expect(200);
        assert_eq!(replaced.body["mailability"], "suppressed");
        let other = json!({"email": "bob@example.org"});
        let patched = app.patch(path, other).await.expect(200);
        assert_eq!(patched.body["mailability"], "ok");
        let patched = app.patch(path, json!({"email": ANN})).await.expect(200);
        assert_eq!(patched.body["mailability"], "suppressed");
    }
}

/// Whoever writes members says who is in the register, not who may be mailed.
#[tokio::test]
async fn no_write_of_a_member_loosens_it() {
    let app = App::start().await;
    let keyed = format!("{MEMBERS}/by-external-id/ann-1");
    let body = json!({"name": "Ann", "email": ANN, "status": "active"});
    let ann = app.put(&keyed, body.clone()).await.created();
    for (reason, word) in [
        ("unsubscribe", "unsubscribed"),
        ("hard_bounce", "suppressed"),
    ] {
        let suppression = suppress(&app, ANN, reason).await;
        let before = app.get(&suppression).await.expect(200).text;
        let renamed = json!({
            "name": "Ann L.", "email": "ANN@example.org", "status": "active", "external_id": "ann-1"
        });
        for path in [&ann, &keyed] {
            let replaced = app.put(path, renamed.clone()).await.expect(200);
            assert_eq!(replaced.body["mailability"], word);
            let patched = app.patch(path, json!({"status": "active"})).await;
            assert_eq!(patched.expect(200).body["mailability"], word);
        }
        let items = json!({"items": [renamed]});
        let batch = app.post(&format!("{MEMBERS}/batch"), items).await;
        assert_eq!(batch.expect(200).body["failed"], 1);
        for field in ["mailability", "suppressed_until"] {
            let refused = app.patch(&ann, json!({field: "ok"})).await;
            let place = format!("#/{field}");
            assert_eq!(refused.error_at(422, "invalid_body", &place), "unknown");
        }
        assert_eq!(app.get(&suppression).await.expect(200).text, before);
    }
    let listed = app.get(&format!("{SUPPRESSIONS}?address={ANN}")).await;
    assert_eq!(listed.expect(200).ids().len(), 2);
}

#[tokio::test]
async fn a_change_of_it_is_a_new_version_and_no_change_is_none() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let (bob, before) = (app.member("bob").await, app.get(&ann).await.text);
    let suppression = suppress(&app, ANN, "manual").await;
    let read = app.request(Method::GET, &ann);
    let read = read.header("if-none-match", "\"1\"").send().await;
    let read = read.expect(200);
    assert_ne!(read.text, before);
    assert_eq!(read.body["version"], 2);
    assert!(read.body["updated_at"].as_str() > read.body["created_at"].as_str());
    // She is as suppressed as before.
    let again = json!({"address": "ANN@example.org"});
    app.post(SUPPRESSIONS, again).await.expect(200);
    suppress(&app, ANN, "invalid").await;
    app.delete(&suppression).await.expect(204);
    assert_eq!(app.get(&ann).await.text, read.text);
    assert_eq!(app.get(&bob).await.body["version"], 1);
}

#[tokio::test]
async fn a_suppression_that_ends_lets_the_member_go() {
    let app = App::start_with(Settings {
        sweep_interval: Duration::from_millis(10),
        ..Settings::default()
    })
    .await;
    let ann = app.member("ann").await;
    let body = json!({"address": ANN, "expires_at": "2100-01-01T00:00:00Z"});
    let suppression = app.post(SUPPRESSIONS, body).await.created();
    assert_eq!(mailability(&app, &ann).await, "suppressed");
    let version = app.get(&ann).await.body["version"].as_i64();
    // As if the time had come.
    for end in [
        "UPDATE suppressions SET expires_at = now()",
        "UPDATE members SET suppressed_until = now()",
    ] {
        sqlx::query(end).execute(&app.pool).await.expect("ended");
    }
    assert_eq!(mailability(&app, &ann).await, "ok");
    until("it is removed", async || {
        app.get(&suppression).await.status == 404
    })
    .await;
    let now = app.get(&ann).await.expect(200).body;
    assert_eq!(now["mailability"], "ok");
    assert!(now["version"].as_i64() > version);

    // One that has ended already blocks nobody.
    let body = json!({"address": ANN, "expires_at": "2000-01-01T00:00:00Z"});
    app.post(SUPPRESSIONS, body).await.expect(201);
    assert_eq!(mailability(&app, &ann).await, "ok");
}

#[tokio::test]
async fn the_list_is_filtered_by_it_in_every_form_and_order() {
    let app = App::start().await;
    app.post(MEMBERS, json!({"name": "nobody"}))
        .await
        .expect(201);
    for (name, reasons) in [
        ("ann", &[][..]),
        ("bob", &["unsubscribe"]),
        ("cleo", &["hard_bounce"]),
        ("dora", &["unsubscribe", "complaint"]),
    ] {
        app.member(name).await;
        for reason in reasons {
            suppress(&app, &format!("{name}@example.org"), reason).await;
        }
    }
    for (word, names) in [
        ("no_address", &["nobody"][..]),
        ("ok", &["ann"]),
        ("unsubscribed", &["bob"]),
        ("suppressed", &["cleo", "dora"]),
    ] {
        for order in [
            "",
            "&sort=name",
            "&sort=joined",
            "&sort=birth",
            "&sort=created_at",
        ] {
            let path = format!("{MEMBERS}?mailability={word}{order}");
            let page = app.get(&format!("{path}&count=exact")).await.expect(200);
            let rows = page.body["data"].as_array().expect("rows");
            let mut found: Vec<_> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
            found.sort_unstable();
            assert_eq!(found, names, "{path}");
            assert!(rows.iter().all(|row| row["mailability"] == word));
            assert_eq!(page.body["page"]["total"], names.len());
            let lines = app.get(&format!("{path}&format=ndjson")).await.expect(200);
            assert_eq!(lines.text.lines().count(), names.len(), "{path}");
        }
    }
}

/// Neither sees what the other has not committed.
#[tokio::test]
async fn an_address_that_is_given_while_it_is_suppressed_is_suppressed() {
    let app = App::start().await;
    let bob = app.member("bob").await;
    let (mut other, mut watcher) = (app.sql().await, app.sql().await);
    for _ in 0..2 {
        let mut suppressing = other.begin().await.expect("a transaction");
        sqlx::raw_sql(
            "INSERT INTO suppressions (id, address_hash, reason, scope, origin)
             VALUES (gen_random_uuid(), address_hash('ann@example.org'), 'manual', 'all', 'api');
             SELECT refresh_mailability(address_hash('ann@example.org'))",
        )
        .execute(&mut *suppressing)
        .await
        .expect("suppressed");
        let write = app.patch(&bob, json!({"email": ANN}));
        let commit = async {
            until_locked(&mut watcher, 1).await;
            suppressing.commit().await.expect("committed");
        };
        let (answer, ()) = tokio::join!(write, commit);
        assert_eq!(answer.expect(200).body["mailability"], "suppressed");
        sqlx::raw_sql("DELETE FROM suppressions")
            .execute(&mut other)
            .await
            .expect("deleted");
        app.patch(&bob, json!({"email": null})).await.expect(200);
    }
}

#[tokio::test]
async fn an_address_that_is_suppressed_while_it_is_given_is_suppressed() {
    let app = App::start().await;
    let (mut other, mut watcher) = (app.sql().await, app.sql().await);
    let mut giving = other.begin().await.expect("a transaction");
    sqlx::raw_sql(
        "INSERT INTO members (id, name, joined, email, email_folded, email_hash, suppressed_until)
         VALUES ('018cc251-f400-7000-8000-000000000001', 'Ann', '2000-01-01', 'ann@example.org',
                 'ann@example.org', address_hash('ann@example.org'), blocked_until('ann@example.org', 'all'))",
    )
    .execute(&mut *giving)
    .await
    .expect("a member");
    let commit = async {
        until_locked(&mut watcher, 1).await;
        giving.commit().await.expect("committed");
    };
    tokio::join!(suppress(&app, ANN, "manual"), commit);
    let ann = format!("{MEMBERS}/018cc251-f400-7000-8000-000000000001");
    assert_eq!(mailability(&app, &ann).await, "suppressed");
}

/// Suppressions come and go while members come and go, all of one address.
#[tokio::test]
async fn whatever_happens_at_once_a_member_is_what_her_address_is() {
    let app = App::start_with(Settings {
        connections: 20,
        ..Settings::default()
    })
    .await;
    let keyed = format!("{MEMBERS}/by-external-id/ann-1");
    let mut compared = 0;
    for round in 0..30 {
        let writes = (0..12).map(|number| {
            let (app, keyed) = (&app, &keyed);
            async move {
                match (number + round) % 4 {
                    0 => app.put(keyed, json!({"name": "Ann", "email": ANN})).await,
                    1 => app.put(keyed, json!({"name": "Ann"})).await,
                    2 => {
                        let reason = if number % 3 == 0 {
                            "unsubscribe"
                        } else {
                            "manual"
                        };
                        let body = json!({"address": ANN, "reason": reason});
                        app.post(SUPPRESSIONS, body).await
                    }
                    _ => {
                        let standing = app.get(SUPPRESSIONS).await.expect(200).ids();
                        match standing.first() {
                            Some(id) => app.delete(&format!("{SUPPRESSIONS}/{id}")).await,
                            None => app.delete(keyed).await,
                        }
                    }
                }
            }
        });
        for answer in futures_util::future::join_all(writes).await {
            assert!(!answer.status.is_server_error(), "{}", answer.text);
        }
        let member = app.get(&keyed).await;
        if member.status == 404 || member.body["email"].is_null() {
            continue;
        }
        compared += 1;
        let standing = app.get(SUPPRESSIONS).await.expect(200);
        let standing = standing.body["data"].as_array().expect("rows");
        let word = match standing
            .iter()
            .map(|row| &row["scope"])
            .min_by_key(|scope| scope.as_str())
        {
            None => "ok",
            Some(scope) if scope == "all" => "suppressed",
            Some(_) => "unsubscribed",
        };
        assert_eq!(member.body["mailability"], word, "round {round}");
    }
    assert!(compared > 0, "nothing was compared");
}

#[tokio::test]
async fn members_of_an_older_version_are_suppressed_too() {
    use member_mail::postgres::migrations::{MIGRATIONS, run};

    let app = App::start().await;
    let mut sql = app.sql().await;
    let ann = app.member("ann").await;
    MIGRATIONS.undo(&mut sql, 6).await.expect("down");
    run(&app.database.options).await.expect("up");
    suppress(&app, "ANN@example.org", "manual").await;
    assert_eq!(mailability(&app, &ann).await, "suppressed");
}
