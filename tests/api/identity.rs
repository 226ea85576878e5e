//! E-mail addresses: one mailbox is one member, whatever the spelling, and one grammar holds wherever
//! an address is given.

use hyper::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::kit::{
    Answer, App,
    document::{Operation, Subject, api_operations},
};

const MEMBERS: &str = "/api/v1/members";

/// Spellings of one mailbox.
const SPELLINGS: [(&str, &str); 8] = [
    ("Ann.Lee@Example.org", "ann.lee@example.org"),
    ("ann.lee@example.org", "ANN.LEE@EXAMPLE.ORG"),
    ("J\u{f6}rg@example.org", "Jo\u{308}rg@example.org"),
    ("J\u{f6}rg@example.org", "J\u{d6}RG@example.org"),
    ("a@b\u{fc}cher.example", "a@bu\u{308}cher.example"),
    ("a@b\u{fc}cher.example", "a@xn--bcher-kva.example"),
    ("a@B\u{dc}CHER.example", "A@XN--BCHER-KVA.EXAMPLE"),
    (
        "\u{3bf}\u{3b4}\u{3bf}\u{3c2}@example.org",
        "\u{39f}\u{394}\u{39f}\u{3a3}@example.org",
    ),
];

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn member(email: &str) -> Value {
    json!({"name": "Ann", "email": email})
}

#[tokio::test]
async fn two_spellings_of_one_mailbox_are_one_member() {
    let app = App::start().await;
    let bob = app.member("bob").await;
    for (first, second) in SPELLINGS {
        let created = app.post(MEMBERS, member(first)).await.expect(201);
        assert_eq!(created.body["email"], first, "kept as typed");
        let path = created.header("location").to_owned();

        app.post(MEMBERS, member(second))
            .await
            .problem(409, "email_taken");
        app.put(&bob, member(second))
            .await
            .problem(409, "email_taken");
        for spelling in [first, second] {
            let listed = app
                .get(&format!("{MEMBERS}?email={}", encoded(spelling)))
                .await;
            assert_eq!(
                listed.expect(200).body["data"],
                json!([created.body]),
                "{spelling}"
            );
        }
        // She may spell her own address otherwise.
        app.put(&path, member(second)).await.expect(200);
        app.delete(&path).await.expect(204);
    }
}

#[tokio::test]
async fn the_database_itself_keeps_a_mailbox_to_one_member() {
    let app = App::start().await;
    app.post(MEMBERS, member("Ann@Example.org"))
        .await
        .expect(201);
    let insert = |folded: &'static str| {
        sqlx::query(
            "INSERT INTO members (id, name, joined, email, email_folded)
             VALUES (gen_random_uuid(), 'x', now(), 'ANN@example.org', $1)",
        )
        .bind(folded)
    };
    for (folded, constraint) in [
        ("ann@example.org", "members_email_key"),
        ("ANN@example.org", "members_email_folded_check"),
    ] {
        let error = insert(folded)
            .execute(&app.pool)
            .await
            .expect_err("refused");
        let error = error.into_database_error().expect("of the database");
        assert_eq!(error.constraint(), Some(constraint));
    }
}

#[tokio::test]
async fn a_row_that_came_by_another_way_is_found_in_any_spelling() {
    let app = App::start().await;
    sqlx::query(
        "INSERT INTO members (id, name, joined, email, email_folded)
         VALUES (gen_random_uuid(), 'Old', now(), 'Old.Ann@EXAMPLE.org', 'old.ann@example.org')",
    )
    .execute(&app.pool)
    .await
    .expect("a row");
    for spelling in [
        "old.ann@example.org",
        "Old.Ann@EXAMPLE.org",
        "OLD.ANN@example.ORG",
    ] {
        let listed = app
            .get(&format!("{MEMBERS}?email={spelling}"))
            .await
            .expect(200);
        assert_eq!(listed.body["data"][0]["email"], "Old.Ann@EXAMPLE.org");
        app.post(MEMBERS, member(spelling))
            .await
            .problem(409, "email_taken");
    }
}

#[tokio::test]
async fn a_plus_in_a_query_is_written_as_percent_2b_and_else_refused() {
    let app = App::start().await;
    let tagged = app
        .post(MEMBERS, member("ann+news@example.org"))
        .await
        .expect(201)
        .body;
    app.post(MEMBERS, member("annnews@example.org"))
        .await
        .expect(201);
    let id = tagged["id"].as_str().expect("id");
    let record = app.mail_record(&format!("{MEMBERS}/{id}"), "Hi").await;
    let record = app.get(&record).await.expect(200).body;

    let of_member = format!("{MEMBERS}/{id}/mail-records");
    for (list, filter, found) in [
        (MEMBERS, "email", &tagged),
        ("/api/v1/mail-records", "recipient", &record),
        (of_member.as_str(), "recipient", &record),
    ] {
        let listed = app
            .get(&format!("{list}?{filter}=ann%2Bnews@example.org"))
            .await;
        assert_eq!(listed.expect(200).body["data"], json!([found]));
        let refused = app
            .get(&format!("{list}?{filter}=ann+news@example.org"))
            .await;
        let problem = refused.problem(400, "invalid_parameter");
        assert_eq!(problem["errors"][0]["parameter"], filter);
        let detail = problem["errors"][0]["detail"].as_str().expect("text");
        assert!(detail.contains("%2B"), "{detail}");
    }
}

/// Every place of the document that takes an address: an operation, and the name of its field or of
/// its query's parameter.
fn places() -> Vec<(Operation, String)> {
    let mut places = Vec::new();
    for operation in api_operations() {
        let query = operation.parameters("query");
        let body = operation.says["requestBody"].is_object();
        let fields = body.then(|| operation.fields().keys().cloned());
        for name in query.into_iter().chain(fields.into_iter().flatten()) {
            if ["email", "recipient", "sender"].contains(&name.as_str()) {
                places.push((operation.clone(), name));
            }
        }
    }
    assert_eq!(places.len(), 14);
    places
}

async fn give(app: &App, subject: &Subject, place: &(Operation, String), address: &str) -> Answer {
    let (operation, name) = place;
    if operation.method == Method::GET {
        let path = operation.path_on(subject);
        return app
            .get(&format!("{path}?{name}={}", encoded(address)))
            .await;
    }
    let mut body = operation.example();
    body.insert(name.clone(), json!(address));
    operation
        .request(app, subject)
        .json(&body.into())
        .send()
        .await
}

#[tokio::test]
async fn what_is_no_address_is_refused_wherever_one_is_given() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for place in places() {
        let (operation, name) = &place;
        for bad in [
            "ann",
            "@example.org",
            "a@",
            "\"a.b\"@example.org",
            "\"a b\"@example.org",
            "\"a\".b@example.org",
            "a.@example.org",
            ".a@example.org",
            "a..b@example.org",
            "a@[192.0.2.1]",
            "a@192.0.2.1",
            "Ann <a@example.org>",
            "<a@example.org>",
            "a@example.org,b@example.org",
            "a@b@example.org",
            "a@example.org ",
            " a@example.org",
            "a@example.org\u{200b}",
            "a\u{200b}@example.org",
            "a@example.org\u{feff}",
            "a\u{a0}@example.org",
            "a@example.org.",
            "a@example",
            "a@example..org",
            "a@-example.org",
            "a@ex_ample.org",
            "a@example.org\r\nBcc: b@example.org",
            "mailto:a@example.org?",
            &format!("{}@example.org", "a".repeat(65)),
            &format!("a@{}.org", "b".repeat(64)),
            &format!("a@{}org", "b23456789.".repeat(26)),
            // Longer than the bound in octets, not in characters.
            &format!("{}@example.org", "\u{fc}".repeat(33)),
        ] {
            let answer = give(&app, &ann, &place, bad).await;
            if operation.method == Method::GET {
                answer.error_at(400, "invalid_parameter", name);
            } else {
                answer.error_at(422, "invalid_body", &format!("#/{name}"));
            }
        }
    }
}

#[tokio::test]
async fn an_accepted_address_comes_back_byte_for_byte_and_is_found() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for place in places() {
        for address in [
            "a@b.co",
            "Ann.Lee@Example.org",
            "ann+news@example.org",
            "!#$%&'*+-/=?^_`{|}~@example.org",
            "J\u{f6}rg.\u{dc}bel@B\u{fc}cher.example",
            "\u{7528}\u{6237}@\u{4f8b}\u{5b50}.\u{5e7f}\u{544a}",
            "a@XN--bcher-KVA.example",
            "a@1.2.example",
            &format!("{}@example.org", "a".repeat(64)),
        ] {
            let (operation, name) = &place;
            let answer = give(&app, &ann, &place, address).await;
            if operation.method == Method::GET {
                answer.expect(200);
                continue;
            }
            assert!(answer.status.is_success(), "{name}: {}", answer.text);
            assert_eq!(answer.body[name], address);
            let list = match name.as_str() {
                "email" => Some(MEMBERS),
                "recipient" => Some("/api/v1/mail-records"),
                _ => None,
            };
            if let Some(list) = list {
                let listed = app
                    .get(&format!("{list}?{name}={}", encoded(address)))
                    .await;
                assert_eq!(listed.expect(200).body["data"], json!([answer.body]));
            }
            if answer.status == 201 {
                app.delete(answer.header("location")).await.expect(204);
            }
        }
    }
}

/// Whatever is accepted is found under itself, and taken in upper and in lower case.
#[tokio::test]
async fn an_accepted_address_is_taken_in_every_case() {
    let app = App::start().await;
    let mut runner = TestRunner::deterministic();
    let addresses = "[a-zA-Z0-9+\u{e4}\u{f6}\u{fc}\u{c4}\u{d6}\u{dc}\u{e9}\u{3b1}\u{3c3}\u{3c2}\u{3a9}\u{436}\u{42f}\u{151}\u{1c5}]{1,16}@[a-zA-Z\u{e4}\u{d6}]{1,9}\\.[a-z]{2}";
    let strategy = proptest::string::string_regex(addresses).expect("a pattern");
    for _ in 0..60 {
        let address = strategy.new_tree(&mut runner).expect("a value").current();
        let created = app.post(MEMBERS, member(&address)).await.expect(201);
        for spelling in [
            address.to_lowercase(),
            address.to_uppercase(),
            address.clone(),
        ] {
            app.post(MEMBERS, member(&spelling))
                .await
                .problem(409, "email_taken");
            let listed = app
                .get(&format!("{MEMBERS}?email={}", encoded(&spelling)))
                .await;
            assert_eq!(listed.expect(200).body["data"], json!([created.body]));
        }
        app.delete(created.header("location")).await.expect(204);
    }
}
