//! Databases on a server of one's own, and migrations on them.

use std::net::TcpListener;

use crate::kit::{Database, Folder, Process, get, process::address, url};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_ones_own_is_used_and_no_other_started() {
    let database = Database::create_empty().await;
    let url = url(&database);
    let folder = Folder::new();
    let mut process = Process::start(&folder, &[], &[("DATABASE_URL", &url)]);
    let [_, api, _, data] = process.greeting();
    assert_eq!(get(address(&api), "/readyz").0, 200);
    let name = database.options.get_database().expect("a name");
    assert!(data.ends_with(&format!("database {name}")), "{data}");
    process.signal("TERM");
    process.output().success();
    assert!(!folder.data_dir().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_start_together_migrate_once() {
    let database = Database::create_empty().await;
    let url = url(&database);
    let folder = Folder::new();
    let mut processes: Vec<_> = (0..5)
        .map(|_| Process::start(&folder, &[], &[("DATABASE_URL", &url)]))
        .collect();
    for process in &mut processes {
        let [_, api, ..] = process.greeting();
        assert_eq!(get(address(&api), "/readyz").0, 200);
    }
    let mut sql = database.connect().await;
    let applied: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT version, count(*) FROM _sqlx_migrations WHERE success GROUP BY version ORDER BY version",
    )
    .fetch_all(&mut sql)
    .await
    .expect("migrations");
    let wanted: Vec<_> = member_mail::postgres::migrations::MIGRATIONS
        .iter()
        .filter(|migration| migration.migration_type.is_up_migration())
        .map(|migration| (migration.version, 1))
        .collect();
    assert_eq!(applied, wanted);
    let locks: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
             WHERE locktype = 'advisory' AND datname = current_database()",
    )
    .fetch_one(&mut sql)
    .await
    .expect("locks");
    assert_eq!(locks, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_changed_after_it_was_applied_is_refused() {
    let database = Database::create().await;
    let url = url(&database);
    let mut sql = database.connect().await;
    sqlx::query("UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 2")
        .execute(&mut sql)
        .await
        .expect("changed");
    let folder = Folder::new();
    for command in [&[][..], &["migrate"], &["seed"]] {
        let output = Process::run(&folder, command, &[("DATABASE_URL", &url)]);
        let refusal = output.refusal();
        assert!(refusal.contains("migration 2"), "{refusal}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    drop(listener);
    let folder = Folder::new();
    let url = format!("postgres://ann:secret@127.0.0.1:{port}/club");
    for command in [&[][..], &["migrate"], &["seed"]] {
        let output = Process::run(&folder, command, &[("DATABASE_URL", &url)]);
        let refusal = output.refusal();
        assert!(refusal.contains(&format!("127.0.0.1:{port}")), "{refusal}");
        assert!(refusal.contains("DATABASE_URL"), "{refusal}");
        assert!(!refusal.contains("secret"), "{refusal}");
    }
}
