//! Every list reads by an index, however few of its filters are given.
//!
//! - `filters`: values of filters

mod filters;

use sqlx::{AssertSqlSafe, PgConnection};

use self::filters::{COMBINED, COMMON, FILTERS};
use crate::kit::{
    App, Settings,
    document::Subject,
    lists::{List, lists},
};

const ROWS: i64 = 5_000;
/// As many as a page has here; one more is read, to tell whether there is another page.
const PAGE: i64 = 20;
const PAGE_BOUND: i64 = 2 * (PAGE + 1);
/// How much mail the member with much mail has.
const MUCH: i64 = ROWS / 50;
/// How often the same member said something to marketing mail.
const SAID: i64 = ROWS / 100 + 2;

/// Rows with ids in the order of their numbers, the first few with what the filters name.
const FILL: [&str; 8] = [
    "INSERT INTO members
         (id, external_id, email, email_folded, name, name_folded, search_text, joined, status, tags,
          suppressed_until, unsubscribed_until, consent_withdrawn)
     SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, 'm-' || n, address, address, repeat('n', 100), 'n' || n % 50,
            CASE WHEN n < 20 THEN 'jorg' ELSE 'ann' END || n || chr(10) || 'm' || n || '@example.or',
            '2000-01-01'::date + n::int,
            CASE WHEN n < 20 THEN 'pending' ELSE 'active' END,
            CASE WHEN n < 20 THEN '{rare}'::text[] ELSE '{common}' END,
            CASE WHEN n < 3 THEN 'infinity'::timestamptz END,
            CASE WHEN n BETWEEN 10 AND 11 THEN 'infinity'::timestamptz END, n BETWEEN 12 AND 13
     FROM (
         SELECT n, CASE WHEN n NOT BETWEEN 16 AND 19 THEN 'm' || n || '@example.org' END AS address
         FROM generate_series(0, $1::bigint - 1) n
     ) s",
    "INSERT INTO mail_records
         (member_id, id, recipient, recipient_folded, subject, subject_folded, status, category, created_at)
     SELECT m.id, m.id, coalesce(m.email, 'x@example.org'), coalesce(m.email_folded, 'x@example.org'), repeat('s', 100),
            CASE WHEN external_id ~ '^m-1?.$' THEN 'rare words' ELSE 'common words' END,
            CASE WHEN external_id ~ '^m-1?.$' THEN 'bounced' ELSE 'sent' END,
            CASE WHEN external_id ~ '^m-1?.$' THEN 'marketing' ELSE 'transactional' END, joined
     FROM members m WHERE $1::bigint > 0",
    // One member with much mail.
    "INSERT INTO mail_records
         (member_id, id, recipient, recipient_folded, subject, subject_folded, status, category, created_at)
     SELECT '00000007-0000-7000-8000-000000000000',
            (lpad(to_hex(n), 8, '0') || '-1111-7000-8000-000000000000')::uuid,
            'x@example.org', 'x@example.org', repeat('s', 100), 'common words', 'sent', 'transactional', '2000-01-01'
     FROM generate_series(1, $1::bigint / 50 - 1) n",
    "INSERT INTO consents (member_id, id, state) SELECT id, id, 'granted' FROM members WHERE $1::bigint > 0",
    // Not more than a person may say.
    "INSERT INTO consents (member_id, id, topic, state, occurred_at, created_at)
     SELECT '00000007-0000-7000-8000-000000000000',
            (lpad(to_hex(n), 8, '0') || '-2222-7000-8000-000000000000')::uuid,
            CASE WHEN n < 10 THEN 'rare' ELSE 'common' END, CASE WHEN n < 10 THEN 'pending' ELSE 'granted' END,
            '2000-01-01'::date + n::int, '2000-01-01'::date + n::int
     FROM generate_series(0, $1::bigint / 100) n",
    "INSERT INTO suppressions (id, address_hash, reason, scope, origin, created_at)
     SELECT m.id, address_hash(m.email_folded),
            CASE WHEN external_id ~ '^m-1?.$' THEN 'complaint' ELSE 'hard_bounce' END,
            CASE WHEN external_id ~ '^m-1?.$' THEN 'marketing' ELSE 'all' END,
            CASE WHEN external_id ~ '^m-1?.$' THEN 'api' ELSE 'event' END, joined
     FROM members m WHERE m.email IS NOT NULL AND $1::bigint > 0",
    // One mail record with many events.
    "INSERT INTO mail_events (member_id, mail_record_id, id, type, occurred_at, effect)
     SELECT r.member_id, r.id, (lpad(to_hex(n), 8, '0') || '-2222-7000-8000-000000000000')::uuid,
            CASE WHEN n < 20 THEN 'clicked' ELSE 'opened' END, '2000-01-01'::date + n::int, 'applied'
     FROM mail_records r, generate_series(1, CASE WHEN r.id = '00000007-0000-7000-8000-000000000000' THEN $1::bigint / 50 ELSE 1 END) n",
    "INSERT INTO audit_log (id, at, key_id, request_id, operation, resource, resource_id, member_id, fields)
     SELECT m.id, joined, CASE WHEN external_id = 'm-7' THEN m.id END, 'r' || substr(external_id, 2),
            CASE WHEN external_id ~ '^m-1?.$' THEN 'delete_member' ELSE 'update_member' END,
            CASE WHEN external_id ~ '^m-1?.$' THEN 'consent' ELSE 'member' END, m.id, m.id, '{}'
     FROM members m WHERE $1::bigint > 0",
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

/// Sends the request, and fails if more than `bound` rows of the table were read for it.
async fn assert_reads_by_index(
    app: &App,
    sql: &mut PgConnection,
    table: &str,
    path: &str,
    bound: i64,
) {
    let before = reads(app, sql, table).await;
    app.get(path).await.expect(200);
    let after = reads(app, sql, table).await;
    assert_eq!(
        before.seq_scan, after.seq_scan,
        "{path} reads the whole table"
    );
    assert!(before.idx_scan < after.idx_scan, "{path} reads by no index");
    let rows = after.rows - before.rows;
    assert!(rows <= bound, "{path} reads {rows} rows of {ROWS}");
}

/// The paths of a list with each of the filters on its table.
fn filtered(list: &List, filters: &[(&str, &str)]) -> Vec<String> {
    let path = list.path_on(&subject());
    let of_table = filters.iter().filter(|(of, _)| *of == list.table);
    let paths: Vec<_> = of_table
        .map(|(_, filter)| format!("{path}?limit={PAGE}&{filter}"))
        .collect();
    assert!(paths.len() >= 3 || list.table == "mail_events");
    paths
}

/// How much a filter that few rows meet may read. The list of one member has an index for none of its
/// filters: all mail of the member is what it may cost.
fn bound(list: &List) -> i64 {
    if list.operation.parameters("path").is_empty() {
        PAGE_BOUND
    } else {
        MUCH.max(of_consents(list))
    }
}

/// What one person said is read whole, and for what counts of it with all that was said later.
fn of_consents(list: &List) -> i64 {
    if list.table == "consents" {
        3 * SAID
    } else {
        0
    }
}

fn subject() -> Subject {
    let id = "00000007-0000-7000-8000-000000000000";
    Subject {
        member: format!("/api/v1/members/{id}"),
        member_id: id.to_owned(),
        external_id: "m-7".to_owned(),
        email: "m7@example.org".to_owned(),
        mail_record: format!("/api/v1/members/{id}/mail-records/{id}"),
        mail_record_id: id.to_owned(),
        suppression: format!("/api/v1/suppressions/{id}"),
        ..Subject::default()
    }
}

#[tokio::test]
async fn every_filter_has_an_index() {
    let app = start().await;
    let mut sql = app.sql().await;
    for list in lists() {
        for name in list.operation.parameters("query") {
            if [
                "sort", "limit", "cursor", "page", "size", "count", "format", "fields",
            ]
            .contains(&name.as_str())
            {
                continue;
            }
            let (_, filter) = FILTERS
                .iter()
                .find(|(of, filter)| *of == list.table && filter.starts_with(&format!("{name}=")))
                .unwrap_or_else(|| panic!("{}: no value for {name}", list.operation.name()));
            let path = format!("{}?limit={PAGE}&{filter}", list.path_on(&subject()));
            assert_reads_by_index(&app, &mut sql, list.table, &path, bound(&list)).await;
        }
    }
}

#[tokio::test]
async fn every_page_of_a_list_reads_no_more_than_itself() {
    let app = start().await;
    let mut sql = app.sql().await;
    for list in lists() {
        for order in list.orders() {
            let path = format!("{}?{order}limit={PAGE}", list.path_on(&subject()));
            assert_reads_by_index(&app, &mut sql, list.table, &path, PAGE_BOUND).await;
            let mut next = path.clone();
            for way in ["next_cursor", "next_cursor", "prev_cursor"] {
                let page = app.get(&next).await.expect(200);
                let cursor = page.body["page"][way].as_str().expect("a cursor");
                next = format!("{path}&cursor={cursor}");
                assert_reads_by_index(&app, &mut sql, list.table, &next, PAGE_BOUND).await;
            }
        }
    }
}

#[tokio::test]
async fn an_order_makes_no_filter_dearer() {
    let app = start().await;
    let mut sql = app.sql().await;
    for list in lists() {
        for order in list.orders() {
            for path in filtered(&list, &FILTERS) {
                let path = format!("{path}&{order}");
                assert_reads_by_index(&app, &mut sql, list.table, &path, bound(&list)).await;
            }
            for path in filtered(&list, &COMMON) {
                let path = format!("{path}&{order}");
                assert_reads_by_index(&app, &mut sql, list.table, &path, MUCH).await;
            }
        }
    }
}

#[tokio::test]
async fn a_filter_that_most_rows_meet_reads_no_more_than_a_page() {
    let app = start().await;
    let mut sql = app.sql().await;
    for list in lists() {
        for path in filtered(&list, &COMMON) {
            let bound = PAGE_BOUND.max(of_consents(&list));
            assert_reads_by_index(&app, &mut sql, list.table, &path, bound).await;
        }
    }
}

/// Postgres may keep one plan for all values of a statement that was run some times.
#[tokio::test]
async fn what_is_right_for_common_values_is_not_kept_for_rare_ones() {
    let app = start().await;
    let mut sql = app.sql().await;
    for (common, rare) in [
        ("joined_from=2000-01-02", "joined_from=2100-01-01"),
        ("status=active", "status=pending"),
        ("tag=common", "tag=rare"),
        ("q=ann", "q=xyz"),
    ] {
        let page = format!("limit={PAGE}");
        for form in [&page, &format!("{page}&sort=name"), "format=ndjson"] {
            let path = format!("/api/v1/members?{form}");
            for _ in 0..7 {
                app.get(&format!("{path}&{common}")).await.expect(200);
            }
            let rare = format!("{path}&{rare}");
            assert_reads_by_index(&app, &mut sql, "members", &rare, PAGE_BOUND).await;
        }
    }
}

#[tokio::test]
async fn two_filters_read_no_more_than_the_one_that_few_rows_meet() {
    let app = start().await;
    let mut sql = app.sql().await;
    for list in lists() {
        for path in filtered(&list, &COMBINED) {
            assert_reads_by_index(&app, &mut sql, list.table, &path, bound(&list)).await;
        }
    }
}

#[tokio::test]
async fn a_single_row_is_read_by_an_index() {
    let app = start().await;
    let mut sql = app.sql().await;
    let subject = subject();
    let with = format!("{}/with-mail-records", subject.member);
    for (table, path) in [
        ("members", &subject.member),
        ("mail_records", &subject.mail_record),
        ("members", &with),
        ("suppressions", &subject.suppression),
    ] {
        assert_reads_by_index(&app, &mut sql, table, path, PAGE_BOUND).await;
    }
    // All mail of the member is summed up.
    let bound = MUCH + PAGE_BOUND;
    assert_reads_by_index(&app, &mut sql, "mail_records", &with, bound).await;
}
