//! `/livez` and `/readyz`

use serde_json::json;

use crate::kit::{App, Settings, database::Database};

#[tokio::test]
async fn the_service_is_ready_also_while_every_connection_is_busy() {
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let busy = app.pool.acquire().await.expect("the connection");
    assert_eq!(
        app.get("/readyz").await.expect(200).body,
        json!({"status": "ok"})
    );
    assert_eq!(
        app.get("/livez").await.expect(200).body,
        json!({"status": "ok"})
    );
    drop(busy);
}

#[tokio::test]
async fn a_database_that_was_never_migrated_is_told_as_that() {
    let database = Database::create_empty().await;
    let options = database.options.clone();
    let app = App::start_on(database, options, Settings::default()).await;
    let problem = app.get("/readyz").await.problem(503, "not_ready");
    assert_eq!(
        problem["detail"],
        "The database lacks migrations of this version."
    );
    assert!(app.get("/livez").await.status.is_success());
}
