//! Writes that meet: one outcome, the one that they would have one after the other.
//!
//! A second session holds a lock until all requests wait for it, so that they do meet.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};
use sqlx::Connection;
use uuid::Uuid;

use crate::kit::{Answer, App, Settings, sessions::until_locked};

const MEMBERS: &str = "/api/v1/members";
const AT_ONCE: usize = 20;

async fn start() -> App {
    let settings = Settings {
        connections: u32::try_from(AT_ONCE).expect("a number"),
        ..Settings::default()
    };
    App::start_with(settings).await
}

/// Sends all requests at once, and lets none of them write before all are about to.
async fn at_once<F: Future<Output = Answer>>(app: &App, requests: Vec<F>) -> Vec<Answer> {
    let count = requests.len();
    let (mut holder, mut watcher) = (app.sql().await, app.sql().await);
    let mut held = holder.begin().await.expect("a transaction");
    sqlx::query("LOCK TABLE members, mail_records IN SHARE MODE")
        .execute(&mut *held)
        .await
        .expect("locked");
    let release = async {
        until_locked(&mut watcher, count).await;
        held.commit().await.expect("released");
    };
    tokio::join!(join_all(requests), release).0
}

/// Expects one success with `status`, and of all others the problem `code`.
fn assert_one_wins(answers: Vec<Answer>, status: u16, code: &str) -> Value {
    let (won, lost): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|answer| answer.status == status);
    assert_eq!(won.len(), 1, "{lost:?}");
    for answer in lost {
        answer.problem(409, code);
    }
    won.into_iter().next().expect("one").body
}

#[tokio::test]
async fn one_of_many_that_create_a_member_with_one_key_wins() {
    let app = start().await;
    for round in 0..20 {
        for (field, value, code) in [
            ("email", format!("ann{round}@example.org"), "email_taken"),
            ("external_id", format!("key-{round}"), "external_id_taken"),
        ] {
            let requests = (0..AT_ONCE).map(|number| {
                // Half of them in another spelling.
                let upper = field == "email" && number % 2 == 0;
                let value = if upper {
                    value.to_uppercase()
                } else {
                    value.clone()
                };
                app.post(MEMBERS, json!({"name": format!("{number}"), field: value}))
            });
            let won = assert_one_wins(at_once(&app, requests.collect()).await, 201, code);
            let listed = app.get(&format!("{MEMBERS}?{field}={value}")).await;
            assert_eq!(listed.expect(200).body["data"], json!([won]));
        }
    }
    assert_eq!(app.get(MEMBERS).await.expect(200).ids().len(), 40);
}

#[tokio::test]
async fn one_of_many_that_replace_a_member_with_one_key_wins() {
    let app = start().await;
    let mut members = Vec::new();
    for number in 0..AT_ONCE {
        members.push(app.member(&format!("m{number}")).await);
    }
    for round in 0..20 {
        for (field, value, code) in [
            ("email", format!("ann{round}@example.org"), "email_taken"),
            ("external_id", format!("key-{round}"), "external_id_taken"),
        ] {
            let requests = members.iter().enumerate().map(|(number, path)| {
                let body = json!({"name": "Ann", "joined": "2024-01-01", field: value});
                // Half of them replace all, half of them change some.
                if number % 2 == 0 {
                    app.request(Method::PUT, path).json(&body).send()
                } else {
                    app.patch_request(path, &body).send()
                }
            });
            let won = assert_one_wins(at_once(&app, requests.collect()).await, 200, code);
            let listed = app.get(&format!("{MEMBERS}?{field}={value}")).await;
            assert_eq!(listed.expect(200).body["data"], json!([won]));
        }
    }
}

#[tokio::test]
async fn one_of_many_that_create_a_mail_record_with_one_key_wins() {
    let app = start().await;
    let ann = app.member("ann").await;
    let records = format!("{ann}/mail-records");
    for (key, code) in [
        (json!({"external_id": "1"}), "external_id_taken"),
        (
            json!({"provider": "p", "provider_message_id": "1"}),
            "provider_message_id_taken",
        ),
    ] {
        let requests = (0..AT_ONCE)
            .map(|number| {
                let mut mail = key.clone();
                mail["subject"] = number.to_string().into();
                app.post(&records, mail)
            })
            .collect();
        assert_one_wins(at_once(&app, requests).await, 201, code);
    }
    assert_eq!(app.get(&records).await.expect(200).ids().len(), 2);
}

#[tokio::test]
async fn a_version_counts_every_write() {
    let app = start().await;
    let ann = app.member("ann").await;
    let mail = app.mail_record(&ann, "Hi").await;
    for (path, body) in [
        (&ann, json!({"name": "Ann", "email": "ann@example.org"})),
        (&mail, json!({"subject": "Hi"})),
    ] {
        let requests = (0..AT_ONCE).map(|_| app.put(path, body.clone())).collect();
        let mut versions: Vec<_> = at_once(&app, requests)
            .await
            .into_iter()
            .map(|answer| {
                answer.expect(200).body["version"]
                    .as_u64()
                    .expect("a number")
            })
            .collect();
        versions.sort_unstable();
        assert_eq!(versions, (2..=21).collect::<Vec<_>>());
        assert_eq!(app.get(path).await.expect(200).body["version"], 21);
    }
}

/// Sends a request while another session deletes by `delete`, which commits once the request waits.
async fn during(app: &App, delete: &'static str, request: impl Future<Output = Answer>) -> Answer {
    let (mut other, mut watcher) = (app.sql().await, app.sql().await);
    let mut deleting = other.begin().await.expect("a transaction");
    sqlx::query(delete)
        .execute(&mut *deleting)
        .await
        .expect("deleted");
    let commit = async {
        until_locked(&mut watcher, 1).await;
        deleting.commit().await.expect("committed");
    };
    tokio::join!(request, commit).0
}

async fn count(app: &App, table: &'static str) -> i64 {
    let count = match table {
        "members" => "SELECT count(*) FROM members",
        _ => "SELECT count(*) FROM mail_records",
    };
    sqlx::query_scalar(count)
        .fetch_one(&app.pool)
        .await
        .expect("a count")
}

#[tokio::test]
async fn a_member_deleted_while_mail_is_written_down_is_not_found() {
    let app = App::start().await;
    for retries in [false, true] {
        let ann = app.member("ann").await;
        let mail = app.mail_record(&ann, "Hi").await;
        let mut record = json!({"subject": "Hi"});
        if retries {
            record["retry_of"] = mail.rsplit('/').next().into();
        }
        let records = format!("{ann}/mail-records");
        let request = app.post(&records, record);
        let answer = during(&app, "DELETE FROM members", request).await;
        answer.problem(404, "member_not_found");
        assert_eq!(count(&app, "mail_records").await, 0);
    }
}

#[tokio::test]
async fn a_member_whose_deletion_is_taken_back_gets_the_mail() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let (mut other, mut watcher) = (app.sql().await, app.sql().await);
    let mut deleting = other.begin().await.expect("a transaction");
    sqlx::query("DELETE FROM members")
        .execute(&mut *deleting)
        .await
        .expect("deleted");
    let records = format!("{ann}/mail-records");
    let request = app.post(&records, json!({"subject": "Hi"}));
    let take_back = async {
        until_locked(&mut watcher, 1).await;
        deleting.rollback().await.expect("rolled back");
    };
    tokio::join!(request, take_back).0.expect(201);
}

#[tokio::test]
async fn a_mail_record_deleted_while_a_retry_is_written_down_is_named() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let mail = app.mail_record(&ann, "Hi").await;
    let retry = json!({"subject": "Hi", "retry_of": mail.rsplit('/').next()});
    let records = format!("{ann}/mail-records");
    let request = app.post(&records, retry);
    let answer = during(&app, "DELETE FROM mail_records", request).await;
    let code = answer.error_at(422, "invalid_body", "#/retry_of");
    assert_eq!(code, "mail_record_not_found");
    assert_eq!(count(&app, "mail_records").await, 0);
}

#[tokio::test]
async fn what_is_deleted_while_it_is_written_or_deleted_is_not_found() {
    let app = App::start().await;
    let name = json!({"name": "Ann"});
    let subject = json!({"subject": "Hi"});

    let ann = app.member("ann").await;
    let answer = during(&app, "DELETE FROM members", app.put(&ann, name)).await;
    answer.problem(404, "member_not_found");
    let ann = app.member("ann").await;
    let patch = app.patch(&ann, json!({"name": "Ann"}));
    let answer = during(&app, "DELETE FROM members", patch).await;
    answer.problem(404, "member_not_found");
    let ann = app.member("ann").await;
    let answer = during(&app, "DELETE FROM members", app.delete(&ann)).await;
    answer.problem(404, "member_not_found");
    assert_eq!(count(&app, "members").await, 0);

    let ann = app.member("ann").await;
    let mail = app.mail_record(&ann, "Hi").await;
    let answer = during(
        &app,
        "DELETE FROM mail_records",
        app.put(&mail, subject.clone()),
    )
    .await;
    answer.problem(404, "mail_record_not_found");
    let mail = app.mail_record(&ann, "Hi").await;
    let patch = app.patch(&mail, json!({"subject": "Ho"}));
    let answer = during(&app, "DELETE FROM mail_records", patch).await;
    answer.problem(404, "mail_record_not_found");
    let mail = app.mail_record(&ann, "Hi").await;
    let answer = during(&app, "DELETE FROM mail_records", app.delete(&mail)).await;
    answer.problem(404, "mail_record_not_found");
    let mail = app.mail_record(&ann, "Hi").await;
    let answer = during(&app, "DELETE FROM members", app.put(&mail, subject)).await;
    answer.problem(404, "member_not_found");
    assert_eq!(count(&app, "mail_records").await, 0);
}

/// Neither can have the other's address while the other has it still. Here each waits for the other to
/// give it up, until Postgres ends one of them, which is then done again.
#[tokio::test]
async fn two_members_that_swap_addresses_at_once_keep_their_own() {
    let app = App::start().await;
    let (ann, bob) = (app.member("ann").await, app.member("bob").await);
    let (mut other, mut watcher) = (app.sql().await, app.sql().await);
    let mut held = other.begin().await.expect("a transaction");
    sqlx::query(
        "INSERT INTO members (id, name, joined, external_id)
         VALUES (gen_random_uuid(), 'x', now(), 'held')",
    )
    .execute(&mut *held)
    .await
    .expect("inserted");
    let to_bob = json!({"name": "Ann", "email": "bob@example.org", "external_id": "held"});
    let to_ann = json!({"name": "Bob", "email": "ann@example.org"});

    // The first has her row and waits for the key that is held.
    let first = app.put(&ann, to_bob.clone());
    let rest = async {
        until_locked(&mut watcher, 1).await;
        // The second has his row and waits for hers.
        let release = async {
            until_locked(&mut watcher, 2).await;
            held.rollback().await.expect("released");
        };
        tokio::join!(app.put(&bob, to_ann.clone()), release).0
    };
    let (first, second) = tokio::join!(first, rest);
    for answer in [first, second] {
        answer.problem(409, "email_taken");
    }
    for (path, body, email) in [
        (&ann, to_bob, "ann@example.org"),
        (&bob, to_ann, "bob@example.org"),
    ] {
        app.put(path, body).await.problem(409, "email_taken");
        let member = app.get(path).await.expect(200).body;
        assert_eq!(
            (&member["email"], &member["version"]),
            (&json!(email), &json!(1))
        );
    }
}

#[tokio::test]
async fn writes_of_all_kinds_on_one_member_never_block_each_other_for_good() {
    let app = start().await;
    let ann = app.member("ann").await;
    let records = format!("{ann}/mail-records");
    for round in 0..5 {
        let mut mails = Vec::new();
        for number in 0..5 {
            mails.push(app.mail_record(&ann, &format!("{number}")).await);
        }
        let app = &app;
        let send = |number: usize| {
            let (ann, records, mail) = (&ann, &records, &mails[number % 5]);
            let email = format!("ann-{round}-{number}@example.org");
            let retry_of = mail.rsplit('/').next().expect("an id").to_owned();
            async move {
                match number % 6 {
                    0 => app.put(ann, json!({"name": "Ann", "email": email})).await,
                    1 => {
                        app.post(records, json!({"subject": "Hi", "retry_of": retry_of}))
                            .await
                    }
                    2 => app.put(mail, json!({"subject": "Hi"})).await,
                    3 => app.patch(mail, json!({"subject": "Ho"})).await,
                    4 => app.patch(ann, json!({"attributes": {"a": number}})).await,
                    _ => app.delete(mail).await,
                }
            }
        };
        for answer in at_once(app, (0..AT_ONCE).map(send).collect()).await {
            // A mail record may be gone, or be gone as what is tried again.
            assert!(
                answer.status.is_success() || [404, 422].contains(&answer.status.as_u16()),
                "{}",
                answer.text
            );
        }
    }
    app.get(&ann).await.expect(200);
}

#[tokio::test]
async fn of_many_that_delete_one_member_one_does() {
    let app = start().await;
    let ann = app.member("ann").await;
    let unknown = format!("{MEMBERS}/{}", Uuid::now_v7());
    let answers = at_once(&app, (0..AT_ONCE).map(|_| app.delete(&ann)).collect()).await;
    let (deleted, rest): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 204);
    assert_eq!(deleted.len(), 1);
    for answer in rest {
        answer.problem(404, "member_not_found");
    }
    app.delete(&unknown).await.problem(404, "member_not_found");
}
