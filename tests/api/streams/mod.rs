//! Streams that are cut, resumed, left, held, and too many.

#[cfg(target_os = "linux")]
mod vanished;

use std::time::Duration;

use hyper::Method;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tokio::time::sleep;

use crate::kit::{
    App, Settings, Wire,
    streamed::{Event, events},
    wait::until,
};

const FORMATS: [&str; 3] = ["ndjson", "csv", "sse"];
const MEMBERS: &str = "/api/v1/members";

async fn fill(app: &App, rows: i64) {
    sqlx::query(
        "INSERT INTO members (id, name, name_folded, joined, birth, attributes)
         SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, 'n' || n % 7,
                'n' || n % 7, '2000-01-01'::date + n::int % 5,
                CASE WHEN n % 3 > 0 THEN '1970-01-01'::date + n::int % 4 END,
                jsonb_build_object('pad', repeat('x', 3000))
         FROM generate_series(1, $1::bigint) n",
    )
    .bind(rows)
    .execute(&mut app.sql().await)
    .await
    .expect("rows");
}

/// How many statements of the service run.
async fn running(sql: &mut PgConnection) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
             AND state <> 'idle'",
    )
    .fetch_one(sql)
    .await
    .expect("a count")
}

/// Ends the one connection of the service on which a statement runs, when there is one.
async fn end_statements(sql: &mut PgConnection) {
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
             AND state <> 'idle'";
    until("a statement runs", async || {
        let ended: i64 = sqlx::query_scalar(end)
            .fetch_one(&mut *sql)
            .await
            .expect("ended");
        ended == 1
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_is_cut_goes_on_behind_the_last_event() {
    let app = App::start().await;
    fill(&app, 40).await;
    let mut runner = TestRunner::deterministic();
    for sort in [
        "",
        "&sort=name",
        "&sort=-birth",
        "&sort=joined",
        "&sort=-created_at",
    ] {
        let whole = format!("{MEMBERS}?format=sse{sort}");
        let expected = events(&app.get(&whole).await.expect(200).text);
        for _ in 0..20 {
            let mut seen: Vec<Event> = Vec::new();
            while seen.last().is_none_or(|event| event.name != "end") {
                let last = seen.last().map_or("", |event| &event.id);
                let request = app
                    .request(Method::GET, &whole)
                    .header("last-event-id", last);
                let text = request.send().await.expect(200).text;
                // Cut wherever it may be, in the middle of an event too; half of them not at all.
                let cut = (0..=2 * text.len())
                    .new_tree(&mut runner)
                    .expect("a place")
                    .current();
                seen.extend(events(
                    &text[..text.floor_char_boundary(cut.min(text.len()))],
                ));
            }
            let (end, rows) = seen.split_last().expect("an end");
            let (whole_end, whole_rows) = expected.split_last().expect("an end");
            assert_eq!(rows, whole_rows, "{sort}");
            assert_eq!((&end.id, &end.name), (&whole_end.id, &whole_end.name));
        }
    }
}

#[tokio::test]
async fn behind_the_end_there_is_nothing_and_an_id_of_elsewhere_is_refused() {
    let app = App::start().await;
    fill(&app, 3).await;
    let path = format!("{MEMBERS}?format=sse");
    let ask = |path: &str, id: &[u8]| {
        let request = app.request(Method::GET, path);
        request.header("last-event-id", id).send()
    };
    assert_eq!(ask(&path, b"end").await.expect(204).text, "");
    let whole = app.get(&path).await.expect(200).text;
    assert_eq!(ask(&path, b"").await.expect(200).text, whole);
    let first = events(&whole)[0].id.clone();
    let two = ask(&format!("{path}&limit=2"), first.as_bytes()).await;
    assert_eq!(events(&two.expect(200).text)[..2], events(&whole)[1..3]);
    let sorted = format!("{path}&sort=name");
    for (path, id) in [
        (&path, &b"9"[..]),
        (&path, b"\xff"),
        (&path, b"a b"),
        (&path, b"AQ"),
        (&path, &[b'x'; 300]),
        (&sorted, first.as_bytes()),
    ] {
        let problem = ask(path, id).await.problem(400, "invalid_header");
        assert_eq!(problem["errors"][0]["header"], "last-event-id");
    }
    // Other forms have no events.
    let page = app
        .request(Method::GET, MEMBERS)
        .header("last-event-id", "9");
    page.send().await.expect(200);
}

/// Without this, a part of a list would be taken for all of it.
#[tokio::test]
async fn a_database_that_fails_in_the_middle_is_never_a_clean_end() {
    let app = App::start().await;
    fill(&app, 20_000).await;
    for format in FORMATS {
        let mut sql = app.sql().await;
        let path = format!("{MEMBERS}?format={format}");
        let mut streamed = app.request(Method::GET, &path).open().await;
        streamed.lines(10_000).await;
        end_statements(&mut sql).await;
        streamed.rest().await.expect_err("a broken transfer");
        let said = match format {
            "ndjson" => streamed.text.lines().last().map(str::to_owned),
            "sse" => {
                let last = events(&streamed.text).pop().expect("an event");
                assert_eq!(last.name, "error");
                Some(last.data)
            }
            _ => None,
        };
        if let Some(said) = said {
            let problem: Value = serde_json::from_str(&said).expect("a problem");
            assert_eq!(problem["code"], "database_unavailable");
            assert_eq!(
                problem["request_id"],
                streamed.headers["x-request-id"].to_str().expect("id")
            );
        }
        app.get(MEMBERS).await.expect(200);
    }
}

/// There the end of the connection is the end of the list: proxies ask so by default.
#[tokio::test]
async fn nor_is_it_for_a_client_of_http_1_0() {
    let app = App::start().await;
    fill(&app, 20_000).await;
    for format in FORMATS {
        let mut wire = Wire::connect(app.address).await;
        wire.send(&format!(
            "GET {MEMBERS}?format={format} HTTP/1.0\r\nHost: here\r\n\r\n"
        ))
        .await;
        wire.begun().await;
        end_statements(&mut app.sql().await).await;
        let (text, end) = wire.read_out().await;
        assert!(!text.contains("transfer-encoding"));
        end.expect_err("a reset connection");
    }
    let mut wire = Wire::connect(app.address).await;
    wire.send(&format!(
        "GET {MEMBERS}?format=csv HTTP/1.0\r\nHost: here\r\n\r\n"
    ))
    .await;
    let (text, end) = wire.read_out().await;
    end.expect("the end of a list");
    assert!(text.matches('\n').count() > 20_000);
}

/// The database's machine is gone: neither an end nor an error comes over the connection.
#[tokio::test]
async fn nor_is_it_where_the_database_is_never_heard_of_again() {
    let settings = Settings {
        connections: 1,
        streams: 1,
        statement_timeout: Duration::from_millis(500),
        heartbeat: Duration::from_millis(50),
        ..Settings::default()
    };
    let (app, shim) = App::start_over_shim(settings).await;
    fill(&app, 20_000).await;
    for format in FORMATS {
        let path = format!("{MEMBERS}?format={format}");
        let mut streamed = app.request(Method::GET, &path).open().await;
        streamed.lines(1).await;
        shim.strand();
        streamed.rest().await.expect_err("a broken transfer");
        assert_eq!(
            streamed.text.contains("database_unavailable"),
            format != "csv"
        );
        app.get(&format!("{path}&limit=1")).await.expect(200);
    }
}

#[tokio::test]
async fn a_client_that_leaves_frees_the_connection_without_reading_the_rest() {
    let settings = Settings {
        connections: 1,
        streams: 1,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    fill(&app, 20_000).await;
    let mut sql = app.sql().await;
    for _ in 0..5 {
        for format in FORMATS {
            let path = format!("{MEMBERS}?format={format}");
            let mut streamed = app.request(Method::GET, &path).open().await;
            streamed.lines(1).await;
            assert_eq!(running(&mut sql).await, 1, "{format}");
            drop(streamed);
            app.get(&format!("{MEMBERS}?limit=1")).await.expect(200);
            until("no statement runs", async || running(&mut sql).await == 0).await;
        }
    }
}

#[tokio::test]
async fn a_reader_may_take_longer_than_a_statement_may_run() {
    let settings = Settings {
        statement_timeout: Duration::from_secs(1),
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    fill(&app, 20_000).await;
    for format in FORMATS {
        let mut streamed = app
            .request(Method::GET, &format!("{MEMBERS}?format={format}"))
            .open()
            .await;
        streamed.lines(1).await;
        sleep(Duration::from_millis(1500)).await;
        streamed.rest().await.expect("the whole");
    }
    // The next who has the connection is bounded again.
    let mut held = app.sql().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE members")
        .execute(&mut held)
        .await
        .expect("locked");
    app.get(MEMBERS).await.problem(503, "timed_out");
}

#[tokio::test]
async fn more_streams_than_are_allowed_wait_and_are_then_told_to_come_again() {
    let settings = Settings {
        streams: 2,
        acquire_timeout: Duration::from_secs(1),
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    fill(&app, 20_000).await;
    let path = format!("{MEMBERS}?format=ndjson");
    let mut first = app.request(Method::GET, &path).open().await;
    let mut second = app.request(Method::GET, &path).open().await;
    first.lines(1).await;
    second.lines(1).await;
    let refused = app.get(&path).await;
    assert_eq!(refused.header("retry-after"), "1");
    refused.problem(503, "too_many_streams");
    // Pages are not streams.
    app.get(MEMBERS).await.expect(200);
    first.rest().await.expect("the whole");
    app.get(&format!("{path}&limit=1")).await.expect(200);
    drop(second);
    let again = [app.get(&path), app.get(&path)];
    for answer in futures_util::future::join_all(again).await {
        answer.expect(200);
    }
}

#[tokio::test]
async fn what_fails_before_the_first_row_is_a_problem_like_any_other() {
    let (app, shim) = App::start_over_shim(Settings::default()).await;
    fill(&app, 3).await;
    app.get(MEMBERS).await.expect(200);
    shim.cut();
    for format in FORMATS {
        let path = format!("{MEMBERS}?format={format}");
        app.get(&path).await.problem(503, "database_unavailable");
        // Nothing needs to be read for this.
        let head = app.request(Method::HEAD, &path).send().await.expect(200);
        assert!(!head.headers.contains_key("content-length"));
    }
}

#[tokio::test]
async fn a_stream_of_events_says_that_it_is_still_there() {
    let settings = Settings {
        heartbeat: Duration::from_millis(50),
        ..Settings::default()
    };
    let (app, shim) = App::start_over_shim(settings).await;
    fill(&app, 20_000).await;
    let mut streamed = app
        .request(Method::GET, &format!("{MEMBERS}?format=sse"))
        .open()
        .await;
    streamed.lines(4).await;
    shim.hold();
    while !streamed.text.ends_with("\n:\n\n:\n\n") {
        assert!(streamed.more().await.expect("more"));
    }
    shim.release();
    let text = streamed.rest().await.expect("the whole");
    let events = events(text);
    assert_eq!(events.len(), 20_001);
    assert_eq!(events.last().expect("an end").data, "{\"rows\":20000}");
}

#[tokio::test]
async fn the_first_rows_do_not_wait_for_the_others() {
    for format in FORMATS {
        // A statement is sent as text the first time alone.
        let (app, shim) = App::start_over_shim(Settings::default()).await;
        fill(&app, 20_000).await;
        // What is read first is there, and nothing of what is read behind it.
        shim.hold_at(" AND m.id < ");
        let path = format!("{MEMBERS}?format={format}");
        let mut streamed = app.request(Method::GET, &path).open().await;
        streamed.lines(1000).await;
        shim.held().await;
        shim.release();
        let text = streamed.rest().await.expect("the whole");
        assert!(text.matches('\n').count() >= 20_000);
    }
}

#[tokio::test]
async fn a_list_is_as_it_was_when_its_stream_began() {
    let app = App::start().await;
    fill(&app, 20_000).await;
    let mut streamed = app
        .request(Method::GET, &format!("{MEMBERS}?format=ndjson&sort=name"))
        .open()
        .await;
    streamed.lines(1).await;
    app.post(MEMBERS, json!({"name": "n6"})).await.expect(201);
    sqlx::query("DELETE FROM members WHERE name_folded = 'n5'")
        .execute(&mut app.sql().await)
        .await
        .expect("deleted");
    let text = streamed.rest().await.expect("the whole");
    assert_eq!(text.lines().count(), 20_000);
}

#[tokio::test]
async fn the_service_ends_although_a_stream_is_not_read() {
    let settings = Settings {
        grace: Duration::from_secs(1),
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    fill(&app, 20_000).await;
    let mut streamed = app
        .request(Method::GET, &format!("{MEMBERS}?format=csv"))
        .open()
        .await;
    streamed.lines(1).await;
    app.shutdown.announce();
    app.shutdown.begin();
    app.serving.await.expect("the end");
    streamed.rest().await.expect_err("a broken transfer");
}
