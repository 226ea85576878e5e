//! `/api-docs/openapi.json`: the document, and what holds for every operation in it.

use std::{collections::BTreeSet, fmt::Write};

use hyper::Method;
use member_mail::commands::seed;
use serde_json::{Value, json};

use crate::kit::{
    App,
    document::{DOCUMENT, Operation, fill, operations},
};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

#[test]
fn the_document_is_the_one_checked_in() {
    let checked_in = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    let built = member_mail::app::openapi()
        .to_pretty_json()
        .expect("document")
        + "\n";
    if checked_in == built {
        return;
    }
    let (old, new): (Vec<_>, Vec<_>) = (checked_in.lines().collect(), built.lines().collect());
    let same = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let end = end.min(old.len() - same).min(new.len() - same);
    let mut difference = String::new();
    for line in &old[same..old.len() - end] {
        writeln!(difference, "-{line}").expect("text");
    }
    for line in &new[same..new.len() - end] {
        writeln!(difference, "+{line}").expect("text");
    }
    panic!(
        "openapi.json is not what the code says, from line {}:\n{difference}\n\
         If that is what you want: cargo run --quiet -- openapi > openapi.json",
        same + 1
    );
}

#[tokio::test]
async fn the_served_document_is_the_built_one() {
    let app = App::start().await;
    assert_eq!(
        app.get("/api-docs/openapi.json").await.expect(200).body,
        *DOCUMENT
    );
}

#[test]
fn every_reference_leads_somewhere() {
    let document = &*DOCUMENT;
    let mut references = Vec::new();
    collect_references(document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let target = document.pointer(reference.trim_start_matches('#'));
        assert!(target.is_some(), "{reference} leads nowhere");
    }
}

fn collect_references(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                references.push(reference.clone());
            }
            object
                .values()
                .for_each(|value| collect_references(value, references));
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect_references(value, references)),
        _ => {}
    }
}

#[test]
fn every_operation_is_described_in_full() {
    let mut ids = BTreeSet::new();
    for Operation {
        method,
        path,
        says: operation,
    } in operations()
    {
        let name = format!("{method} {path}");
        let id = operation["operationId"].as_str().expect(&name);
        assert!(ids.insert(id.to_owned()), "{id} stands twice");
        let verb = id.split('_').next().expect("verb");
        let expected: &[_] = match method {
            Method::GET => &["read", "list"],
            Method::POST => &[
                "create", "report", "cancel", "retry", "rotate", "revoke", "revoke",
            ],
            Method::PUT => &["replace"],
            Method::PATCH => &["update"],
            Method::DELETE => &["delete"],
            _ => &[],
        };
        assert!(
            expected.contains(&verb),
            "{name}: {id} begins with none of {expected:?}"
        );
        assert!(
            id.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{id} is not lower_snake"
        );
        assert_eq!(
            operation["tags"].as_array().map(Vec::len),
            Some(1),
            "{name} has one tag"
        );
        assert!(
            operation["summary"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{name} has a summary"
        );
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(
                parameter["description"].is_string(),
                "{name}: {} says what it is",
                parameter["name"]
            );
        }
    }
}

#[test]
fn every_failure_is_a_problem() {
    for Operation {
        method,
        path,
        says: operation,
    } in operations()
    {
        for (status, response) in operation["responses"].as_object().expect("responses") {
            if status.starts_with(['2', '3']) {
                continue;
            }
            let content = response["content"].as_object().expect("content");
            let types: Vec<_> = content.keys().collect();
            assert_eq!(
                types,
                ["application/problem+json"],
                "{method} {path} {status}"
            );
            let schema = &content["application/problem+json"]["schema"];
            assert_eq!(
                schema,
                &json!({"$ref": "#/components/schemas/Problem"}),
                "{method} {path} {status}"
            );
        }
    }
}

#[test]
fn what_is_created_is_linked_with_what_can_be_done_to_it() {
    let operations = operations();
    let by_id = |id: &str| {
        let mut found = operations.iter();
        found.find(|operation| operation.says["operationId"] == id)
    };
    for (create, follow) in [
        ("create_member", "update_member"),
        ("create_member", "list_mail_records_of_member"),
        ("create_mail_record", "delete_mail_record"),
        ("create_consent", "read_consent"),
        ("create_suppression", "delete_suppression"),
    ] {
        let create = by_id(create).expect(create);
        let links = create.says["responses"]["201"]["links"].as_object();
        let links = links.expect("links");
        assert!(links.contains_key(follow), "{follow}");
        for link in links.values() {
            let target = link["operationId"].as_str().expect("an id");
            let target = by_id(target).expect(target);
            let mut needed = target.parameters("path");
            needed.sort_unstable();
            let given: Vec<_> = link["parameters"]
                .as_object()
                .expect("given")
                .keys()
                .collect();
            assert_eq!(
                given,
                needed.iter().collect::<Vec<_>>(),
                "{}",
                target.name()
            );
        }
    }
}

#[test]
fn nothing_in_the_document_is_of_an_older_version() {
    let document = &*DOCUMENT;
    assert_eq!(document["openapi"], "3.1.0");
    assert!(!document.to_string().contains("\"nullable\""));
}

/// Fills the register as `seed` does, and answers each operation's request as the document has it.
#[tokio::test]
async fn every_example_works_as_it_stands() {
    let app = App::start_with_key().await;
    let mut sql = app.sql().await;
    for operation in operations() {
        let name = operation.name();
        for fill in [
            "DELETE FROM members WHERE $1 <> $2 AND $3 <> $4",
            "INSERT INTO members (id, external_id, name, email, email_folded, joined)
             SELECT $1, 'person-1', 'Person 1', 'person-1@example.org', 'person-1@example.org', now()
             WHERE $1 <> $2 AND $3 <> $4",
            "INSERT INTO mail_records (member_id, id, recipient, recipient_folded, subject)
             SELECT $1, $2, 'a@example.org', 'a@example.org', 'Hi' WHERE $3 <> $4",
            "DELETE FROM suppressions WHERE $1 <> $2 AND $3 <> $4",
            "INSERT INTO suppressions (id, address_hash, reason, scope, origin)
             SELECT $3, address_hash('a@example.org'), 'manual', 'all', 'api'
             WHERE $1 <> $2 AND $3 <> $4",
            "INSERT INTO consents (member_id, id, state) SELECT $1, $4, 'granted' WHERE $3 <> $2",
            "DELETE FROM access_keys WHERE id = '018cc251-f40a-7fff-8000-00000000000b' AND $1 <> $2 AND $3 <> $4",
            "INSERT INTO access_keys (id, name, secret_hash, scopes)
             SELECT '018cc251-f40a-7fff-8000-00000000000b', 'a', sha256('a'), '{admin}'
             WHERE $1 <> $2 AND $3 <> $4",
            "INSERT INTO mail_events (member_id, mail_record_id, id, type, occurred_at, effect)
             SELECT $1, $2, $2, 'recorded', now(), 'applied' WHERE $3 <> $4",
        ] {
            sqlx::query(fill)
                .bind(seed::id(0, None))
                .bind(seed::id(0, Some(0)))
                .bind(seed::suppression_id(9))
                .bind(seed::consent_id(0))
                .execute(&mut sql)
                .await
                .expect("a row");
        }
        if operation.path.ends_with("/retry") {
            sqlx::raw_sql("UPDATE mail_records SET status = 'failed'")
                .execute(&mut sql)
                .await
                .expect("failed");
        }
        let url = fill(&operation.path, |parameter| parameter.example().to_owned());
        let mut request = app.request(operation.method.clone(), &url);
        if let Some(media_type) = operation.media_type() {
            assert!(operation.body()["example"].is_object(), "{name}");
            request = request
                .of_type(media_type)
                .json(&operation.example().into());
        }
        let answer = request.send().await;
        assert!(answer.status.is_success(), "{name}: {}", answer.text);
    }
}

#[tokio::test]
async fn every_operation_refuses_a_parameter_that_it_does_not_know() {
    let app = App::start().await;
    let id = uuid::Uuid::now_v7().to_string();
    for Operation { method, path, .. } in operations() {
        if path.starts_with("/livez") || path.starts_with("/readyz") {
            continue;
        }
        let path = fill(&path, |_| id.clone());
        let request = app
            .request(method, &format!("{path}?verbose=1"))
            .json(&json!({"name": "x"}));
        let code = request
            .send()
            .await
            .error_at(400, "invalid_parameter", "verbose");
        assert_eq!(code, "unknown");
    }
}
