//! `/api/v1/members/{member_id}/mail-eligibility`.

use serde_json::{Value, json};

use crate::kit::App;

const ANN: &str = "ann@example.org";

async fn suppress(app: &App, body: Value) -> String {
    let answer = app.post("/api/v1/suppressions", body).await.expect(201);
    answer.body["id"].as_str().expect("an id").to_owned()
}

async fn say(app: &App, member: &str, topic: Option<&str>, state: &str) -> String {
    let body = json!({"topic": topic, "state": state});
    let answer = app.post(&format!("{member}/consents"), body).await;
    let answer = answer.expect(201);
    answer.body["id"].as_str().expect("an id").to_owned()
}

/// The codes of what is in the way.
async fn obstacles(app: &App, member: &str, query: &str) -> Vec<String> {
    let answer = app.get(&format!("{member}/mail-eligibility{query}")).await;
    let body = answer.expect(200).body;
    let reasons = body["reasons"].as_array().expect("reasons");
    assert_eq!(body["allowed"], reasons.is_empty());
    let codes = reasons.iter().map(|reason| reason["code"].as_str());
    codes.map(|code| code.expect("a code").to_owned()).collect()
}

#[tokio::test]
async fn a_newsletter_that_is_not_wanted_is_in_no_other_mails_way_and_a_dead_address_in_all() {
    let app = App::start().await;
    let (service, offer) = ("?category=transactional", "?category=marketing");
    for (body, in_service, in_offer) in [
        (json!({"reason": "hard_bounce"}), 1, 1),
        (json!({"reason": "complaint"}), 1, 1),
        (json!({"reason": "unsubscribe"}), 0, 1),
        (json!({"reason": "manual", "scope": "marketing"}), 0, 1),
        (
            json!({"reason": "invalid", "expires_at": "2100-01-01T00:00:00Z"}),
            1,
            1,
        ),
        (
            json!({"reason": "manual", "expires_at": "2000-01-01T00:00:00Z"}),
            0,
            0,
        ),
    ] {
        let ann = app.member("ann").await;
        let mut suppression = body.clone();
        suppression["address"] = "Ann@Example.org".into();
        let id = suppress(&app, suppression).await;
        assert_eq!(
            obstacles(&app, &ann, service).await.len(),
            in_service,
            "{body}"
        );
        assert_eq!(obstacles(&app, &ann, offer).await.len(), in_offer, "{body}");
        app.delete(&format!("/api/v1/suppressions/{id}?confirm=true"))
            .await
            .expect(204);
        assert!(obstacles(&app, &ann, offer).await.is_empty(), "{body}");
        app.delete(&ann).await.expect(204);
    }
}

#[tokio::test]
async fn all_that_is_in_the_way_is_named() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let body =
        json!({"address": ANN, "reason": "hard_bounce", "expires_at": "2100-01-01T00:00:00Z"});
    let bounce = suppress(&app, body).await;
    let unsubscribe = json!({"address": ANN, "reason": "unsubscribe"});
    let unsubscribe = suppress(&app, unsubscribe).await;
    let consent = say(&app, &ann, None, "withdrawn").await;
    let answer = app
        .get(&format!("{ann}/mail-eligibility"))
        .await
        .expect(200);
    let expected = json!({"allowed": false, "reasons": [
        {
            "code": "suppressed", "suppression_id": bounce, "reason": "hard_bounce", "scope": "all",
            "expires_at": "2100-01-01T00:00:00.000000Z"
        },
        {
            "code": "suppressed", "suppression_id": unsubscribe, "reason": "unsubscribe",
            "scope": "marketing", "expires_at": null
        },
        {"code": "consent_withdrawn", "consent_id": consent},
    ]});
    assert_eq!(answer.body, expected);

    let nobody = app.post("/api/v1/members", json!({"name": "Nobody"})).await;
    let nobody = nobody.created();
    for query in ["?category=transactional", ""] {
        assert_eq!(obstacles(&app, &nobody, query).await, ["no_address"]);
    }
    app.delete(&nobody).await.expect(204);
    app.get(&format!("{nobody}/mail-eligibility"))
        .await
        .problem(404, "member_not_found");
}

#[tokio::test]
async fn what_was_said_counts_for_its_topic_and_for_marketing_mail_alone() {
    let app = App::start().await;
    for (said, whole, news, offers) in [
        (&[][..], "", "", ""),
        (
            &[(Some("news"), "withdrawn")],
            "consent_withdrawn",
            "consent_withdrawn",
            "",
        ),
        (
            &[(Some("news"), "withdrawn"), (Some("club"), "granted")],
            "",
            "consent_withdrawn",
            "",
        ),
        (&[(Some("news"), "pending")], "", "consent_pending", ""),
        (
            &[(None, "withdrawn")],
            "consent_withdrawn",
            "consent_withdrawn",
            "consent_withdrawn",
        ),
        (
            &[(None, "withdrawn"), (Some("news"), "granted")],
            "consent_withdrawn",
            "",
            "consent_withdrawn",
        ),
        (
            &[(Some("news"), "granted"), (None, "withdrawn")],
            "consent_withdrawn",
            "consent_withdrawn",
            "consent_withdrawn",
        ),
        (
            &[(None, "granted"), (Some("news"), "pending")],
            "",
            "consent_pending",
            "",
        ),
    ] {
        let ann = app.member("ann").await;
        for (topic, state) in said {
            say(&app, &ann, *topic, state).await;
        }
        for (query, code) in [
            ("", whole),
            ("?topic=news", news),
            ("?topic=offers", offers),
        ] {
            let found = obstacles(&app, &ann, query).await;
            assert_eq!(found.concat(), code, "{said:?} {query}");
        }
        let mailability = app.get(&ann).await.expect(200).body["mailability"].clone();
        if mailability == "unsubscribed" {
            assert_eq!(whole, "consent_withdrawn", "{said:?}");
        }
        let found = obstacles(&app, &ann, "?category=transactional&topic=news").await;
        assert!(found.is_empty(), "{said:?}");
        // What she wanted of marketing mail outlives her deletion.
        app.delete(&ann).await.expect(204);
        sqlx::query("DELETE FROM suppressions")
            .execute(&app.pool)
            .await
            .expect("deleted");
    }
}

#[tokio::test]
async fn a_mail_record_is_written_if_the_member_may_be_mailed() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let records = format!("{ann}/mail-records");
    let mail = json!({"subject": "Hi", "category": "marketing"});
    let ask = async |query: &str, body: &Value| {
        app.post(&format!("{records}?{query}"), body.clone()).await
    };
    let written = ask("if_eligible=true", &mail).await.expect(201);
    assert_eq!(written.body["status"], "recorded");

    let unsubscribe = json!({"address": ANN, "reason": "unsubscribe"});
    suppress(&app, unsubscribe).await;
    say(&app, &ann, Some("news"), "pending").await;
    for (query, places) in [
        ("if_eligible=true", &[("#/recipient", "suppressed")][..]),
        (
            "if_eligible=true&otherwise=refuse",
            &[("#/recipient", "suppressed")],
        ),
        (
            "if_eligible=true&topic=news",
            &[
                ("#/recipient", "suppressed"),
                ("#/category", "consent_pending"),
            ],
        ),
    ] {
        let problem = ask(query, &mail).await.problem(409, "not_eligible");
        let errors = problem["errors"].as_array().expect("errors").iter();
        let found: Vec<_> = errors
            .map(|error| {
                (
                    error["pointer"].as_str().expect("a place"),
                    error["code"].as_str().expect("a code"),
                )
            })
            .collect();
        assert_eq!(found, places, "{query}");
    }
    assert_eq!(app.get(&records).await.ids().len(), 1);

    let query = "if_eligible=true&otherwise=suppress&topic=news";
    let suppressed = ask(query, &mail).await.expect(201);
    assert_eq!(suppressed.body["status"], "suppressed");
    assert_eq!(
        suppressed.body["status_reason"],
        "The address is suppressed: unsubscribe. Marketing mail was not agreed to yet."
    );
    let events = format!("{}/events", suppressed.header("location"));
    let events = app.get(&events).await.expect(200).body["data"].clone();
    assert_eq!(events[0]["type"], "suppressed");
    assert_eq!(events[0]["diagnostic"], suppressed.body["status_reason"]);

    // Another mail, another address, and whoever does not ask.
    let reset = json!({"subject": "Your password", "category": "transactional"});
    ask("if_eligible=true", &reset).await.expect(201);
    let elsewhere =
        json!({"subject": "Hi", "category": "marketing", "recipient": "lee@example.org"});
    ask("if_eligible=true", &elsewhere).await.expect(201);
    ask("otherwise=suppress", &mail).await.expect(201);
    let nobody = format!("/api/v1/members/{}/mail-records", uuid::Uuid::now_v7());
    app.post(&format!("{nobody}?if_eligible=true"), mail)
        .await
        .problem(404, "member_not_found");
}

#[tokio::test]
async fn a_mail_that_was_written_down_stays_so_whatever_is_in_the_way_since() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let mail = json!({"subject": "Hi", "external_id": "card-1"});
    for query in ["if_eligible=true", "if_eligible=true&otherwise=suppress"] {
        let records = format!("{ann}/mail-records?{query}");
        let first = app.post(&records, mail.clone()).await;
        assert_eq!(first.body["status"], "recorded");
        let suppression = suppress(&app, json!({"address": ANN})).await;
        let again = app.post(&records, mail.clone()).await.expect(200);
        assert_eq!(again.text, first.text);
        // One that was suppressed is the same mail, too.
        let other = json!({"subject": "Hi", "external_id": "card-2"});
        let suppressed = format!("{ann}/mail-records?if_eligible=true&otherwise=suppress");
        let first = app.post(&suppressed, other.clone()).await;
        assert_eq!(first.body["status"], "suppressed");
        let again = app.post(&suppressed, other).await.expect(200);
        assert_eq!(again.text, first.text);
        app.delete(&format!("/api/v1/suppressions/{suppression}"))
            .await
            .expect(204);
    }
}
