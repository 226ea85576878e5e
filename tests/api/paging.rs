//! Pages of a list: by cursor and by number, the links between them, and totals.

use std::collections::HashSet;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{
    App,
    document::Subject,
    lists::{fill, lists},
};

const MEMBERS: &str = "/api/v1/members";

/// All ids of a list, one link after the other, from the first page and back to it.
async fn follow(app: &App, first: &str) -> Vec<String> {
    let mut page = app.get(first).await.expect(200);
    let mut ids = page.ids();
    let mut met = vec![page.ids()];
    while let Some(next) = page.link("next") {
        page = app.get(&next).await.expect(200);
        ids.extend(page.ids());
        met.push(page.ids());
    }
    let beginning = page.link("first").expect("a first page");
    let beginning = app.get(&beginning).await.expect(200);
    assert_eq!(beginning.ids(), met[0], "{first}");
    while let Some(prev) = page.link("prev") {
        met.pop();
        page = app.get(&prev).await.expect(200);
        assert_eq!(Some(&page.ids()), met.last(), "{prev}");
    }
    assert_eq!(met.len(), 1, "{first}");
    ids
}

#[tokio::test]
async fn every_link_works_as_given() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    fill(&app, &ann, 9).await;
    for list in lists() {
        let path = list.path_on(&ann);
        let all = app.get(&path).await.expect(200).ids();
        assert_eq!(all.len(), 10);
        for query in [
            "limit=3",
            "page=1&size=3",
            "size=3&count=exact",
            "limit=3&created_from=2000-01-01T00:00:00%2B01:00",
        ] {
            if query.contains("created_from") && list.table != "mail_records" {
                continue;
            }
            assert_eq!(
                follow(&app, &format!("{path}?{query}")).await,
                all,
                "{query}"
            );
        }
        let plain = app.get(&path).await.expect(200);
        assert_eq!(
            plain.header("link"),
            format!("<{path}?limit=50>; rel=\"first\"")
        );
        let head = app.request(Method::HEAD, &path).send().await.expect(200);
        assert_eq!(head.header("link"), plain.header("link"));
    }
}

#[tokio::test]
async fn a_plus_in_an_address_is_one_in_the_links_too() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let path = format!("{ann}/mail-records");
    for recipient in ["a+b@example.org", "a+b@example.org", "ü&=#/?%@example.org"] {
        let body = json!({"subject": "Hi", "recipient": recipient});
        app.post(&path, body.clone()).await.expect(201);
        app.post(&path, body).await.expect(201);
    }
    for (recipient, count) in [
        ("a%2Bb@example.org", 4),
        ("%C3%BC%26%3D%23%2F%3F%25@example.org", 2),
    ] {
        for list in [path.as_str(), "/api/v1/mail-records"] {
            let first = format!("{list}?recipient={recipient}&limit=1");
            assert_eq!(follow(&app, &first).await.len(), count, "{first}");
        }
    }
}

#[tokio::test]
async fn a_numbered_page_leads_on_by_cursor() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    fill(&app, &ann, 10).await;
    for list in lists() {
        let path = list.path_on(&ann);
        let all = app.get(&path).await.expect(200).ids();
        for sort in list.orders() {
            let sort = format!("&{sort}");
            let all = app.get(&format!("{path}?{sort}")).await.expect(200).ids();
            let page = app
                .get(&format!("{path}?page=2&size=4{sort}"))
                .await
                .expect(200);
            assert_eq!(page.ids(), all[4..8]);
            for (way, rows) in [("next_cursor", &all[8..11]), ("prev_cursor", &all[..4])] {
                let cursor = page.cursor(way).expect("a cursor");
                let other = app
                    .get(&format!("{path}?cursor={cursor}&limit=4{sort}"))
                    .await;
                assert_eq!(other.expect(200).ids(), rows, "{way}");
            }
        }
        let last = app.get(&format!("{path}?page=3&size=4")).await.expect(200);
        assert_eq!(last.body["page"]["next_cursor"], Value::Null);
        assert_eq!(last.link("next"), None);
        let first = app.get(&format!("{path}?size=4")).await.expect(200);
        assert_eq!(first.ids(), all[..4]);
        assert_eq!(first.body["page"]["prev_cursor"], Value::Null);
        let beyond = app.get(&format!("{path}?page=9&size=4")).await.expect(200);
        assert!(beyond.ids().is_empty());
        assert_eq!(beyond.link("next"), None);
    }
}

#[tokio::test]
async fn numbers_end_at_ten_thousand_rows_and_cursors_go_on() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    fill(&app, &ann, 10_001).await;
    for list in lists() {
        let path = list.path_on(&ann);
        for (query, place) in [
            ("page=10000&size=2", "page"),
            ("page=201", "page"),
            ("page=21&size=500", "page"),
        ] {
            let refused = app.get(&format!("{path}?{query}")).await;
            assert_eq!(
                refused.error_at(400, "invalid_parameter", place),
                "too_deep"
            );
        }
        let last = app
            .get(&format!("{path}?page=20&size=500"))
            .await
            .expect(200);
        assert_eq!(last.ids().len(), 500);
        let next = last.link("next").expect("a link");
        assert!(
            next.contains("cursor=") && next.contains("limit=500"),
            "{next}"
        );
        assert_eq!(app.get(&next).await.expect(200).ids().len(), 2);
        app.get(&format!("{path}?page=10000&size=1"))
            .await
            .expect(200);
    }
}

#[tokio::test]
async fn a_page_is_named_by_number_or_by_cursor() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    fill(&app, &ann, 3).await;
    for list in lists() {
        let path = list.path_on(&ann);
        let page = app.get(&format!("{path}?limit=1")).await.expect(200);
        let cursor = page.cursor("next_cursor").expect("a cursor");
        for (query, names) in [
            ("page=1&limit=1".to_owned(), vec!["limit", "page"]),
            ("size=1&limit=1".to_owned(), vec!["limit", "size"]),
            (format!("page=1&cursor={cursor}"), vec!["cursor", "page"]),
            (
                format!("page=1&size=1&limit=1&cursor={cursor}"),
                vec!["cursor", "limit", "page", "size"],
            ),
        ] {
            let refused = app.get(&format!("{path}?{query}")).await;
            let problem = refused.problem(400, "invalid_parameter");
            let errors = problem["errors"].as_array().expect("errors");
            let mut named: Vec<_> = errors
                .iter()
                .map(|error| error["parameter"].as_str().expect("a name"))
                .collect();
            named.sort_unstable();
            assert_eq!(named, names, "{query}");
            assert!(errors.iter().all(|error| error["code"] == "conflict"));
        }
    }
}

#[tokio::test]
async fn a_total_is_told_where_it_is_asked_for() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    fill(&app, &ann, 99).await;
    sqlx::query("ANALYZE")
        .execute(&app.pool)
        .await
        .expect("analysed");
    for list in lists() {
        let path = list.path_on(&ann);
        let told = async |query: &str| {
            let page = app.get(&format!("{path}?{query}")).await.expect(200);
            let page = &page.body["page"];
            (
                page["total"].clone(),
                page["total_kind"].clone(),
                page["next_cursor"].clone(),
            )
        };
        let (total, kind, next) = told("limit=7").await;
        assert_eq!((total, kind), (Value::Null, Value::Null));
        let next = next.as_str().expect("a cursor").to_owned();
        let exact = (json!(100), json!("exact"));
        for query in [
            "limit=7&count=exact".to_owned(),
            "page=15&size=7&count=exact".to_owned(),
            "page=99&size=7&count=exact".to_owned(),
            format!("limit=7&count=exact&cursor={next}"),
            // Where the list ends on the page, nothing is left to estimate.
            "limit=500&count=estimated".to_owned(),
            "page=15&size=7&count=estimated".to_owned(),
        ] {
            let (total, kind, _) = told(&query).await;
            assert_eq!((total, kind), exact, "{query}");
        }
        for query in [
            "limit=7&count=estimated".to_owned(),
            format!("limit=7&count=estimated&cursor={next}"),
        ] {
            let (total, kind, _) = told(&query).await;
            assert_eq!((total, kind), (json!(100), json!("estimated")), "{query}");
        }
    }
    let half = app
        .get(&format!("{MEMBERS}?status=ended&limit=1&count=exact"))
        .await;
    assert_eq!(half.expect(200).body["page"]["total"], 49);
    let none = app
        .get(&format!("{MEMBERS}?status=pending&count=estimated"))
        .await
        .expect(200);
    assert_eq!(none.body["page"]["total"], 0);
    assert_eq!(none.body["page"]["total_kind"], "exact");
}

/// Rows come and go all the time, each time as many as fill the list or none.
#[tokio::test]
async fn an_exact_total_is_of_the_moment_of_the_page() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    app.mail_record(&ann.member, "Hello again").await;
    let mut sql = app.sql().await;
    let member = ann.member_id.parse::<uuid::Uuid>().expect("an id");
    let changing = tokio::spawn(async move {
        for round in 0.. {
            let change = if round % 2 == 0 {
                "INSERT INTO mail_records (member_id, id, recipient, recipient_folded, subject)
                 SELECT $1, gen_random_uuid(), 'a@example.org', 'a@example.org', '' FROM generate_series(1, 20)"
            } else {
                "DELETE FROM mail_records WHERE member_id = $1 AND subject = ''"
            };
            sqlx::query(change)
                .bind(member)
                .execute(&mut sql)
                .await
                .expect("changed");
        }
    });
    let mut seen = HashSet::new();
    for list in [
        format!("{}/mail-records", ann.member),
        "/api/v1/mail-records".to_owned(),
    ] {
        // Behind the first row, so that the page does not show by itself how many there are.
        let first = app
            .get(&format!("{list}?sort=created_at&limit=1"))
            .await
            .expect(200);
        let path = first
            .link("next")
            .unwrap_or_else(|| panic!("{list}: one row"));
        let path = path.replace("limit=1", "limit=500&count=exact");
        for _ in 0..200 {
            let page = app.get(&path).await.expect(200);
            assert_eq!(page.body["page"]["total"], page.ids().len() + 1, "{path}");
            seen.insert(page.ids().len());
        }
    }
    changing.abort();
    assert!(seen.len() > 1, "nothing changed meanwhile");
}
