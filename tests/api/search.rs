//! `q` of the members and `subject` of the mail records: what is found, and by what.

use hyper::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::kit::App;

const MEMBERS: &str = "/api/v1/members";
const ALL: &str = "/api/v1/mail-records";

/// A term as it stands in a query.
fn encoded(term: &str) -> String {
    utf8_percent_encode(term, NON_ALPHANUMERIC).to_string()
}

/// The values of `field` in the rows that a search finds, sorted.
async fn found(app: &App, list: &str, parameter: &str, term: &str, field: &str) -> Vec<String> {
    let page = app
        .get(&format!("{list}?{parameter}={}", encoded(term)))
        .await
        .expect(200);
    let rows = page.body["data"].as_array().expect("rows");
    let mut found: Vec<_> = rows
        .iter()
        .map(|row| row[field].as_str().expect(field).to_owned())
        .collect();
    found.sort();
    found
}

async fn named(app: &App, term: &str) -> Vec<String> {
    found(app, MEMBERS, "q", term, "name").await
}

async fn add(app: &App, names: &[&str]) {
    for name in names {
        app.post(MEMBERS, json!({"name": name})).await.expect(201);
    }
}

#[tokio::test]
async fn a_term_is_found_wherever_it_stands_in_name_or_address() {
    let app = App::start().await;
    let body = json!({"name": "Ann Lee", "email": "A.Lee@Example.org"});
    app.post(MEMBERS, body).await.expect(201);
    add(&app, &["Bob"]).await;
    for term in [
        "ann",
        "NN L",
        "lee",
        "Ann Lee",
        "a.lee@example.org",
        "EXAMPLE",
        "a",
        "n",
        "@",
        "e@",
        "ee",
        "lee@",
        "l",
        "n l",
    ] {
        assert_eq!(named(&app, term).await, ["Ann Lee"], "{term}");
    }
    // Not across the end of the one and the beginning of the other.
    for term in ["leea", "lee a", "ela", "anna", "xyz", "q", "aq", "ea"] {
        assert_eq!(named(&app, term).await, [""; 0], "{term}");
    }
    assert_eq!(named(&app, "b").await, ["Bob"]);
}

#[tokio::test]
async fn wildcards_stand_for_themselves() {
    let app = App::start().await;
    let names = [
        "a_b", "axb", "100%", "1000", r"c:\d", "cd", r"end\", "%_%_%",
    ];
    add(&app, &names).await;
    for (term, expected) in [
        ("a_b", vec!["a_b"]),
        ("_b", vec!["a_b"]),
        ("_", vec!["%_%_%", "a_b"]),
        ("%", vec!["%_%_%", "100%"]),
        ("0%", vec!["100%"]),
        ("100%", vec!["100%"]),
        ("%%", vec![]),
        ("%%%", vec![]),
        ("%_%", vec!["%_%_%"]),
        ("\\", vec![r"c:\d", r"end\"]),
        (r":\", vec![r"c:\d"]),
        (r"c:\d", vec![r"c:\d"]),
        (r"end\", vec![r"end\"]),
        (r"\\", vec![]),
        ("c%d", vec![]),
        ("x_", vec![]),
    ] {
        assert_eq!(named(&app, term).await, expected, "{term}");
    }
}

#[tokio::test]
async fn case_accents_and_composition_do_not_matter() {
    let app = App::start().await;
    let names = [
        "M\u{fc}ller",
        "Mu\u{308}ller-L\u{fc}denscheidt",
        "MULLER",
        "Muxler",
        "Straße",
        "STRASSE",
        "Łódź",
        "Søren",
        "Жук",
        "李小龍",
        "한국",
    ];
    add(&app, &names).await;
    let mullers = ["MULLER", "M\u{fc}ller", "M\u{fc}ller-L\u{fc}denscheidt"];
    for term in [
        "m\u{fc}ller",
        "mu\u{308}ller",
        "M\u{dc}LLER",
        "muller",
        "\u{fc}ll",
        "u\u{308}L",
    ] {
        assert_eq!(named(&app, term).await, mullers, "{term}");
    }
    for (term, expected) in [
        ("strasse", vec!["STRASSE", "Straße"]),
        ("straẞe", vec!["STRASSE", "Straße"]),
        ("ß", vec!["STRASSE", "Straße"]),
        ("lodz", vec!["Łódź"]),
        ("Ø", vec!["Søren", "Łódź"]),
        ("жук", vec!["Жук"]),
        ("Ж", vec!["Жук"]),
        ("龍", vec!["李小龍"]),
        ("小龍", vec!["李小龍"]),
        ("李小龍", vec!["李小龍"]),
        ("국", vec!["한국"]),
    ] {
        assert_eq!(named(&app, term).await, expected, "{term}");
    }
}

#[tokio::test]
async fn two_spellings_of_a_name_stand_together_and_are_walked_once() {
    let app = App::start().await;
    let names = [
        "J\u{fc}rgen",
        "Jurgen",
        "Ju\u{308}rgen",
        "JURGEN",
        "Jurgeo",
        "Jurgem",
    ];
    add(&app, &names).await;
    for sort in ["name", "-name"] {
        let path = format!("{MEMBERS}?q=jurgen&sort={sort}&limit=1");
        assert_eq!(crate::kit::walk(&app, &path).await.len(), 4);
    }
    // What is the same character by character was made the same when it was written.
    assert_eq!(
        named(&app, "ju\u{308}rgen").await[2..],
        ["J\u{fc}rgen", "J\u{fc}rgen"]
    );
}

#[tokio::test]
async fn what_is_written_in_any_way_is_found_as_it_is_now() {
    let app = App::start().await;
    let ann = app
        .post(MEMBERS, json!({"name": "Zoë One"}))
        .await
        .created();
    assert_eq!(named(&app, "zoe one").await, ["Zoë One"]);
    app.put(&ann, json!({"name": "Zoë Two", "email": "two@example.org"}))
        .await
        .expect(200);
    assert_eq!(named(&app, "zoe one").await, [""; 0]);
    assert_eq!(named(&app, "two@").await, ["Zoë Two"]);
    let patch = app
        .request(Method::PATCH, &ann)
        .header("content-type", "application/merge-patch+json");
    patch
        .body(json!({"name": "Zoë Three", "email": null}).to_string())
        .send()
        .await
        .expect(200);
    assert_eq!(named(&app, "two").await, [""; 0]);
    assert_eq!(named(&app, "ZOE T").await, ["Zoë Three"]);
    let key = "/api/v1/members/by-external-id/k";
    app.put(key, json!({"name": "Ève"})).await.expect(201);
    assert_eq!(named(&app, "eve").await, ["Ève"]);
    app.put(key, json!({"name": "Évelyne"})).await.expect(200);
    assert_eq!(named(&app, "evelyne").await, ["Évelyne"]);
    let first = app.get(&format!("{MEMBERS}?sort=name")).await.expect(200);
    assert_eq!(first.body["data"][0]["name"], "Évelyne");

    let list = format!("{ann}/mail-records");
    let body = json!({"subject": "Grüße", "recipient": "a@example.org"});
    let record = app.post(&list, body).await.created();
    let subjects = async |term: &str| found(&app, ALL, "subject", term, "subject").await;
    assert_eq!(subjects("GRUS").await, ["Grüße"]);
    app.put(&record, json!({"subject": "Ça va"}))
        .await
        .expect(200);
    assert_eq!(subjects("grus").await, [""; 0]);
    let patch = app
        .request(Method::PATCH, &record)
        .header("content-type", "application/merge-patch+json");
    patch
        .body(json!({"subject": "Déjà vu"}).to_string())
        .send()
        .await
        .expect(200);
    assert_eq!(subjects("deja").await, ["Déjà vu"]);
}

#[tokio::test]
async fn a_subject_is_searched_for_by_three_letters_at_least_in_both_lists() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    for subject in ["50% off_now", "50 offxnow", "Your card"] {
        app.mail_record(&ann, subject).await;
    }
    for list in [ALL, &format!("{ann}/mail-records")] {
        for (term, expected) in [
            ("off", vec!["50 offxnow", "50% off_now"]),
            ("off_now", vec!["50% off_now"]),
            ("% off", vec!["50% off_now"]),
            ("R CARD", vec!["Your card"]),
            ("absent", vec![]),
        ] {
            assert_eq!(
                found(&app, list, "subject", term, "subject").await,
                expected,
                "{term}"
            );
        }
        for term in ["of", "%", "50%", "r c", "of-no"] {
            let refused = app.get(&format!("{list}?subject={}", encoded(term))).await;
            let code = refused.error_at(400, "invalid_parameter", "subject");
            assert_eq!(code, "too_short", "{term}");
        }
    }
}

/// What was there before the program folded names is folded by the migration.
#[tokio::test]
async fn rows_of_an_older_version_are_found_too() {
    use member_mail::postgres::migrations::{MIGRATIONS, run};

    let app = App::start().await;
    let mut sql = app.sql().await;
    MIGRATIONS.undo(&mut sql, 3).await.expect("down");
    sqlx::raw_sql(
        "INSERT INTO members (id, name, email, email_folded, joined)
         VALUES (gen_random_uuid(), 'Jörg Łuß', 'Jörg@Example.org', 'jörg@example.org', '2000-01-01');
         INSERT INTO mail_records (member_id, id, recipient, recipient_folded, subject)
         SELECT id, gen_random_uuid(), 'a@example.org', 'a@example.org', 'Grüße' FROM members",
    )
    .execute(&mut sql)
    .await
    .expect("rows");
    run(&app.database.options).await.expect("up");
    for term in ["jorg", "luss", "jorg@example", "ß"] {
        assert_eq!(named(&app, term).await, ["Jörg Łuß"], "{term}");
    }
    assert_eq!(
        found(&app, ALL, "subject", "grusse", "subject").await,
        ["Grüße"]
    );
    let row: Value = app.get(MEMBERS).await.expect(200).body["data"][0].clone();
    assert!(row.get("name_folded").is_none() && row.get("search_text").is_none());
}
