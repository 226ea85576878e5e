//! The lists at scale: what they read of 1,000,000 members and 5,000,000 mail records.
//!
//! `make scale` runs it, and prints what it measured. It takes a quarter of an hour on two cores, and 8 GB
//! where the tests' server keeps its data: in memory, unless `DATABASE_URL` names a server (as a
//! superuser, with the contrib modules).
//!
//! Not bounded is what no index can bound: a range together with an order by something else
//! (`created_to` with `sort=status_at`) is read in that order until the page is full, which is far where
//! the two go together. An exact count reads what it counts.

mod plans;

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use self::plans::{Plans, Reading};
use crate::kit::{
    App, Settings,
    document::Subject,
    lists::{List, lists},
    scale::{fill, members},
};

const MAIL_RECORDS: &str = include_str!("mail_records.sql");
/// How deep the deep page is.
const PAGES: usize = 10_000;
/// What a filter may read in any order: as much as the member with much mail has, a fiftieth of the
/// ledger.
const BOUND: u64 = 101_000;

/// Values that most rows have, that few have, that none has; the few stand together, at one end of an
/// order.
const FILTERS: [(&str, &str); 31] = [
    ("members", "status=active"),
    ("members", "status=suspended"),
    ("members", "status=pending"),
    ("members", "email=m7@example.org"),
    ("members", "email=absent@example.org"),
    ("members", "external_id=m-7"),
    ("members", "tag=member"),
    ("members", "tag=founder"),
    ("members", "tag=absent"),
    ("members", "joined_from=2100-01-01"),
    ("members", "joined_to=1900-01-01"),
    ("members", "q=example"),
    ("members", "q=anber"),
    ("members", "q=a"),
    ("members", "q=%C3%A4n"),
    ("members", "mailability=ok"),
    ("members", "mailability=no_address"),
    ("members", "mailability=suppressed"),
    ("members", "mailability=unsubscribed"),
    ("mail_records", "status=delivered"),
    ("mail_records", "status=bounced"),
    ("mail_records", "status=scheduled"),
    ("mail_records", "status=failed"),
    ("mail_records", "recipient=m9@example.org"),
    // As many as the one member with much mail has.
    ("mail_records", "recipient=m7@example.org"),
    ("mail_records", "category=marketing"),
    ("mail_records", "category=transactional"),
    ("mail_records", "subject=news"),
    ("mail_records", "created_from=2100-01-01T00:00:00Z"),
    ("mail_records", "created_to=1900-01-01T00:00:00Z"),
    ("mail_records", "status=sent&category=transactional"),
];

/// Rare and absent terms, and the index that finds them.
const TERMS: [(&str, &str, &str); 7] = [
    ("members", "q=zywiec", "members_search_text_idx"),
    ("members", "q=xyzzy", "members_search_text_idx"),
    ("members", "q=q", "members_search_pairs_idx"),
    ("members", "q=qz", "members_search_pairs_idx"),
    ("members", "q=%25%25%25", "members_search_pairs_idx"),
    (
        "mail_records",
        "subject=founding",
        "mail_records_subject_idx",
    ),
    ("mail_records", "subject=absent", "mail_records_subject_idx"),
];

/// A range in the middle of the years, in the order that it has by itself.
const RANGES: [(&str, &str); 6] = [
    ("members", "joined_from=2020-01-01&sort=joined"),
    ("members", "joined_to=2020-01-01&sort=-joined"),
    ("mail_records", "created_from=2003-01-01T00:00:00Z"),
    ("mail_records", "created_to=2003-01-01T00:00:00Z"),
    (
        "mail_records",
        "created_from=2003-01-01T00:00:00Z&sort=created_at",
    ),
    (
        "mail_records",
        "created_from=2003-01-01T00:00:00Z&created_to=2003-01-02T00:00:00Z",
    ),
];

struct Scale {
    app: App,
    plans: Plans,
    faults: Vec<String>,
}

impl Scale {
    /// On one connection, which tells its plans.
    async fn start() -> Self {
        let settings = Settings {
            connections: 1,
            statement_timeout: Duration::from_mins(10),
            request_timeout: Duration::from_mins(10),
            ..Settings::default()
        };
        let app = App::start_with(settings).await;
        let script = members(1_000_000) + MAIL_RECORDS;
        fill(&mut app.sql().await, &script).await;
        let plans = Plans::of(&app.pool).await;
        Self {
            app,
            plans,
            faults: Vec::new(),
        }
    }

    async fn read(&mut self, path: &str) -> Reading {
        self.plans.listen().await;
        self.app.get(path).await.expect(200);
        let reading = self.plans.take().await;
        let Reading {
            rows,
            buffers,
            scans,
        } = &reading;
        println!(
            "{rows:>8} rows {buffers:>8} buffers  {path}  {}",
            scans.join(", ")
        );
        if scans.iter().any(|scan| scan.starts_with("Seq Scan m")) {
            self.faults.push(format!("{path} scans a table"));
        }
        reading
    }

    async fn read_at_most(&mut self, path: &str, bound: u64) {
        let rows = self.read(path).await.rows;
        if rows > bound {
            self.faults.push(format!("{path} reads {rows} rows"));
        }
    }

    /// Reads the first page of a list and one far behind it.
    async fn compare_first_with_deep(&mut self, list: &List, order: &str) {
        let path = format!("{}?{order}", list.path_on(&subject()));
        let rows = if list.operation.parameters("path").is_empty() {
            50
        } else {
            10
        };
        let first = self.read(&format!("{path}limit={rows}")).await;
        if first.rows > rows as u64 + 2 {
            self.faults
                .push(format!("{path}: {} rows on the first page", first.rows));
        }
        let mut before = (PAGES - 1) * rows;
        let mut at = String::new();
        while before > 0 {
            let step = before.min(500);
            at = format!(
                "&cursor={}",
                self.next_cursor(&format!("{path}limit={step}{at}")).await
            );
            before -= step;
        }
        let deep = self.read(&format!("{path}limit={rows}{at}")).await;
        // Rows that happen to stand together share a block. A block for each, and the few of the index,
        // is what a page may cost anywhere.
        let apart = deep.rows + 5;
        for (what, first, deep) in [
            ("rows", first.rows, deep.rows),
            ("buffers", first.buffers.max(apart), deep.buffers),
        ] {
            if deep * 2 >= first * 3 {
                self.faults.push(format!(
                    "{path}: {deep} {what} on page {PAGES}, {first} on the first"
                ));
            }
        }
    }

    /// Unlike the kit's, this request does not compare each row with the document.
    async fn next_cursor(&self, path: &str) -> String {
        let request = self.app.request(Method::GET, path);
        let (status, _, bytes) = request.exchange().await.expect("an answer");
        assert_eq!(status, 200, "{path}");
        let page: Value = serde_json::from_slice(&bytes).expect("JSON");
        page["page"]["next_cursor"]
            .as_str()
            .expect("more")
            .to_owned()
    }
}

/// A member with much mail, all of it old.
fn subject() -> Subject {
    let id = "00000007-0000-7000-8000-000000000000";
    Subject {
        member: format!("/api/v1/members/{id}"),
        member_id: id.to_owned(),
        external_id: "m-7".to_owned(),
        email: "m7@example.org".to_owned(),
        mail_record: format!("/api/v1/members/{id}/mail-records/{id}"),
        mail_record_id: id.to_owned(),
        ..Subject::default()
    }
}

/// The lists that are filled here.
fn large_lists() -> Vec<List> {
    let mut lists = lists();
    lists.retain(|list| ["members", "mail_records"].contains(&list.table));
    lists
}

#[tokio::test]
#[ignore = "it takes a quarter of an hour and 8 GB: make scale"]
async fn a_list_of_millions_reads_no_more_than_it_shows() {
    let mut scale = Scale::start().await;
    for list in large_lists() {
        let path = list.path_on(&subject());
        let of_table = |(table, _): &(&str, &str)| *table == list.table;
        let whole = list.operation.parameters("path").is_empty();
        for order in list.orders() {
            for (_, filter) in FILTERS.into_iter().filter(of_table) {
                scale
                    .read_at_most(&format!("{path}?{order}{filter}"), BOUND)
                    .await;
            }
            for (table, term, index) in TERMS {
                if table != list.table {
                    continue;
                }
                let path = format!("{path}?{order}{term}");
                let reading = scale.read(&path).await;
                let found = reading.scans.iter().any(|scan| scan.ends_with(index));
                // One member's mail is read by the member's key.
                if !found && whole {
                    scale.faults.push(format!("{path} does not use {index}"));
                }
            }
        }
        for (_, range) in RANGES.into_iter().filter(of_table) {
            scale.read_at_most(&format!("{path}?{range}"), BOUND).await;
        }
    }
    // A plan that is right for what is common is not taken for what is rare.
    for _ in 0..12 {
        scale.read_at_most("/api/v1/members?q=example", BOUND).await;
        scale
            .read_at_most("/api/v1/members?joined_from=1990-01-01", BOUND)
            .await;
    }
    scale.read_at_most("/api/v1/members?q=xyzzy", BOUND).await;
    scale
        .read_at_most("/api/v1/members?joined_from=2100-01-01", BOUND)
        .await;

    // Of the one member with much mail an estimate is not that of any member.
    let mail = format!("{}/mail-records?count=estimated", subject().member);
    let page = scale.app.get(&mail).await.expect(200);
    let total = page.body["page"]["total"].as_i64().expect("a total");
    assert!((50_000..200_000).contains(&total), "{total}");

    for list in large_lists() {
        for order in list.orders() {
            scale.compare_first_with_deep(&list, &order).await;
        }
    }
    assert!(scale.faults.is_empty(), "{:#?}", scale.faults);
}
