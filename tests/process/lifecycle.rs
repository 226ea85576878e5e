//! From start to stop: what is printed, where it listens, and how it ends when told to.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use serde_json::json;
use sqlx::PgConnection;

use crate::kit::{
    Database, Folder, Process, get, process::address, says_not_ready, send, until, until_locked,
    url,
};

/// A member, and another session that holds her row.
async fn locked_member(folder: &Folder, address: SocketAddr) -> (String, PgConnection) {
    let (_, ann) = send(address, "POST", "/api/v1/members", &json!({"name": "Ann"})).expect("Ann");
    let mut sql = folder.connect().await;
    for statement in ["BEGIN", "SELECT FROM members FOR UPDATE"] {
        sqlx::query(statement)
            .execute(&mut sql)
            .await
            .expect("locked");
    }
    let id = ann["id"].as_str().expect("id");
    (format!("/api/v1/members/{id}"), sql)
}

#[test]
fn the_start_says_where_everything_is_and_data_lasts() {
    let folder = Folder::new();
    let mut process = Process::start(&folder, &[], &[]);
    let [page, api, ui, data] = process.greeting();
    let first = address(&api);
    assert_eq!(page, format!("Page        http://{first}/"));
    assert_eq!(api, format!("API         http://{first}/api/v1"));
    assert_eq!(ui, format!("Swagger UI  http://{first}/swagger-ui/"));
    let data_dir = folder.data_dir().canonicalize().expect("data folder");
    assert_eq!(
        data,
        format!("Data        {} (embedded Postgres)", data_dir.display())
    );
    assert!(
        process
            .line()
            .starts_with("Access      for all on this machine")
    );
    assert_eq!(get(first, "/readyz").0, 200);
    assert_eq!(get(first, "/swagger-ui/").0, 200);
    let ann = json!({"name": "Ann"});
    let (status, ann) = send(first, "POST", "/api/v1/members", &ann).expect("an answer");
    assert_eq!(status, 201);
    process.signal("TERM");
    let output = process.output();
    assert_eq!(output.success(), "");
    assert_eq!(output.stderr, "");
    folder.until_deserted();

    let (_process, second) = Process::serve(&folder, &[]);
    let id = ann["id"].as_str().expect("id");
    assert_eq!(get(second, &format!("/api/v1/members/{id}")), (200, ann));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_the_service_when_its_work_is_done() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::new();
        let (process, address) = Process::serve(&folder, &[]);
        let (ann, mut sql) = locked_member(&folder, address).await;
        let writing = thread::spawn(move || send(address, "PUT", &ann, &json!({"name": "Anna"})));
        until_locked(&mut sql, 1).await;

        process.signal(signal);
        until("the service is not ready", || says_not_ready(address));
        assert_eq!(get(address, "/livez").0, 200);
        let (status, refused) = get(address, "/api/v1/members");
        assert_eq!((status, &refused["code"]), (503, &json!("shutting_down")));

        sqlx::query("ROLLBACK")
            .execute(&mut sql)
            .await
            .expect("unlocked");
        let (status, anna) = writing.join().expect("no panic").expect("an answer");
        assert_eq!((status, &anna["name"]), (200, &json!("Anna")));
        process.output().success();
        folder.until_deserted();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_service_at_once() {
    let folder = Folder::new();
    let (process, address) = Process::serve(&folder, &[("SHUTDOWN_GRACE_SECONDS", "3600")]);
    let (ann, mut sql) = locked_member(&folder, address).await;
    let writing = thread::spawn(move || send(address, "PUT", &ann, &json!({"name": "Anna"})));
    until_locked(&mut sql, 1).await;

    process.signal("TERM");
    until("the service is not ready", || says_not_ready(address));
    process.signal("INT");
    process.output().success();
    assert!(writing.join().expect("no panic").is_err());
    folder.until_deserted();
}

#[test]
fn a_load_balancer_is_told_before_anyone_is_refused() {
    let folder = Folder::new();
    let (process, address) = Process::serve(&folder, &[("SHUTDOWN_DELAY_SECONDS", "3600")]);
    process.signal("TERM");
    until("the service is not ready", || says_not_ready(address));
    assert_eq!(get(address, "/api/v1/members").0, 200);
    process.signal("TERM");
    process.output().success();
    folder.until_deserted();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_grace_period_bounds_the_end() {
    let folder = Folder::new();
    let (process, address) = Process::serve(&folder, &[("SHUTDOWN_GRACE_SECONDS", "1")]);
    let (ann, mut sql) = locked_member(&folder, address).await;
    let writing = thread::spawn(move || send(address, "PUT", &ann, &json!({"name": "Anna"})));
    until_locked(&mut sql, 1).await;

    process.signal("TERM");
    process.output().success();
    assert!(writing.join().expect("no panic").is_err());
    folder.until_deserted();
}

#[test]
fn a_signal_ends_the_making_of_the_cluster() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::new();
        let process = Process::start(&folder, &[], &[]);
        until("initdb runs", || {
            let entries = std::fs::read_dir(folder.data_dir());
            entries.into_iter().flatten().flatten().any(|entry| {
                let name = entry.file_name();
                name.to_string_lossy().starts_with("initdb.incomplete")
                    && entry.path().join("base").exists()
            })
        });
        process.signal(signal);
        assert_eq!(process.output().success(), "");
        folder.until_deserted();

        Process::serve(&folder, &[]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_the_wait_for_a_migration() {
    let database = Database::create_empty().await;
    let url = url(&database);
    let folder = Folder::new();
    let mut sql = database.connect().await;
    for statement in ["BEGIN", "CREATE TABLE _sqlx_migrations ()"] {
        sqlx::query(statement)
            .execute(&mut sql)
            .await
            .expect("locked");
    }
    let process = Process::start(&folder, &[], &[("DATABASE_URL", &url)]);
    until_locked(&mut sql, 1).await;
    process.signal("TERM");
    assert_eq!(process.output().success(), "");
}

#[test]
fn every_way_to_write_an_address_works() {
    let folder = Folder::new();
    for (wanted, printed) in [
        ("localhost:0", None),
        ("[::1]:0", Some("http://[::1]:")),
        ("[::]:0", Some("http://[::]:")),
    ] {
        if wanted.contains("::") && TcpListener::bind("[::1]:0").is_err() {
            eprintln!("this machine has no IPv6: {wanted} is left out");
            continue;
        }
        let mut process = Process::start(&folder, &[], &[("BIND_ADDRESS", wanted)]);
        let [page, api, ui, _] = process.greeting();
        for line in [&page, &api, &ui] {
            assert!(line.contains(printed.unwrap_or("http://")), "{line}");
        }
        let address = address(&api);
        if address.ip().is_unspecified() {
            for host in ["127.0.0.1", "[::1]"] {
                let address = format!("{host}:{}", address.port());
                assert_eq!(get(address.parse().expect("address"), "/readyz").0, 200);
            }
        } else {
            assert_eq!(get(address, "/readyz").0, 200);
        }
        process.signal("TERM");
        process.output().success();
    }
}

#[test]
fn a_taken_port_stops_the_start_before_a_database_is_touched() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let folder = Folder::new();
    let output = Process::run(&folder, &[], &[("BIND_ADDRESS", &address)]);
    let refusal = output.refusal();
    assert!(refusal.contains("BIND_ADDRESS"), "{refusal}");
    assert!(refusal.contains(&address), "{refusal}");
    assert!(!folder.data_dir().exists());
    TcpStream::connect(taken.local_addr().expect("its address")).expect("still theirs");
}
