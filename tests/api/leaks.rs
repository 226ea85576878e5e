//! What a refusal and the log must not tell: anything of the database, and anything of other people.

use hyper::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::kit::{
    Answer, App,
    document::{Subject, api_operations, resource_operations},
    log::Log,
};

const MEMBERS: &str = "/api/v1/members";

/// What Ann's rows hold, which nobody else sends.
const OF_ANN: [&str; 9] = [
    "ann.secret",
    "Secret Name",
    "secret-key",
    "1961-05-04",
    "Secret Subject",
    "secret-provider",
    "secret-message",
    "secret-tag",
    "secret-value",
];

/// What only someone who knows the database would write.
const OF_THE_DATABASE: [&str; 23] = [
    "members_",
    "mail_records_",
    "consents_",
    "suppressions_",
    "address_hash",
    "_folded",
    "_fkey",
    "_check",
    "_idx",
    "relation",
    "constraint",
    "violates",
    "duplicate key",
    "SELECT",
    "INSERT",
    "UPDATE ",
    "DELETE FROM",
    "sqlx",
    "Postgres",
    "SQLSTATE",
    "column",
    "22P05",
    "23505",
];

fn ann() -> Value {
    json!({
        "name": "Secret Name", "email": "Ann.Secret@example.org", "external_id": "secret-key",
        "birth": "1961-05-04", "tags": ["secret-tag"], "attributes": {"a": "secret-value"}
    })
}

fn mail() -> Value {
    json!({
        "subject": "Secret Subject", "external_id": "secret-key", "provider": "secret-provider",
        "provider_message_id": "secret-message", "message_id": "secret-message@example.org",
        "tags": ["secret-tag"], "metadata": {"a": "secret-value"}
    })
}

/// Expects an answer that tells nothing but what is in `sent`.
#[track_caller]
fn assert_discreet(answer: &Answer, sent: &str) {
    let sent = sent.to_lowercase();
    let told = answer.text.to_lowercase();
    for secret in OF_ANN {
        let secret = secret.to_lowercase();
        assert!(
            sent.contains(&secret) || !told.contains(&secret),
            "{secret} in {}",
            answer.text
        );
    }
    for word in OF_THE_DATABASE {
        assert!(!answer.text.contains(word), "{word} in {}", answer.text);
    }
}

#[tokio::test]
async fn a_conflict_tells_nothing_of_what_it_is_in_conflict_with() {
    let app = App::start().await;
    let path = app.post(MEMBERS, ann()).await.created();
    app.post(&format!("{path}/mail-records"), mail())
        .await
        .created();
    let bob = app.member("bob").await;
    let other = app.mail_record(&path, "Other").await;

    for body in [
        json!({"name": "x", "email": "ANN.SECRET@EXAMPLE.ORG"}),
        json!({"name": "x", "external_id": "secret-key"}),
        json!({"name": "x", "email": "ann.secret@example.org", "external_id": "secret-key"}),
    ] {
        let sent = body.to_string();
        for answer in [
            app.post(MEMBERS, body.clone()).await,
            app.put(&bob, body).await,
        ] {
            let answer = answer.expect(409);
            assert_discreet(&answer, &sent);
            assert_eq!(answer.body["errors"], json!([]));
        }
    }
    let key = json!({"subject": "x", "external_id": "secret-key"});
    let id = json!({
        "subject": "x", "provider": "secret-provider", "provider_message_id": "secret-message"
    });
    let records = format!("{path}/mail-records");
    for body in [key, id] {
        let sent = body.to_string();
        for answer in [
            app.post(&records, body.clone()).await,
            app.put(&other, body).await,
        ] {
            assert_discreet(&answer.expect(409), &sent);
        }
    }
    for retry_of in [
        uuid::Uuid::now_v7().to_string(),
        other.rsplit('/').next().expect("id").into(),
    ] {
        // The first does not exist, the second is another member's.
        let body = json!({"subject": "x", "retry_of": retry_of});
        let answer = app
            .post(&format!("{bob}/mail-records"), body)
            .await
            .expect(422);
        assert_discreet(&answer, "");
    }
}

#[tokio::test]
async fn what_is_too_long_is_refused_before_the_database_sees_it() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in resource_operations() {
        for field in operation.fields().keys() {
            for value in [
                json!("x".repeat(100_000)),
                json!(["x".repeat(100_000)]),
                json!({"a": "x".repeat(100_000)}),
            ] {
                let mut body = operation.example();
                body.insert(field.clone(), value);
                let answer = operation
                    .request(&app, &ann)
                    .json(&body.into())
                    .send()
                    .await;
                assert_eq!(answer.status, 422, "{field}: {}", answer.text);
                assert_discreet(&answer, "");
            }
        }
    }
}

/// What Postgres refuses for reasons that the service does not know.
const CHANGES: [(&str, &str); 4] = [
    (
        "a constraint",
        "ALTER TABLE members ADD CONSTRAINT members_secret_check CHECK (name = 'Secret Name');
         ALTER TABLE mail_records ADD CONSTRAINT mail_records_secret_check CHECK (subject = 'Secret Subject')",
    ),
    (
        "a trigger that tells everything",
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'Secret Name ann.secret@example.org %', to_jsonb(NEW); END $$;
         CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON members FOR EACH ROW EXECUTE FUNCTION tell();
         CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON mail_records FOR EACH ROW EXECUTE FUNCTION tell()",
    ),
    (
        "a conversion that names the value",
        "CREATE OR REPLACE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM ('Secret Name ann.secret@example.org ' || to_jsonb(NEW))::int; RETURN NEW; END $$;
         CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON members FOR EACH ROW EXECUTE FUNCTION tell();
         CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON mail_records FOR EACH ROW EXECUTE FUNCTION tell()",
    ),
    (
        "columns that are gone",
        "ALTER TABLE members DROP COLUMN name; ALTER TABLE mail_records DROP COLUMN subject",
    ),
];

#[tokio::test]
async fn a_failure_of_the_database_is_told_to_the_log_only_and_without_the_row() {
    for (what, change) in CHANGES {
        let log = Log::capture();
        let app = App::start().await;
        let member = app.post(MEMBERS, ann()).await.created();
        let record = app
            .post(&format!("{member}/mail-records"), mail())
            .await
            .created();
        let id = |path: &str| path.rsplit('/').next().expect("an id").to_owned();
        let subject = Subject {
            member_id: id(&member),
            external_id: "secret-key".to_owned(),
            email: "Ann.Secret@example.org".to_owned(),
            mail_record_id: id(&record),
            member,
            mail_record: record,
            ..Subject::default()
        };
        sqlx::raw_sql(change)
            .execute(&mut app.sql().await)
            .await
            .expect(what);
        let mut failed = 0;
        for operation in api_operations() {
            if operation.method == Method::DELETE {
                continue;
            }
            let mut request = operation.request(&app, &subject);
            if operation.says["requestBody"].is_object() {
                request = request.json(&operation.example_on(&subject));
            }
            let answer = request.send().await;
            if answer.status == 500 {
                failed += 1;
                assert_discreet(&answer, "");
                answer.problem(500, "internal_error");
            }
        }
        assert!(failed >= 4, "{what}: {failed}");
        let log = log.text();
        assert!(
            log.contains("query failed") && log.contains("sqlstate"),
            "{log}"
        );
        assert_names_nobody(&log);
    }
}

/// Each kind of refusal by which Postgres may end a write, with what it is answered with: values that
/// do not fit, violated constraints, and conflicts between transactions that pass when tried again.
const KINDS: [(&str, u16, &str); 9] = [
    ("22001", 500, "internal_error"),
    ("22003", 500, "internal_error"),
    ("23502", 500, "internal_error"),
    ("23503", 500, "internal_error"),
    ("23505", 500, "internal_error"),
    ("23514", 500, "internal_error"),
    ("23P01", 500, "internal_error"),
    ("40001", 503, "write_conflict"),
    ("40P01", 503, "write_conflict"),
];

#[tokio::test]
async fn whatever_kind_of_refusal_ends_a_write_nothing_of_it_is_told() {
    let log = Log::capture();
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let mut sql = app.sql().await;
    for (state, status, code) in KINDS {
        let refuse = format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE EXCEPTION USING ERRCODE = '{state}', MESSAGE = 'violates constraint members_secret_check',
                 DETAIL = 'Failing row contains (Secret Name, ann.secret@example.org).',
                 CONSTRAINT = 'members_secret_check', COLUMN = 'email_folded', TABLE = 'members_secret';
             END $$;
             CREATE OR REPLACE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON members
                 FOR EACH ROW EXECUTE FUNCTION refuse();
             CREATE OR REPLACE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON mail_records
                 FOR EACH ROW EXECUTE FUNCTION refuse();
             CREATE OR REPLACE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON consents
                 FOR EACH ROW EXECUTE FUNCTION refuse();
             CREATE OR REPLACE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON suppressions
                 FOR EACH ROW EXECUTE FUNCTION refuse()"
        );
        sqlx::raw_sql(AssertSqlSafe(refuse))
            .execute(&mut sql)
            .await
            .expect(state);
        for operation in api_operations() {
            if operation.method == Method::GET {
                continue;
            }
            operation.allow(&app, &ann).await;
            let mut request = operation.request(&app, &ann);
            if operation.media_type().is_some() {
                request = request.json(&operation.example_on(&ann));
            }
            let answer = request.send().await;
            assert_discreet(&answer, "");
            answer.problem(status, code);
        }
    }
    assert_names_nobody(&log.text());
}

#[track_caller]
fn assert_names_nobody(log: &str) {
    let lower = log.to_lowercase();
    assert!(
        !log.contains('@') && !lower.contains("%40"),
        "an address in {log}"
    );
    for secret in OF_ANN {
        assert!(!lower.contains(&secret.to_lowercase()), "{secret} in {log}");
    }
}

#[tokio::test]
async fn the_log_names_routes_and_no_people() {
    let log = Log::capture();
    let app = App::start().await;
    let member = app.post(MEMBERS, ann()).await.created();
    let records = format!("{member}/mail-records");
    app.post(&records, mail()).await.created();
    app.post(MEMBERS, ann()).await.expect(409);
    let mut other = mail();
    other["subject"] = "Another Secret Subject".into();
    app.post(&records, other).await.expect(409);
    for path in [
        format!("{MEMBERS}?email=ann.secret@example.org"),
        format!("{MEMBERS}?email=ann.secret%40example.org&tag=secret-tag"),
        format!("{MEMBERS}?external_id=secret-key"),
        "/api/v1/mail-records?recipient=ann.secret@example.org".to_owned(),
    ] {
        assert_eq!(app.get(&path).await.expect(200).ids().len(), 1, "{path}");
    }
    for path in [
        format!("{MEMBERS}/ann.secret@example.org"),
        format!("{MEMBERS}?email=ann.secret@@example.org"),
        format!("{MEMBERS}?ann.secret@example.org=1"),
        format!("{MEMBERS}?status=secret-value"),
        "/ann.secret@example.org/secret-key".to_owned(),
        "/swagger-ui/ann.secret@example.org".to_owned(),
    ] {
        assert!(app.get(&path).await.status.is_client_error(), "{path}");
    }
    for body in [
        json!({"ann.secret@example.org": 1}),
        json!({"name": ["Secret Name"]}),
    ] {
        app.post(MEMBERS, body).await.expect(422);
    }
    app.request(Method::GET, MEMBERS)
        .header("x-request-id", "ann.secret@example.org")
        .header("cookie", "secret-value")
        .header("user-agent", "secret-value")
        .send()
        .await
        .expect(200);

    let log = log.text();
    assert!(log.lines().count() >= 17, "{log}");
    assert!(
        log.contains("external_id_taken") && log.contains("/api/v1/members/{member_id}"),
        "{log}"
    );
    assert_names_nobody(&log);
}
