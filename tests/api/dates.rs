//! Days and times: what is refused, what is kept, and what the database must not hold.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::kit::{App, app::Settings, database::Database, document::Subject};

const MEMBERS: &str = "/api/v1/members";
const MAIL_RECORDS: &str = "/api/v1/mail-records";
const SUPPRESSIONS: &str = "/api/v1/suppressions";

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A service on a database whose sessions would think to be elsewhere, and write dates otherwise.
async fn start_in(zone: &str) -> App {
    let database = Database::create().await;
    let mut sql = database.connect().await;
    let name = database.options.get_database().expect("a name");
    for set in [
        format!("ALTER DATABASE {name} SET timezone TO '{zone}'"),
        format!("ALTER DATABASE {name} SET datestyle TO 'German'"),
    ] {
        sqlx::query(AssertSqlSafe(set))
            .execute(&mut sql)
            .await
            .expect("a setting");
    }
    let options = database.options.clone();
    App::start_on(database, options, Settings::default()).await
}

/// At any moment it is another day than in UTC in one of the last two.
const ZONES: [&str; 4] = [
    "Pacific/Auckland",
    "America/Los_Angeles",
    "Etc/GMT-14",
    "Etc/GMT+12",
];

#[tokio::test]
async fn a_birthday_is_the_same_day_wherever_the_database_thinks_to_be() {
    for zone in ZONES {
        let app = start_in(zone).await;
        let input = json!({"name": "Ann", "birth": "1973-11-01", "joined": "2024-03-31"});
        let created = app.post(MEMBERS, input).await.expect(201);
        let path = created.header("location").to_owned();
        for _ in 0..3 {
            let read = app.get(&path).await.expect(200).body;
            assert_eq!(read["birth"], "1973-11-01", "{zone}");
            assert_eq!(read["joined"], "2024-03-31", "{zone}");
            let again = json!({"name": "Ann", "birth": read["birth"], "joined": read["joined"]});
            app.put(&path, again).await.expect(200);
        }
        for (filter, count) in [
            ("joined_from=2024-03-31&joined_to=2024-04-01", 1),
            ("joined_from=2024-04-01", 0),
            ("joined_to=2024-03-31", 0),
        ] {
            let listed = app.get(&format!("{MEMBERS}?{filter}")).await.expect(200);
            assert_eq!(listed.ids().len(), count, "{zone}: {filter}");
        }
    }
}

#[tokio::test]
async fn the_day_of_joining_is_todays_in_utc_wherever_the_database_thinks_to_be() {
    for zone in ZONES {
        let app = start_in(zone).await;
        let before = chrono::Utc::now().date_naive();
        let created = app.post(MEMBERS, json!({"name": "Ann"})).await.expect(201);
        let replaced = app
            .put(created.header("location"), json!({"name": "Ann"}))
            .await
            .expect(200);
        let after = chrono::Utc::now().date_naive();
        for member in [created.body, replaced.body] {
            let joined = member["joined"]
                .as_str()
                .expect("a day")
                .parse()
                .expect("a day");
            assert!((before..=after).contains(&joined), "{zone}: {joined}");
        }
    }
}

#[tokio::test]
async fn times_are_the_same_instant_wherever_the_database_thinks_to_be() {
    for zone in ZONES {
        let app = start_in(zone).await;
        let ann = app.member("ann").await;
        let at = "2024-03-31T02:30:00.123456Z";
        let record = json!({"subject": "Hi", "status_at": at});
        let created = app
            .post(&format!("{ann}/mail-records"), record)
            .await
            .expect(201);
        assert_eq!(created.body["status_at"], at);
        assert_eq!(
            app.get(created.header("location")).await.expect(200).text,
            created.text
        );
    }
}

#[tokio::test]
async fn a_day_is_a_day_of_the_calendar_and_comes_back_as_it_went_in() {
    let app = App::start().await;
    for field in ["birth", "joined"] {
        for day in [
            "2000-02-29",
            "2024-02-29",
            "1582-10-10",
            "0001-01-01",
            "9999-12-31",
        ] {
            let created = app
                .post(MEMBERS, json!({"name": "Ann", field: day}))
                .await
                .expect(201);
            assert_eq!(created.body[field], day);
            assert_eq!(
                app.get(created.header("location")).await.expect(200).text,
                created.text
            );
        }
        for day in [
            "2001-02-29",
            "1900-02-29",
            "2001-02-30",
            "2001-04-31",
            "2001-13-01",
            "2001-00-01",
            "2001-01-00",
            "0000-01-01",
            "10000-01-01",
            "+2001-01-01",
            "-0001-01-01",
            "1973-11-01T00:00:00Z",
            "1973-11-01 ",
            "1973-11-1",
            "19731101",
            "01.11.1973",
            "11/01/1973",
            "1973-W44-4",
            "1973-305",
            "today",
            "infinity",
            "-infinity",
            "",
        ] {
            let refused = app.post(MEMBERS, json!({"name": "Ann", field: day})).await;
            let code = refused.error_at(422, "invalid_body", &format!("#/{field}"));
            assert_eq!(code, "invalid_date", "{day}");
            for filter in ["joined_from", "joined_to"] {
                let refused = app
                    .get(&format!("{MEMBERS}?{filter}={}", encoded(day)))
                    .await;
                let code = refused.error_at(400, "invalid_parameter", filter);
                assert_eq!(code, "invalid_date", "{day}");
            }
        }
    }
}

#[tokio::test]
async fn a_time_is_kept_in_utc_with_microseconds() {
    let app = App::start().await;
    let records = format!("{}/mail-records", app.member("ann").await);
    for (given, kept) in [
        ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00.000000Z"),
        ("2024-05-01t12:00:00z", "2024-05-01T12:00:00.000000Z"),
        ("2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00.000000Z"),
        ("2024-05-01T23:30:00.5-05:45", "2024-05-02T05:15:00.500000Z"),
        ("2024-05-01T12:00:00-00:00", "2024-05-01T12:00:00.000000Z"),
        // Cut, and not rounded into the next second, day and year.
        (
            "2023-12-31T23:59:59.9999999Z",
            "2023-12-31T23:59:59.999999Z",
        ),
        (
            "1969-12-31T23:59:59.9999995Z",
            "1969-12-31T23:59:59.999999Z",
        ),
        (
            "2024-05-01T12:00:00.123456789123Z",
            "2024-05-01T12:00:00.123456Z",
        ),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        (
            "9999-12-31T23:59:59.999999999Z",
            "9999-12-31T23:59:59.999999Z",
        ),
    ] {
        let created = app
            .post(&records, json!({"subject": "Hi", "status_at": given}))
            .await
            .expect(201);
        assert_eq!(created.body["status_at"], kept, "{given}");
        assert_eq!(
            app.get(created.header("location")).await.expect(200).text,
            created.text
        );
    }
}

#[tokio::test]
async fn what_is_not_an_instant_is_refused_in_body_and_query() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let records = format!("{ann}/mail-records");
    for time in [
        "2024-05-01",
        "2024-05-01T12:00:00",
        "2024-05-01 12:00:00Z",
        "2024-05-01T12:00Z",
        "2024-05-01T12:00:00+0200",
        "2024-05-01T12:00:00 02:00",
        "2024-05-01T24:00:00Z",
        "2024-02-30T12:00:00Z",
        // Leap seconds.
        "2016-12-31T23:59:60Z",
        "2016-12-31T18:59:60.5-05:00",
        // Within the years as written, and outside of them in UTC.
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "0000-12-31T23:59:59Z",
        "10000-01-01T00:00:00Z",
        "1714564800",
        "now",
        "infinity",
        "",
    ] {
        let refused = app
            .post(&records, json!({"subject": "Hi", "status_at": time}))
            .await;
        let code = refused.error_at(422, "invalid_body", "#/status_at");
        assert_eq!(code, "invalid_timestamp", "{time}");
        for list in [MAIL_RECORDS, &records] {
            for filter in ["created_from", "created_to"] {
                let refused = app.get(&format!("{list}?{filter}={}", encoded(time))).await;
                let code = refused.error_at(400, "invalid_parameter", filter);
                assert_eq!(code, "invalid_timestamp", "{time}");
            }
        }
    }
}

#[tokio::test]
async fn a_time_filter_holds_to_the_microsecond_and_to_the_ends_of_time() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let record = app.mail_record(&ann, "Hi").await;
    let created = app.get(&record).await.expect(200).body["created_at"].clone();
    let created = created.as_str().expect("a time");
    let list = format!("{ann}/mail-records");
    for list in [MAIL_RECORDS, &list] {
        for (filter, count) in [
            (format!("created_from={created}"), 1),
            (format!("created_to={created}"), 0),
            ("created_from=0001-01-01T00:00:00Z".to_owned(), 1),
            ("created_to=9999-12-31T23:59:59.999999Z".to_owned(), 1),
            ("created_from=9999-12-31T23:59:59Z".to_owned(), 0),
            (
                format!("created_from={}", encoded("2001-01-01T00:00:00+01:00")),
                1,
            ),
        ] {
            let listed = app.get(&format!("{list}?{filter}")).await.expect(200);
            assert_eq!(listed.ids().len(), count, "{filter}");
        }
    }
}

/// Each column of dates and times.
const COLUMNS: [(&str, &str); 12] = [
    ("members", "birth"),
    ("members", "joined"),
    ("members", "created_at"),
    ("members", "updated_at"),
    ("mail_records", "status_at"),
    ("mail_records", "created_at"),
    ("mail_records", "updated_at"),
    ("consents", "occurred_at"),
    ("consents", "created_at"),
    ("suppressions", "expires_at"),
    ("suppressions", "created_at"),
    ("suppressions", "updated_at"),
];

const UNREADABLE: [&str; 4] = ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"];

#[tokio::test]
async fn the_database_refuses_what_no_client_could_read() {
    let app = App::start().await;
    Subject::create(&app).await;
    for (table, column) in COLUMNS {
        for value in UNREADABLE {
            let update = format!("UPDATE {table} SET {column} = '{value}'");
            let error = sqlx::query(AssertSqlSafe(update)).execute(&app.pool).await;
            let error = error
                .expect_err(value)
                .into_database_error()
                .expect("of the database");
            // What was said later than it was written down is refused as that.
            let checks = ["times", "occurred_at"].map(|check| format!("{table}_{check}_check"));
            let constraint = error.constraint().expect("a constraint");
            assert!(
                checks.iter().any(|check| check == constraint),
                "{column} = {value}: {constraint}"
            );
        }
    }
}

#[tokio::test]
async fn an_unreadable_date_that_is_there_all_the_same_fails_its_own_readers_only() {
    let app = App::start().await;
    let (ann, bob) = (app.member("ann").await, app.member("bob").await);
    let (mail, other) = (
        app.mail_record(&ann, "Hi").await,
        app.mail_record(&bob, "Hi").await,
    );
    let consents = format!("{ann}/consents");
    let consent = app.post(&consents, json!({"state": "granted"})).await;
    let consent = consent.created();
    let suppression = json!({"address": "cleo@example.org"});
    let suppression = app.post(SUPPRESSIONS, suppression).await.created();
    let before: Vec<Value> = [app.get(&bob).await, app.get(&other).await]
        .map(|a| a.body)
        .into();
    let mut sql = app.sql().await;
    for table in ["members", "mail_records", "consents", "suppressions"] {
        let drop = format!("ALTER TABLE {table} DROP CONSTRAINT {table}_times_check");
        sqlx::query(AssertSqlSafe(drop))
            .execute(&mut sql)
            .await
            .expect("dropped");
    }
    sqlx::query("ALTER TABLE consents DROP CONSTRAINT consents_occurred_at_check")
        .execute(&mut sql)
        .await
        .expect("dropped");
    for (table, column) in COLUMNS {
        let (item, list, key) = match table {
            "members" => (&ann, MEMBERS, &ann),
            "mail_records" => (&mail, MAIL_RECORDS, &mail),
            "consents" => (&consent, consents.as_str(), &consent),
            _ => (&suppression, SUPPRESSIONS, &suppression),
        };
        let id = key.rsplit('/').next().expect("an id");
        for value in UNREADABLE {
            let keep = format!("CREATE TEMP TABLE kept AS SELECT * FROM {table} WHERE id = '{id}'");
            let force = format!("UPDATE {table} SET {column} = '{value}' WHERE id = '{id}'");
            let restore = format!(
                "UPDATE {table} SET {column} = (SELECT {column} FROM kept) WHERE id = '{id}'"
            );
            for step in [keep, force] {
                sqlx::query(AssertSqlSafe(step))
                    .execute(&mut sql)
                    .await
                    .expect(value);
            }
            for path in [item.as_str(), list] {
                let problem = app.get(path).await.problem(500, "internal_error");
                assert_eq!(problem["errors"], json!([]), "{column} = {value}");
            }
            assert_eq!(app.get(&bob).await.expect(200).body, before[0]);
            assert_eq!(app.get(&other).await.expect(200).body, before[1]);
            for step in [restore, "DROP TABLE kept".to_owned()] {
                sqlx::query(AssertSqlSafe(step))
                    .execute(&mut sql)
                    .await
                    .expect("restored");
            }
            app.get(item).await.expect(200);
            app.get(list).await.expect(200);
        }
    }
}
