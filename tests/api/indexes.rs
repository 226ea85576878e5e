//! Every list reads by an index, however few of its filters are given.

use sqlx::{AssertSqlSafe, PgConnection};

use crate::kit::{
    App,
    app::Settings,
    document::{Operation, Subject, api_operations},
};

const ROWS: i64 = 5_000;

/// A value of each filter that selects few rows, the oldest of them, which an order from the newest on
/// meets last.
const FILTERS: [(&str, &str); 11] = [
    ("members", "status=pending"),
    ("members", "email=m7@example.org"),
    ("members", "external_id=m-7"),
    ("members", "joined_from=2100-01-01"),
    ("members", "joined_to=1900-01-01"),
    ("members", "tag=rare"),
    ("mail_records", "status=bounced"),
    ("mail_records", "recipient=m7@example.org"),
    ("mail_records", "category=marketing"),
    ("mail_records", "created_from=2100-01-01T00:00:00Z"),
    ("mail_records", "created_to=1900-01-01T00:00:00Z"),
];

/// Rows with ids in the order of their numbers, the first few with what the filters name.
const FILL: [&str; 3] = [
    "INSERT INTO members
         (id, external_id, email, email_folded, name, joined, status, tags)
     SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, 'm-' || n,
            'm' || n || '@example.org', 'm' || n || '@example.org', repeat('n', 100), '2000-01-01'::date + n::int,
            CASE WHEN n < 20 THEN 'pending' ELSE 'active' END,
            CASE WHEN n < 20 THEN '{rare}'::text[] ELSE '{common}' END
     FROM generate_series(0, $1::bigint - 1) n",
    "INSERT INTO mail_records
         (member_id, id, recipient, recipient_folded, subject, status, category, created_at)
     SELECT m.id, m.id, m.email, m.email_folded, repeat('s', 100),
            CASE WHEN external_id ~ '^m-1?.$' THEN 'bounced' ELSE 'sent' END,
            CASE WHEN external_id ~ '^m-1?.$' THEN 'marketing' ELSE 'transactional' END, joined
     FROM members m WHERE $1::bigint > 0",
    // One member with much mail.
    "INSERT INTO mail_records
         (member_id, id, recipient, recipient_folded, subject, status, category, created_at)
     SELECT '00000007-0000-7000-8000-000000000000',
            (lpad(to_hex(n), 8, '0') || '-1111-7000-8000-000000000000')::uuid,
            'x@example.org', 'x@example.org', repeat('s', 100), 'sent', 'transactional', '2000-01-01'
     FROM generate_series(1, $1::bigint / 50) n",
];

/// On one connection, whose own figures can be asked to be told at once.
async fn start() -> App {
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    for fill in FILL {
        sqlx::query(fill)
            .bind(ROWS)
            .execute(&app.pool)
            .await
            .expect("rows");
    }
    sqlx::query("VACUUM ANALYZE")
        .execute(&app.pool)
        .await
        .expect("analysed");
    app
}

/// What was read of a table up to now.
#[derive(Debug, sqlx::FromRow)]
struct Reads {
    seq_scan: i64,
    idx_scan: i64,
    /// Rows, by whatever way.
    rows: i64,
}

async fn reads(app: &App, sql: &mut PgConnection, table: &str) -> Reads {
    sqlx::query("SELECT pg_stat_force_next_flush()")
        .execute(&app.pool)
        .await
        .expect("flushed");
    let select = format!(
        "SELECT seq_scan, idx_scan, seq_tup_read + idx_tup_fetch AS rows
         FROM pg_stat_user_tables WHERE relname = '{table}'"
    );
    sqlx::query_as(AssertSqlSafe(select))
        .fetch_one(sql)
        .await
        .expect("figures")
}

/// Sends the request, and fails if more than a quarter of the table was read for it.
async fn assert_reads_by_index(app: &App, sql: &mut PgConnection, table: &str, path: &str) {
    let before = reads(app, sql, table).await;
    app.get(path).await.expect(200);
    let after = reads(app, sql, table).await;
    assert_eq!(
        before.seq_scan, after.seq_scan,
        "{path} reads the whole table"
    );
    assert!(before.idx_scan < after.idx_scan, "{path} reads by no index");
    let rows = after.rows - before.rows;
    assert!(rows <= ROWS / 4, "{path} reads {rows} rows of {ROWS}");
}

fn lists() -> Vec<(Operation, &'static str)> {
    let mut lists = Vec::new();
    for operation in api_operations() {
        if operation
            .parameters("query")
            .iter()
            .any(|name| name == "cursor")
        {
            let table = if operation.path.ends_with("/members") {
                "members"
            } else {
                "mail_records"
            };
            lists.push((operation, table));
        }
    }
    assert_eq!(lists.len(), 3);
    lists
}

fn subject() -> Subject {
    let id = "00000007-0000-7000-8000-000000000000";
    Subject {
        member: format!("/api/v1/members/{id}"),
        member_id: id.to_owned(),
        mail_record: format!("/api/v1/members/{id}/mail-records/{id}"),
        mail_record_id: id.to_owned(),
    }
}

#[tokio::test]
async fn every_filter_has_an_index() {
    let app = start().await;
    let mut sql = app.sql().await;
    for (operation, table) in lists() {
        for name in operation.parameters("query") {
            if ["limit", "cursor"].contains(&name.as_str()) {
                continue;
            }
            let (_, filter) = FILTERS
                .iter()
                .find(|(of, filter)| *of == table && filter.starts_with(&format!("{name}=")))
                .unwrap_or_else(|| panic!("{}: no value for {name}", operation.name()));
            let path = format!("{}?{filter}", operation.path_on(&subject()));
            assert_reads_by_index(&app, &mut sql, table, &path).await;
        }
    }
}

#[tokio::test]
async fn every_page_of_a_list_reads_no_more_than_itself() {
    let app = start().await;
    let mut sql = app.sql().await;
    for (operation, table) in lists() {
        let path = format!("{}?limit=20", operation.path_on(&subject()));
        assert_reads_by_index(&app, &mut sql, table, &path).await;
        let page = app.get(&path).await.expect(200);
        let cursor = page.body["page"]["next_cursor"].as_str().expect("a cursor");
        let next = format!("{path}&cursor={cursor}");
        assert_reads_by_index(&app, &mut sql, table, &next).await;
    }
}

#[tokio::test]
async fn a_member_and_a_mail_record_are_read_by_an_index() {
    let app = start().await;
    let mut sql = app.sql().await;
    let subject = subject();
    let with = format!("{}/with-mail-records", subject.member);
    for (table, path) in [
        ("members", &subject.member),
        ("mail_records", &subject.mail_record),
        ("members", &with),
        ("mail_records", &with),
    ] {
        assert_reads_by_index(&app, &mut sql, table, path).await;
    }
}
