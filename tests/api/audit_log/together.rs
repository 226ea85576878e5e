//! A write and its entry, where something breaks.

use sqlx::AssertSqlSafe;

use super::{acceptable, clear, writes};
use crate::kit::{App, document::Subject};

/// All rows of what is written, but for when a key was used.
async fn contents(app: &App) -> Vec<String> {
    let mut contents = Vec::new();
    for table in [
        "audit_log",
        "members",
        "mail_records",
        "mail_events",
        "consents",
        "suppressions",
        "access_keys",
    ] {
        let rows = format!(
            "SELECT coalesce(string_agg((to_jsonb(t) - 'last_used_at')::text, ' ' ORDER BY id), '') FROM {table} t"
        );
        let rows: String = sqlx::query_scalar(AssertSqlSafe(rows))
            .fetch_one(&app.pool)
            .await
            .expect("rows");
        contents.push(rows);
    }
    contents
}

#[tokio::test]
async fn a_write_and_its_entry_are_there_together_or_neither_is() {
    let app = App::start_with_key().await;
    sqlx::raw_sql(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'sabotage'; END $$",
    )
    .execute(&app.pool)
    .await
    .expect("a function");
    for (create, drop) in [
        (
            "CREATE TRIGGER fail BEFORE INSERT ON audit_log EXECUTE FUNCTION fail()",
            "DROP TRIGGER fail ON audit_log",
        ),
        // When all is written, and to be committed.
        (
            "CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON audit_log DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION fail()",
            "DROP TRIGGER fail ON audit_log",
        ),
    ] {
        for operation in writes() {
            clear(&app).await;
            let subject = Subject::create(&app).await;
            let request = acceptable(&app, &operation, &subject).await;
            let before = contents(&app).await;
            sqlx::raw_sql(create)
                .execute(&app.pool)
                .await
                .expect("a trigger");
            let failed = request.send().await;
            sqlx::raw_sql(drop).execute(&app.pool).await.expect("none");
            assert_eq!(failed.status, 500, "{}", operation.name());
            assert_eq!(contents(&app).await, before, "{}", operation.name());
        }
    }
}
