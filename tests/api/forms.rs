//! A list in its four forms: the same rows in the same order, whichever is asked for.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::{App, csv::records, document::Subject, lists::lists, streamed::events};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const EVENTS: &str = "text/event-stream";

/// Rows of each list with values that are hard to write down.
async fn fill(app: &App) -> Subject {
    let ann = Subject::create(app).await;
    for (number, name) in [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "'quoted'",
        "Lee, \"Ann\"",
        "a;b\u{2028}c",
        "<script>alert(1)</script>",
        "\u{ff1d}1+1",
        " padded ",
        "😀",
    ]
    .into_iter()
    .enumerate()
    {
        app.post(
            &format!("{}/events", ann.mail_record),
            json!({"type": "failed", "diagnostic": name}),
        )
        .await
        .expect(201);
        let tags = json!(["Bristol, UK", "\"", format!("t{number}"), "=1+1"]);
        let member = json!({"name": name, "tags": tags, "attributes": {"a": [1, {"b": null}]}});
        app.post("/api/v1/members", member).await.expect(201);
        let mail = json!({"subject": name, "tags": tags, "recipient": "a@example.org"});
        let records = format!("{}/mail-records", ann.member);
        app.post(&records, mail).await.expect(201);
        let consent = json!({"state": "granted", "topic": name, "evidence": {"a": tags}});
        app.post(&format!("{}/consents", ann.member), consent)
            .await
            .expect(201);
        let suppression = json!({"address": format!("=1+{number}@example.org")});
        app.post("/api/v1/suppressions", suppression)
            .await
            .expect(201);
    }
    // As many as there is of all else, and fewer than a page has.
    sqlx::raw_sql("DELETE FROM audit_log WHERE resource <> 'member'")
        .execute(&app.pool)
        .await
        .expect("fewer");
    ann
}

/// The rows of a CSV, each as the JSON that it was made from.
fn rows_of_csv(text: &str, like: &[Value]) -> Vec<Value> {
    let mut records = records(text).into_iter();
    let names = records.next().expect("a header");
    let record = |(cells, like): (Vec<String>, &Value)| {
        assert_eq!(cells.len(), names.len());
        let fields = names.iter().zip(cells).map(|(name, cell)| {
            let cell = cell.strip_prefix('\'').unwrap_or(&cell);
            let value = match &like[name] {
                Value::Null => {
                    assert_eq!(cell, "");
                    Value::Null
                }
                Value::String(_) => json!(cell),
                _ => serde_json::from_str(cell).expect("JSON"),
            };
            (name.clone(), value)
        });
        Value::Object(fields.collect())
    };
    let rows: Vec<_> = records.collect();
    assert_eq!(rows.len(), like.len());
    rows.into_iter().zip(like).map(record).collect()
}

#[tokio::test]
async fn every_list_has_the_same_rows_in_every_form() {
    let app = App::start().await;
    let ann = fill(&app).await;
    for list in lists() {
        let path = list.path_on(&ann);
        let key = list.operation.words("sort")[0];
        for query in [
            "limit=500",
            "limit=3",
            &format!("sort=-{key}&limit=500"),
            &format!("sort={key}"),
        ] {
            let page = app.get(&format!("{path}?{query}")).await.expect(200);
            let rows = page.body["data"].as_array().expect("rows").clone();
            for (media_type, format) in [(NDJSON, "ndjson"), (CSV, "csv"), (EVENTS, "sse")] {
                let chosen = app.request(Method::GET, &format!("{path}?{query}"));
                let chosen = chosen.header("accept", media_type).send().await.expect(200);
                let asked = app.get(&format!("{path}?{query}&format={format}")).await;
                assert_eq!(asked.expect(200).text, chosen.text);
                let found: Vec<Value> = match format {
                    "csv" => rows_of_csv(&chosen.text, &rows),
                    "sse" => {
                        let mut events = events(&chosen.text);
                        let end = events.pop().expect("an end");
                        assert_eq!((end.id.as_str(), end.name.as_str()), ("end", "end"));
                        assert_eq!(end.data, format!("{{\"rows\":{}}}", rows.len()));
                        let data = events.iter().map(|event| serde_json::from_str(&event.data));
                        data.collect::<Result<_, _>>().expect("JSON")
                    }
                    _ => {
                        let lines = chosen.text.lines().map(serde_json::from_str);
                        lines.collect::<Result<_, _>>().expect("JSON")
                    }
                };
                assert_eq!(found, rows, "{path} {query} {format}");
            }
        }
    }
}

#[tokio::test]
async fn no_cell_is_read_as_a_formula() {
    let app = App::start().await;
    let ann = fill(&app).await;
    for list in lists() {
        let path = format!("{}?format=csv", list.path_on(&ann));
        let csv = app.get(&path).await.expect(200);
        assert!(!csv.text.starts_with('\u{feff}'));
        for cell in records(&csv.text).iter().flatten() {
            let formula = ['=', '+', '-', '@', '\t', '\r', '\u{ff1d}'];
            assert!(!cell.starts_with(formula), "{cell}");
        }
    }
}

/// A line break can only have come in by other ways than this service.
#[tokio::test]
async fn what_a_cell_holds_is_read_back_wherever_it_stands() {
    let app = App::start().await;
    let names = [
        "Lee, \"Ann\"\r\nc/o Desk",
        "\r",
        "\n",
        "\"",
        "\",\"",
        "a\r",
        "'",
        "=\r\n",
        "plain",
    ];
    // Of one length after the other, so that what is sent at once ends anywhere in a row.
    sqlx::query(
        "INSERT INTO members (id, name, joined, status)
         SELECT gen_random_uuid(), $1[1 + n % 9] || repeat('x', n % 101), '2000-01-01', 'active'
         FROM generate_series(1, 5000) n",
    )
    .bind(names)
    .execute(&mut app.sql().await)
    .await
    .expect("members");
    // Read as it comes: the document does not have such names.
    let read = async |format: &str| {
        let path = format!("/api/v1/members?format={format}");
        let mut streamed = app.request(Method::GET, &path).open().await;
        streamed.rest().await.expect("the whole").to_owned()
    };
    let rows = read("ndjson").await;
    let rows: Result<Vec<Value>, _> = rows.lines().map(serde_json::from_str).collect();
    let rows = rows.expect("JSON");
    assert_eq!(rows.len(), 5000);
    assert_eq!(rows_of_csv(&read("csv").await, &rows), rows);
}

#[tokio::test]
async fn a_list_without_rows_has_its_header_and_its_end() {
    let app = App::start().await;
    for (format, text) in [
        ("ndjson", ""),
        (
            "csv",
            "id,external_id,email,name,birth,joined,status,tags,attributes,mailability,created_at,updated_at,version\r\n",
        ),
        (
            "sse",
            "retry: 3000\n\nid: end\nevent: end\ndata: {\"rows\":0}\n\n",
        ),
    ] {
        let empty = app.get(&format!("/api/v1/members?format={format}")).await;
        assert_eq!(empty.expect(200).text, text);
    }
}

#[tokio::test]
async fn the_form_is_the_one_that_the_client_likes_best() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for list in lists() {
        let path = list.path_on(&ann);
        for (accept, media_type) in [
            ("*/*", "application/json"),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                "application/json",
            ),
            ("text/csv;q=0.5, application/x-ndjson", NDJSON),
            ("text/*", CSV),
            ("application/json;q=0.1, text/event-stream;q=0.2", EVENTS),
            ("TEXT/EVENT-STREAM", EVENTS),
        ] {
            let answer = app.request(Method::GET, &path).header("accept", accept);
            let answer = answer.send().await.expect(200);
            let chosen = answer.header("content-type").split(';').next();
            assert_eq!(chosen, Some(media_type), "{accept}");
            let varies: Vec<_> = answer.headers.get_all("vary").iter().collect();
            assert!(
                varies.contains(&&"accept".parse().expect("a value")),
                "{varies:?}"
            );
        }
        let refused = app
            .request(Method::GET, &path)
            .header("accept", "text/html");
        let problem = refused.send().await.problem(406, "not_acceptable");
        let detail = problem["detail"].as_str().expect("text");
        for media_type in ["application/json", NDJSON, CSV, EVENTS] {
            assert!(detail.contains(media_type), "{detail}");
        }
        let wrong = app.get(&format!("{path}?format=xml")).await;
        wrong.error_at(400, "invalid_parameter", "format");
    }
}

#[tokio::test]
async fn what_pages_have_is_refused_for_a_stream_and_a_long_page_too() {
    let app = App::start().await;
    let ann = fill(&app).await;
    for list in lists() {
        let path = list.path_on(&ann);
        for format in ["ndjson", "csv", "sse"] {
            for (name, value) in [("page", "1"), ("size", "5"), ("count", "exact")] {
                let answer = app
                    .get(&format!("{path}?format={format}&{name}={value}"))
                    .await;
                let code = answer.error_at(400, "invalid_parameter", name);
                assert_eq!(code, "conflict");
            }
            app.get(&format!("{path}?format={format}&limit=501"))
                .await
                .expect(200);
        }
        let answer = app.get(&format!("{path}?limit=501")).await;
        assert_eq!(
            answer.error_at(400, "invalid_parameter", "limit"),
            "out_of_range"
        );
        // A page may be read backwards, a stream goes on.
        let second = app.get(&format!("{path}?limit=1")).await.expect(200);
        let second = second.body["page"]["next_cursor"]
            .as_str()
            .expect("more")
            .to_owned();
        let page = app
            .get(&format!("{path}?limit=1&cursor={second}"))
            .await
            .expect(200);
        let rest = app
            .get(&format!("{path}?format=ndjson&cursor={second}"))
            .await;
        let rest = rest.expect(200);
        let first = rest.text.lines().next().expect("a row");
        let first: Value = serde_json::from_str(first).expect("JSON");
        assert_eq!(first, page.body["data"][0]);
        let back = page.body["page"]["prev_cursor"]
            .as_str()
            .expect("a way back");
        let path = format!("{path}?format=ndjson&cursor={back}");
        let code = app
            .get(&path)
            .await
            .error_at(400, "invalid_parameter", "cursor");
        assert_eq!(code, "invalid_cursor");
    }
}

#[tokio::test]
async fn an_unknown_member_has_no_list_in_any_form() {
    let app = App::start().await;
    let path = format!("/api/v1/members/{}/mail-records", uuid::Uuid::now_v7());
    for format in ["json", "ndjson", "csv", "sse"] {
        let path = format!("{path}?format={format}");
        app.get(&path).await.problem(404, "member_not_found");
        let head = app.request(Method::HEAD, &path).send().await;
        assert_eq!(head.status, 404, "{format}");
    }
    // A connection that was given back is as good as new.
    app.get("/api/v1/members").await.expect(200);
}

#[tokio::test]
async fn files_have_names_and_streams_are_not_held_back() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for list in lists() {
        for format in ["ndjson", "csv", "sse"] {
            let path = format!("{}?format={format}", list.path_on(&ann));
            let zipped = app
                .request(Method::GET, &path)
                .header("accept-encoding", "gzip");
            let answer = zipped.send().await.expect(200);
            assert!(!answer.headers.contains_key("content-encoding"));
            assert!(!answer.headers.contains_key("content-length"));
            assert_eq!(answer.header("x-accel-buffering"), "no");
            let disposition = answer.headers.get("content-disposition");
            let expected = format!("attachment; filename=\"{}.{format}\"", list.table);
            assert_eq!(disposition.is_some(), format != "sse");
            assert!(
                disposition.is_none_or(|value| *value == *expected),
                "{disposition:?}"
            );
        }
    }
}

#[tokio::test]
async fn no_cache_takes_one_form_for_another() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for list in lists() {
        let path = list.path_on(&ann);
        for media_type in ["application/json", NDJSON, CSV, EVENTS] {
            let ask = || {
                let request = app.request(Method::GET, &path);
                request.header("accept", media_type)
            };
            let answer = ask().send().await.expect(200);
            assert_eq!(answer.header("cache-control"), "private, no-cache");
            assert!(!answer.headers.contains_key("etag"));
            let mut varies = answer.headers.get_all("vary").iter();
            assert!(varies.any(|value| value == "accept"));
            // A member's version says nothing of a list.
            let again = ask().header("if-none-match", "\"1\"").send().await;
            assert_eq!(again.expect(200).text, answer.text);
        }
    }
}

#[tokio::test]
async fn those_who_read_trailers_are_told_how_many_rows_there_were() {
    let app = App::start().await;
    let ann = fill(&app).await;
    for list in lists() {
        for format in ["ndjson", "csv", "sse"] {
            let path = format!("{}?format={format}", list.path_on(&ann));
            let mut streamed = app
                .request(Method::GET, &path)
                .header("te", "trailers")
                .open()
                .await;
            assert_eq!(streamed.headers["trailer"], "row-count");
            streamed.rest().await.expect("the whole");
            let trailers = streamed.trailers.expect("trailers");
            let page = app.get(&format!("{}?limit=500", list.path_on(&ann))).await;
            assert_eq!(trailers["row-count"], page.ids().len().to_string());
        }
    }
}

/// A line break can only have come in by other ways than this service.
#[tokio::test]
async fn what_is_in_a_row_makes_no_event_of_its_own() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let name = "Ann\revent: deleted\rid: 9\r\r\ndata: x\n\n";
    sqlx::query("UPDATE members SET name = $1")
        .bind(name)
        .execute(&mut app.sql().await)
        .await
        .expect("changed");
    let answer = app.get("/api/v1/members?format=sse").await.expect(200);
    let [row, end] = &events(&answer.text)[..] else {
        panic!("{}", answer.text);
    };
    assert_eq!((row.name.as_str(), end.name.as_str()), ("member", "end"));
    let row: Value = serde_json::from_str(&row.data).expect("JSON");
    assert_eq!(
        (&row["id"], &row["name"]),
        (&json!(ann.member_id), &json!(name))
    );
}
