//! A suppression is the same, whichever way it came in: by an event, by the API, or by an import.

use serde_json::{Value, json};

use crate::kit::App;

const MEMBERS: &str = "/api/v1/members";
const SUPPRESSIONS: &str = "/api/v1/suppressions";
/// What an event makes, by its type.
const BLOCKS: [(&str, &str); 3] = [
    ("bounced", "hard_bounce"),
    ("complained", "complaint"),
    ("unsubscribed", "unsubscribe"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Event,
    Api,
    Import,
}

/// A member called `name`, with mail that was sent to her.
async fn member(app: &App, name: &str) -> (String, String) {
    let member = app.member(name).await;
    let mail = app.mail_record(&member, "Hi").await;
    (member, mail)
}

async fn block(app: &App, way: Way, name: &str, mail: &str, (event, reason): (&str, &str)) {
    let address = format!("{name}@example.org");
    let answer = match way {
        Way::Event => {
            app.post(&format!("{mail}/events"), json!({"type": event}))
                .await
        }
        Way::Api => {
            let body = json!({"address": address, "reason": reason});
            app.post(SUPPRESSIONS, body).await
        }
        Way::Import => {
            let body =
                json!({"address": address.to_uppercase(), "reason": reason, "origin": "import"});
            app.post(SUPPRESSIONS, body).await
        }
    };
    assert!(answer.status.is_success(), "{}", answer.text);
}

/// All that clients see of what a member can be mailed, but for ids, times and where it came from.
async fn state(app: &App, member: &str, name: &str) -> Value {
    let read = app.get(member).await.expect(200).body;
    let word = read["mailability"].as_str().expect("a word");
    let listed = app
        .get(&format!("{MEMBERS}?mailability={word}"))
        .await
        .expect(200);
    assert!(
        listed
            .ids()
            .contains(&read["id"].as_str().expect("an id").to_owned())
    );
    let path = format!("{SUPPRESSIONS}?address={name}@example.org");
    let mut suppressions = app.get(&path).await.expect(200).body["data"].take();
    for suppression in suppressions.as_array_mut().expect("rows") {
        for own in [
            "id",
            "address",
            "origin",
            "source_mail_record_id",
            "created_at",
            "updated_at",
        ] {
            suppression[own] = Value::Null;
        }
    }
    let mut eligibility = Vec::new();
    for category in ["transactional", "marketing"] {
        let path = format!("{member}/mail-eligibility?category={category}");
        let mut answer = app.get(&path).await.expect(200).body;
        for reason in answer["reasons"].as_array_mut().expect("reasons") {
            reason["suppression_id"] = Value::Null;
        }
        let mail = format!("{member}/mail-records?if_eligible=true");
        let body = json!({"subject": "Hi", "category": category});
        let written = app.post(&mail, body).await.status.as_u16();
        eligibility.push(json!([answer, written]));
    }
    json!([word, read["version"], suppressions, eligibility])
}

/// Each by itself leaves the same behind, and the one after the other what the first did.
async fn assert_same(one: Way, other: Way) {
    for kind in BLOCKS {
        let app = App::start().await;
        let (ann, to_ann) = member(&app, "ann").await;
        let (bob, to_bob) = member(&app, "bob").await;
        assert_eq!(
            state(&app, &ann, "ann").await,
            state(&app, &bob, "bob").await
        );
        block(&app, one, "ann", &to_ann, kind).await;
        block(&app, other, "bob", &to_bob, kind).await;
        let blocked = state(&app, &ann, "ann").await;
        assert_ne!(blocked[0], "ok", "{kind:?}");
        assert_eq!(state(&app, &bob, "bob").await, blocked, "{kind:?}");
        block(&app, other, "ann", &to_ann, kind).await;
        block(&app, one, "bob", &to_bob, kind).await;
        assert_eq!(state(&app, &ann, "ann").await, blocked, "{kind:?}");
        assert_eq!(state(&app, &bob, "bob").await, blocked, "{kind:?}");
    }
}

#[tokio::test]
async fn what_an_event_and_a_request_suppress_is_the_same() {
    assert_same(Way::Event, Way::Api).await;
}

#[tokio::test]
async fn what_an_event_and_an_import_suppress_is_the_same() {
    assert_same(Way::Event, Way::Import).await;
}

#[tokio::test]
async fn what_a_request_and_an_import_suppress_is_the_same() {
    assert_same(Way::Api, Way::Import).await;
}

/// Who left can come back, by what is sent for that and by nothing else.
#[tokio::test]
async fn who_is_blocked_comes_back_by_a_deletion_of_the_suppression_or_a_new_consent_alone() {
    let app = App::start().await;
    let (ann, _) = member(&app, "ann").await;
    let again = json!({"name": "Ann", "email": "ann@example.org", "status": "active"});
    let consents = format!("{ann}/consents");
    app.post(&consents, json!({"state": "withdrawn"}))
        .await
        .expect(201);
    app.post(MEMBERS, again.clone())
        .await
        .problem(409, "email_taken");
    assert_eq!(app.get(&ann).await.body["mailability"], "unsubscribed");
    app.post(&consents, json!({"state": "granted"}))
        .await
        .expect(201);
    assert_eq!(app.get(&ann).await.body["mailability"], "ok");

    app.post(&consents, json!({"state": "withdrawn"}))
        .await
        .expect(201);
    app.delete(&ann).await.expect(204);
    let ann = app.post(MEMBERS, again).await.expect(201);
    assert_eq!(ann.body["mailability"], "unsubscribed");
    let ann = ann.header("location");
    // What is agreed to now does not undo what the address is suppressed for.
    let consents = format!("{ann}/consents");
    app.post(&consents, json!({"state": "granted"}))
        .await
        .expect(201);
    assert_eq!(app.get(ann).await.body["mailability"], "unsubscribed");
    let path = format!("{SUPPRESSIONS}?address=ann@example.org");
    let suppression = app.get(&path).await.ids().pop().expect("one");
    app.delete(&format!("{SUPPRESSIONS}/{suppression}"))
        .await
        .expect(204);
    assert_eq!(app.get(ann).await.body["mailability"], "ok");
}
