//! What lies with the service, its database and time.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CREATE, LIST, MEMBERS, Refusal, locked, of_answer, of_reply};
use crate::kit::{App, Settings, Wire, sessions::until_locked};

const SECOND: Duration = Duration::from_secs(1);

pub(super) async fn request_timeout() -> Refusal {
    let app = App::start_with(Settings {
        request_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let mut slow = Wire::connect(app.address).await;
    slow.send("POST /api/v1/members HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
        .await;
    of_reply(CREATE, slow.reply().await.expect("an answer"))
}

pub(super) async fn internal_error() -> Refusal {
    let app = App::start().await;
    sqlx::raw_sql("ALTER TABLE members DROP COLUMN name")
        .execute(&mut app.sql().await)
        .await
        .expect("dropped");
    of_answer(LIST, app.get(MEMBERS).await)
}

pub(super) async fn database_unavailable() -> Refusal {
    let (app, shim) = App::start_over_shim(Settings {
        acquire_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    shim.cut();
    of_answer(LIST, app.get(MEMBERS).await)
}

pub(super) async fn write_conflict() -> Refusal {
    let app = App::start().await;
    sqlx::raw_sql(
        "CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE deadlock_detected; END $$;
         CREATE TRIGGER collide BEFORE INSERT ON members EXECUTE FUNCTION collide()",
    )
    .execute(&mut app.sql().await)
    .await
    .expect("a trigger");
    of_answer(CREATE, app.post(MEMBERS, json!({"name": "Ann"})).await)
}

pub(super) async fn timed_out() -> Refusal {
    let app = App::start_with(Settings {
        statement_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let locked = locked(&app).await;
    let refusal = of_answer(LIST, app.get(MEMBERS).await);
    drop(locked);
    refusal
}

pub(super) async fn too_many_streams() -> Refusal {
    let app = App::start_with(Settings {
        streams: 1,
        acquire_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let path = format!("{MEMBERS}?format=ndjson");
    let mut sql = locked(&app).await;
    let held = app.wire("GET", &path, &Value::Null).await;
    until_locked(&mut sql, 1).await;
    let refusal = of_answer(LIST, app.get(&path).await);
    drop(held);
    refusal
}

pub(super) async fn overloaded() -> Refusal {
    let app = App::start_with(Settings {
        requests: 1,
        ..Settings::default()
    })
    .await;
    let mut sql = locked(&app).await;
    let running = app.wire("GET", MEMBERS, &Value::Null).await;
    until_locked(&mut sql, 1).await;
    let refusal = of_answer(LIST, app.get(MEMBERS).await);
    drop(running);
    refusal
}

pub(super) async fn rate_limited() -> Refusal {
    let app = App::start_with(Settings {
        rate_limit: 1,
        ..Settings::default()
    })
    .await;
    loop {
        let answer = app.get(MEMBERS).await;
        if answer.status != 200 {
            return of_answer(LIST, answer);
        }
    }
}

pub(super) async fn not_ready() -> Refusal {
    let app = App::start().await;
    app.shutdown.announce();
    of_answer("GET /readyz", app.get("/readyz").await)
}

pub(super) async fn shutting_down() -> Refusal {
    let app = App::start().await;
    let mut sql = locked(&app).await;
    // While this one runs the service is there to refuse others.
    let running = app.wire("POST", MEMBERS, &json!({"name": "Ann"})).await;
    until_locked(&mut sql, 1).await;
    app.shutdown.begin();
    let mut late = app.wire("GET", MEMBERS, &Value::Null).await;
    let refusal = of_reply(LIST, late.reply().await.expect("an answer"));
    drop(running);
    refusal
}
