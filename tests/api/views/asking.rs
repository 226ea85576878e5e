//! Filters, orders, searches and paths that would tell a hidden field.

use std::collections::BTreeSet;

use serde_json::json;

use super::{marked, scopes, start_hiding};
use crate::kit::{
    App,
    document::{Subject, api_operations},
    lists::lists,
    views::hiding,
};

const MEMBERS: &str = "/api/v1/members";
const MAIL_RECORDS: &str = "/api/v1/mail-records";

/// What must not be asked where a field is hidden: the field, the path, and the parameter.
const ASKED: [(&str, &str, &str); 29] = [
    ("members.birth", "/api/v1/members?sort=birth", "sort"),
    ("members.birth", "/api/v1/members?sort=-birth", "sort"),
    ("members.name", "/api/v1/members?sort=name", "sort"),
    ("members.name", "/api/v1/members?q=marked", "q"),
    ("members.email", "/api/v1/members?q=marked", "q"),
    (
        "members.email",
        "/api/v1/members?email=ann@example.org",
        "email",
    ),
    (
        "members.email",
        "/api/v1/members/by-email/ann@example.org",
        "email",
    ),
    (
        "members.email",
        "/api/v1/members/{member_id}/mail-eligibility",
        "member_id",
    ),
    (
        "members.mailability",
        "/api/v1/members?mailability=ok",
        "mailability",
    ),
    (
        "members.mailability",
        "/api/v1/members/{member_id}/mail-eligibility",
        "member_id",
    ),
    (
        "members.external_id",
        "/api/v1/members?external_id=ann-1",
        "external_id",
    ),
    (
        "members.external_id",
        "/api/v1/members/by-external-id/ann-1",
        "external_id",
    ),
    (
        "members.joined",
        "/api/v1/members?joined_from=2000-01-01",
        "joined_from",
    ),
    (
        "members.joined",
        "/api/v1/members?joined_to=2000-01-01",
        "joined_to",
    ),
    ("members.joined", "/api/v1/members?sort=-joined", "sort"),
    ("members.status", "/api/v1/members?status=active", "status"),
    ("members.tags", "/api/v1/members?tag=board", "tag"),
    (
        "mail_records.status",
        "/api/v1/mail-records?status=sent",
        "status",
    ),
    (
        "mail_records.status_at",
        "/api/v1/mail-records?sort=status_at",
        "sort",
    ),
    (
        "mail_records.recipient",
        "/api/v1/mail-records?recipient=ann@example.org",
        "recipient",
    ),
    (
        "mail_records.category",
        "/api/v1/mail-records?category=marketing",
        "category",
    ),
    (
        "mail_records.subject",
        "/api/v1/mail-records?subject=marked",
        "subject",
    ),
    (
        "mail_events.type",
        "/api/v1/members/{member_id}/mail-records/{id}/events?type=sent",
        "type",
    ),
    (
        "mail_events.occurred_at",
        "/api/v1/members/{member_id}/mail-records/{id}/events?sort=occurred_at",
        "sort",
    ),
    (
        "consents.topic",
        "/api/v1/members/{member_id}/consents?topic=a",
        "topic",
    ),
    (
        "consents.state",
        "/api/v1/members/{member_id}/consents?current=true",
        "current",
    ),
    (
        "suppressions.address",
        "/api/v1/suppressions?address=ann@example.org",
        "address",
    ),
    (
        "suppressions.reason",
        "/api/v1/suppressions?reason=manual",
        "reason",
    ),
    (
        "suppressions.scope",
        "/api/v1/suppressions?scope=all",
        "scope",
    ),
];

#[tokio::test]
async fn what_would_tell_a_hidden_field_is_refused_by_the_name_of_the_parameter() {
    let views = ASKED.iter().map(|(field, _, _)| hiding(field, &[field]));
    let mut views: Vec<_> = views.collect();
    views.sort();
    views.dedup();
    let app = App::start_with_views(views.concat()).await;
    let subject = marked(&app).await;
    for (field, path, parameter) in ASKED {
        let path = path
            .replace("{member_id}", &subject.member_id)
            .replace("{id}", &subject.mail_record_id);
        app.get(&path).await.expect(200);
        let key = app.key_with_view(&scopes(), field).await.key;
        for form in ["", "text/csv", "text/event-stream"] {
            let request = app.request(hyper::Method::GET, &path).with_key(&key);
            let request = if form.is_empty() {
                request
            } else {
                request.header("accept", form)
            };
            let answer = request.send().await;
            assert_eq!(
                answer.error_at(403, "field_hidden", parameter),
                "hidden",
                "{field}: {path}"
            );
        }
    }
}

/// So that none is added which tells what nobody thought of.
#[tokio::test]
async fn of_every_parameter_it_is_known_what_it_tells() {
    let hidden = [
        "members.attributes",
        "mail_records.metadata",
        "mail_events.url",
        "mail_summary.total",
        "consents.source",
        "suppressions.origin",
        "eligibility.reasons",
    ];
    let (app, key) = start_hiding(&hidden).await;
    let subject = Subject::create(&app).await;
    for operation in api_operations() {
        let path = operation.path_on(&subject);
        let mut paths = vec![path.clone()];
        for name in operation.parameters("query") {
            paths.push(format!("{path}?{name}=1"));
        }
        for path in paths {
            // Nothing is done: the body is none.
            let request = app.request(operation.method.clone(), &path).with_key(&key);
            let request = request
                .header("if-match", "\"999\"")
                .header("content-type", "text/plain");
            let answer = request.send().await;
            assert!(
                !answer.text.contains("not known to tell"),
                "{path}: {}",
                answer.text
            );
        }
    }
}

#[tokio::test]
async fn every_order_by_a_hidden_field_is_refused_and_so_is_a_cursor_in_it() {
    let (app, key) = start_hiding(&["members.birth"]).await;
    for name in ["a", "b", "c"] {
        app.member(name).await;
    }
    let page = app
        .get("/api/v1/members?sort=birth&limit=1")
        .await
        .expect(200);
    let cursor = page.cursor("next_cursor").expect("a cursor");
    let ask = |query: String| {
        let path = format!("{MEMBERS}?{query}");
        app.request(hyper::Method::GET, &path).with_key(&key).send()
    };
    let answer = ask(format!("sort=birth&limit=1&cursor={cursor}")).await;
    assert_eq!(answer.error_at(403, "field_hidden", "sort"), "hidden");
    ask(format!("limit=1&cursor={cursor}"))
        .await
        .problem(400, "invalid_parameter");
    let request = app.request(hyper::Method::GET, MEMBERS).with_key(&key);
    let request = request
        .header("accept", "text/event-stream")
        .header("last-event-id", cursor);
    request.send().await.problem(400, "invalid_header");
    // Of the orders that are left, each can be leafed through.
    for sort in ["", "sort=name&", "sort=-joined&", "sort=created_at&"] {
        let page = ask(format!("{sort}limit=1")).await.expect(200);
        let cursor = page.cursor("next_cursor").expect("a cursor");
        ask(format!("{sort}limit=1&cursor={cursor}"))
            .await
            .expect(200);
    }
}

#[tokio::test]
async fn each_order_of_each_list_is_refused_where_its_field_is_hidden() {
    let orders = lists().into_iter().flat_map(|list| {
        let words = list.operation.words("sort").into_iter();
        let words: Vec<_> = words.map(str::to_owned).collect();
        words.into_iter().map(move |word| (list.clone(), word))
    });
    let mut orders: Vec<_> = orders.collect();
    orders.retain(|(_, word)| word.trim_start_matches('-') != "created_at");
    // It is for the scope that takes no view.
    orders.retain(|(list, _)| list.table != "audit_log");
    let hidden = |table: &str, word: &str| format!("{table}.{}", word.trim_start_matches('-'));
    let fields = orders.iter().map(|(list, word)| hidden(list.table, word));
    let fields: BTreeSet<_> = fields.collect();
    let views = fields.iter().map(|field| hiding(field, &[field]));
    let app = App::start_with_views(views.collect()).await;
    let subject = Subject::create(&app).await;
    for (list, word) in orders {
        let view = hidden(list.table, &word);
        let key = app.key_with_view(&scopes(), &view).await.key;
        let path = format!("{}?sort={word}", list.path_on(&subject));
        let request = app.request(hyper::Method::GET, &path).with_key(&key);
        let answer = request.send().await;
        assert_eq!(
            answer.error_at(403, "field_hidden", "sort"),
            "hidden",
            "{path}"
        );
    }
}

#[tokio::test]
async fn whether_a_member_may_be_mailed_is_not_told_by_writing_only_if_so() {
    let (app, key) = start_hiding(&["members.mailability"]).await;
    let subject = Subject::create(&app).await;
    let path = format!("{}/mail-records?if_eligible=true", subject.member);
    let body = json!({"subject": "x", "recipient": "ann@example.org"});
    let request = app
        .request(hyper::Method::POST, &path)
        .with_key(&key)
        .json(&body);
    let answer = request.send().await;
    assert_eq!(
        answer.error_at(403, "field_hidden", "if_eligible"),
        "hidden"
    );
    assert_eq!(app.get(MAIL_RECORDS).await.ids().len(), 1);
}

#[tokio::test]
async fn what_is_refused_by_a_hidden_status_or_reason_is_refused_in_any_case() {
    let (app, key) = start_hiding(&["mail_records.status", "suppressions.reason"]).await;
    let subject = Subject::create(&app).await;
    for (method, path) in [
        ("POST", format!("{}/cancel", subject.mail_record)),
        ("POST", format!("{}/retry", subject.mail_record)),
        ("DELETE", subject.suppression.clone()),
    ] {
        let request = app.request(method.parse().expect("a method"), &path);
        request
            .with_key(&key)
            .send()
            .await
            .problem(403, "field_hidden");
    }
}
