//! The migrations.

use std::{fs, path::Path};

use member_mail::postgres::migrations::{MIGRATIONS, run};
use serde_json::json;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::kit::{App, Settings, database::Database};

/// Columns, constraints and indexes, each as Postgres writes it.
async fn schema(sql: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT concat_ws(' ', table_name, ordinal_position, column_name, udt_name, is_nullable, column_default)
         FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'
         UNION ALL
         SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
         FROM pg_constraint
         WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> '_sqlx_migrations'
         UNION ALL
         SELECT indexdef FROM pg_indexes
         WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations'
         ORDER BY 1",
    )
    .fetch_all(sql)
    .await
    .expect("schema")
}

#[tokio::test]
async fn what_goes_up_comes_down_and_goes_up_again() {
    let database = Database::create().await;
    let mut sql = database.connect().await;
    let first = schema(&mut sql).await;
    assert!(first.len() > 50, "{first:#?}");

    MIGRATIONS.undo(&mut sql, 0).await.expect("down");
    assert_eq!(schema(&mut sql).await, [""; 0]);

    run(&database.options).await.expect("up");
    assert_eq!(schema(&mut sql).await, first);
}

#[tokio::test]
async fn a_migration_of_a_later_version_is_left_alone() {
    let app = App::start().await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (999999, 'later', true, '', 0)",
    )
    .execute(&app.pool)
    .await
    .expect("a later version");
    run(&app.database.options).await.expect("nothing to do");
    app.get("/readyz").await.expect(200);
}

#[tokio::test]
async fn statements_that_are_prepared_outlive_a_new_column() {
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = app.member("ann").await;
    app.mail_record(&ann, "Hi").await;
    let paths = [
        "/api/v1/members".to_owned(),
        "/api/v1/mail-records".to_owned(),
        format!("{ann}/mail-records"),
        format!("{ann}/with-mail-records"),
        format!("{ann}/consents"),
        "/api/v1/suppressions".to_owned(),
        ann,
    ];
    for path in &paths {
        app.get(path).await.expect(200);
    }
    let mut sql = app.sql().await;
    for table in ["members", "mail_records", "consents", "suppressions"] {
        let add = format!("ALTER TABLE {table} ADD COLUMN later int");
        sqlx::raw_sql(AssertSqlSafe(add))
            .execute(&mut sql)
            .await
            .expect("a column");
    }
    for path in &paths {
        app.get(path).await.expect(200);
    }
}

#[tokio::test]
async fn a_database_that_may_only_be_read_is_served_as_far_as_it_goes() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let mut sql = app.sql().await;
    sqlx::raw_sql(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on',
             current_database()); END $$",
    )
    .execute(&mut sql)
    .await
    .expect("read-only");
    let options = app.database.options.clone();
    run(&options).await.expect("nothing is lacking");

    let settings = Settings::default();
    let app = App::start_on(app.database, options, settings).await;
    app.get("/readyz").await.expect(200);
    app.get(&ann).await.expect(200);
    let refused = app.put(&ann, json!({"name": "Anna"})).await;
    assert_eq!(refused.header("retry-after"), "1");
    refused.problem(503, "database_unavailable");
}

/// A checksum is taken over a migration's bytes: with other line ends, a database that is in order is
/// refused as changed.
#[test]
fn line_ends_are_the_same_on_every_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let attributes = fs::read_to_string(root.join(".gitattributes")).expect(".gitattributes");
    assert!(attributes.lines().any(|line| line == "* text=auto eol=lf"));
    let mut files = 0;
    for entry in fs::read_dir(root.join("migrations")).expect("migrations") {
        let path = entry.expect("a file").path();
        let bytes = fs::read(&path).expect("text");
        assert!(!bytes.contains(&b'\r'), "{}", path.display());
        files += 1;
    }
    assert!(files >= 4);
}
