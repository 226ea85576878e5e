//! Lists walked from page to page: every row once, forward and back, whatever the order, the filter and
//! the size of a page, and whatever is added and deleted meanwhile.

use std::collections::HashSet;

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;
use uuid::Uuid;

use crate::kit::{
    Answer, App,
    document::Subject,
    lists::{List, lists},
};

/// What a row is sorted by, such that a vector of these sorts as the list does: the API's own words,
/// read without a look at its code.
fn keys(order: &str, row: &Value) -> (String, String) {
    let id = row["id"].as_str().expect("an id").to_owned();
    let name = order.trim_start_matches("sort=").trim_end_matches('&');
    let key = match name.trim_start_matches('-') {
        "" => String::new(),
        "name" => row["name"].as_str().expect("a name").to_lowercase(),
        "birth" => row["birth"].as_str().unwrap_or("later").to_owned(),
        field => row[field].as_str().expect(field).to_owned(),
    };
    (key, id)
}

fn falls(order: &str) -> bool {
    order.is_empty() || order.contains("=-")
}

#[track_caller]
fn assert_sorted(order: &str, rows: &[Value], asked: &str) {
    let mut keys: Vec<_> = rows.iter().map(|row| keys(order, row)).collect();
    if falls(order) {
        keys.reverse();
    }
    assert!(
        keys.is_sorted_by(|one, other| one < other),
        "{asked}: {keys:#?}"
    );
}

fn rows(page: &Answer) -> &[Value] {
    page.body["data"].as_array().expect("rows")
}

fn ids(rows: &[Value]) -> Vec<&str> {
    let ids = rows.iter().map(|row| row["id"].as_str().expect("an id"));
    ids.collect()
}

/// Rows that have much in common: few names, dates and times, and two in five members without a date
/// of birth. All of a statement have the same `created_at`, unless they are given another.
async fn fill(app: &App, ann: &Subject, seed: u64, count: i32) {
    sqlx::query(
        "INSERT INTO members (email, email_folded, id, name, name_folded, birth, joined, status, created_at)
         SELECT CASE WHEN n % 2 = 0 THEN 'a@example.org' END, CASE WHEN n % 2 = 0 THEN gen_random_uuid() || '@a.org' END,
                gen_random_uuid(), CASE WHEN n % 2 = 0 THEN 'Person ' ELSE 'person ' END || n % 4,
                'person ' || n % 4, CASE WHEN n % 5 < 3 THEN '1970-01-01'::date + n % 3 END,
                '2000-01-01'::date + n % 4, CASE WHEN n % 3 = 0 THEN 'pending' ELSE 'active' END,
                CASE WHEN n % 2 = 0 THEN now() ELSE '2026-01-01 00:00:00Z'::timestamptz + n % 6 * interval '1 microsecond' END
         FROM (SELECT (n * 7 + $2::bigint)::int AS n FROM generate_series(1, $1::int) n) s",
    )
    .bind(count)
    .bind(i64::try_from(seed % 1000).expect("small"))
    .execute(&app.pool)
    .await
    .expect("members");
    for statement in [
        "INSERT INTO mail_records (member_id, id, recipient, recipient_folded, subject, status, status_at, created_at)
         SELECT $2, gen_random_uuid(), 'a@example.org', 'a@example.org', '',
                CASE WHEN n % 3 = 0 THEN 'sent' ELSE 'recorded' END,
                '2026-01-01 00:00:00Z'::timestamptz + n % 4 * interval '1 microsecond',
                CASE WHEN n % 2 = 0 THEN now() ELSE '2026-01-01 00:00:00Z'::timestamptz + n % 6 * interval '1 microsecond' END
         FROM generate_series(1, $1::int) n",
        "INSERT INTO consents (member_id, id, state, occurred_at, created_at)
         SELECT $2, gen_random_uuid(), CASE WHEN n % 3 = 0 THEN 'pending' ELSE 'granted' END,
                '2026-01-01 00:00:00Z'::timestamptz + n % 4 * interval '1 microsecond',
                CASE WHEN n % 2 = 0 THEN now() ELSE '2026-01-01 00:00:00Z'::timestamptz + n % 6 * interval '1 microsecond' END
         FROM generate_series(1, $1::int) n",
        "INSERT INTO suppressions (id, address_hash, reason, scope, origin, created_at)
         SELECT gen_random_uuid(), address_hash(gen_random_uuid()::text),
                CASE WHEN n % 3 = 0 THEN 'complaint' ELSE 'manual' END, 'all', 'api',
                CASE WHEN n % 2 = 0 THEN now() ELSE '2026-01-01 00:00:00Z'::timestamptz + n % 6 * interval '1 microsecond' END
         FROM generate_series(1, $1::int) n WHERE $2::uuid IS NOT NULL",
        "INSERT INTO audit_log (id, at, operation, resource, resource_id, fields)
         SELECT gen_random_uuid(),
                CASE WHEN n % 2 = 0 THEN now() ELSE '2026-01-01 00:00:00Z'::timestamptz + n % 6 * interval '1 microsecond' END,
                'try', CASE WHEN n % 3 = 0 THEN 'consent' ELSE 'member' END, $2, '{}'
         FROM generate_series(1, $1::int) n",
    ] {
        sqlx::query(statement)
            .bind(count)
            .bind(ann.member_id.parse::<Uuid>().expect("an id"))
            .execute(&app.pool)
            .await
            .expect("rows");
    }
    sqlx::query(
        "INSERT INTO mail_events (member_id, mail_record_id, id, type, occurred_at, effect)
         SELECT $2, $3, gen_random_uuid(), CASE WHEN n % 3 = 0 THEN 'opened' ELSE 'clicked' END,
                '2026-01-01 00:00:00Z'::timestamptz + n % 4 * interval '1 microsecond', 'applied'
         FROM generate_series(1, $1::int) n",
    )
    .bind(count)
    .bind(ann.member_id.parse::<Uuid>().expect("an id"))
    .bind(ann.mail_record_id.parse::<Uuid>().expect("an id"))
    .execute(&app.pool)
    .await
    .expect("events");
}

/// Lists in every order, with a filter and without.
fn queries(list: &List) -> Vec<(String, String)> {
    let filters: &[&str] = match list.table {
        "members" => &["", "status=pending&", "mailability=ok&"],
        "mail_records" => &["", "status=sent&"],
        "mail_events" => &["", "type=opened&"],
        "consents" => &["", "state=pending&"],
        "audit_log" => &["", "resource=consent&"],
        _ => &["", "reason=complaint&"],
    };
    let orders = list.orders();
    let filtered = orders.into_iter().flat_map(|order| {
        let filters = filters.iter();
        filters.map(move |filter| (format!("{order}{filter}"), order.clone()))
    });
    let mut queries: Vec<_> = filtered.collect();
    if list.table == "mail_records" {
        let narrowed = "created_from=2000-01-01T00:00:00Z&".to_owned();
        queries.push((narrowed, "sort=-created_at&".to_owned()));
    }
    queries
}

#[tokio::test]
async fn every_row_is_met_once_in_every_order_forward_and_back() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    fill(&app, &ann, 0, 19).await;
    for list in lists() {
        let path = list.path_on(&ann);
        for (query, order) in queries(&list) {
            let all = app
                .get(&format!("{path}?{query}limit=500"))
                .await
                .expect(200);
            let all = rows(&all).to_vec();
            assert!(all.len() > 5);
            assert_sorted(&order, &all, &query);
            for limit in [1, 4, all.len(), 500] {
                let asked = format!("{path}?{query}limit={limit}");
                let mut page = app.get(&asked).await.expect(200);
                assert_eq!(page.cursor("prev_cursor"), None, "{asked}");
                let mut met = rows(&page).to_vec();
                while let Some(next) = page.cursor("next_cursor") {
                    page = app.get(&format!("{asked}&cursor={next}")).await.expect(200);
                    assert!(!rows(&page).is_empty(), "{asked}");
                    met.extend_from_slice(rows(&page));
                }
                assert_eq!(ids(&met), ids(&all), "{asked}");

                let mut met = rows(&page).to_vec();
                while let Some(prev) = page.cursor("prev_cursor") {
                    page = app.get(&format!("{asked}&cursor={prev}")).await.expect(200);
                    assert!(!rows(&page).is_empty(), "{asked}");
                    met.splice(..0, rows(&page).to_vec());
                }
                assert_eq!(ids(&met), ids(&all), "{asked}, back");
            }
        }
    }
}

/// What happens between two pages.
#[derive(Debug, Clone)]
enum Event {
    Add(u64),
    /// Deletes the row at this place of those that were met last.
    DeleteMet(prop::sample::Index),
    DeleteAny,
    Turn,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        any::<u64>().prop_map(Event::Add),
        any::<prop::sample::Index>().prop_map(Event::DeleteMet),
        Just(Event::DeleteAny),
        Just(Event::Turn),
    ]
}

/// Walks to and fro while rows come and go, and checks what each page must hold: the rows of the list
/// next to the place that was left, as the list is now.
async fn walk_while_the_list_changes(
    app: &App,
    ann: &Subject,
    list: &List,
    (query, order): &(String, String),
    limit: usize,
    events: &[Event],
) {
    let table = list.table;
    let path = list.path_on(ann);
    let asked = format!("{path}?{query}limit={limit}");
    let mut page = app.get(&asked).await.expect(200);
    let mut forward = true;
    // The place that was left: behind what was met last, or in front of it.
    let mut gap: Option<((String, String), bool)> = None;
    for event in events {
        let met = rows(&page).to_vec();
        match event {
            Event::Add(seed) => fill(app, ann, *seed, 3).await,
            Event::Turn => forward = !forward,
            Event::DeleteAny => delete(app, ann, table, None).await,
            Event::DeleteMet(at) if !met.is_empty() => {
                let id = at.get(&met)["id"].as_str().expect("an id").to_owned();
                delete(app, ann, table, Some(id)).await;
            }
            Event::DeleteMet(_) => {}
        }
        let way = if forward {
            "next_cursor"
        } else {
            "prev_cursor"
        };
        let Some(cursor) = page.cursor(way) else {
            forward = !forward;
            continue;
        };
        let edge = if forward { met.last() } else { met.first() };
        if let Some(edge) = edge {
            gap = Some((keys(order, edge), forward));
        }
        let (key, behind) = gap.clone().expect("a page that was not empty");
        let all = app
            .get(&format!("{path}?{query}limit=500"))
            .await
            .expect(200);
        let all = rows(&all);
        // How many rows of the list, as it is now, are in front of the place.
        let before = all
            .iter()
            .take_while(|row| {
                let other = keys(order, row);
                let first = if falls(order) {
                    other > key
                } else {
                    other < key
                };
                first || (behind && other == key)
            })
            .count();
        let expected = if forward {
            &all[before..all.len().min(before + limit)]
        } else {
            &all[before.saturating_sub(limit)..before]
        };
        page = app
            .get(&format!("{asked}&cursor={cursor}"))
            .await
            .expect(200);
        assert_eq!(ids(rows(&page)), ids(expected), "{asked} {event:?}");
    }
}

async fn delete(app: &App, ann: &Subject, table: &str, id: Option<String>) {
    let delete = format!(
        "DELETE FROM {table} WHERE id <> ALL ($2)
             AND id = coalesce($1::uuid, (SELECT id FROM {table} WHERE id <> ALL ($2) LIMIT 1))"
    );
    sqlx::query(sqlx::AssertSqlSafe(delete))
        .bind(id.map(|id| id.parse::<Uuid>().expect("an id")))
        .bind([&ann.member_id, &ann.mail_record_id].map(|id| id.parse::<Uuid>().expect("an id")))
        .execute(&app.pool)
        .await
        .expect("deleted");
}

#[tokio::test]
async fn a_page_follows_from_its_place_whatever_was_added_and_deleted_meanwhile() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    for list in lists() {
        fill(&app, &ann, 0, 12).await;
        for query in queries(&list) {
            let walk = (1..6_usize, prop::collection::vec(event(), 9));
            let walk = walk.new_tree(&mut runner).expect("a walk").current();
            let (limit, events) = walk;
            walk_while_the_list_changes(&app, &ann, &list, &query, limit, &events).await;
        }
    }
}

#[tokio::test]
async fn rows_that_stay_are_met_once_while_others_come_and_go() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for list in lists() {
        let path = list.path_on(&ann);
        for order in list.orders() {
            fill(&app, &ann, 0, 20).await;
            let before = app
                .get(&format!("{path}?{order}limit=500"))
                .await
                .expect(200);
            let before: Vec<_> = ids(rows(&before)).iter().map(ToString::to_string).collect();
            let mut met = Vec::new();
            let mut next = format!("{path}?{order}limit=7");
            loop {
                let page = app.get(&next).await.expect(200);
                met.extend(page.ids());
                let Some(cursor) = page.cursor("next_cursor") else {
                    break;
                };
                // The row that the cursor was made from goes, and others come everywhere.
                let last = page.ids().pop();
                delete(&app, &ann, list.table, last).await;
                fill(&app, &ann, 5, 3).await;
                next = format!("{path}?{order}limit=7&cursor={cursor}");
            }
            let once: HashSet<_> = met.iter().collect();
            assert_eq!(once.len(), met.len(), "{order} repeats a row");
            assert!(
                before.iter().all(|id| once.contains(id)),
                "{order} leaves one out"
            );
            sqlx::raw_sql(
                "DELETE FROM mail_events WHERE type IN ('opened', 'clicked');
                 DELETE FROM mail_records WHERE subject <> 'Hello';
                 DELETE FROM members WHERE name <> 'ann'; DELETE FROM consents;
                 DELETE FROM suppressions",
            )
            .execute(&app.pool)
            .await
            .expect("emptied");
        }
    }
}

#[tokio::test]
async fn names_are_sorted_without_regard_to_case_and_accents() {
    let app = App::start().await;
    for name in [
        "Zoë",
        "Åsa",
        "asb",
        "Ärger",
        "u\u{308}ber",
        "über",
        "Uber",
        "Øse",
        "Straße",
        "strassf",
    ] {
        let body = serde_json::json!({"name": name});
        app.post("/api/v1/members", body).await.expect(201);
    }
    let sorted = app.get("/api/v1/members?sort=name").await.expect(200);
    let names: Vec<_> = rows(&sorted)
        .iter()
        .map(|row| row["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "Ärger", "Åsa", "asb", "Øse", "Straße", "strassf", "über", "über", "Uber", "Zoë"
        ]
    );
}

#[tokio::test]
async fn the_longest_name_can_be_sorted_and_followed() {
    let app = App::start().await;
    // Each of these folds to 18 letters of two bytes.
    let name = "\u{fdfa}".repeat(200);
    for _ in 0..3 {
        let body = serde_json::json!({"name": name});
        app.post("/api/v1/members", body).await.expect(201);
    }
    let listed = crate::kit::walk(&app, "/api/v1/members?sort=name&limit=1").await;
    assert_eq!(listed.len(), 3);
}
