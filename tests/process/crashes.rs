//! Ends that nobody asked for, and two programs on one data folder.

use std::{
    fs,
    net::SocketAddr,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use serde_json::json;
use sqlx::Connection;

use crate::kit::{
    Database, Folder, Process, get, process, processes::signal, send, send_with, sessions, until,
    until_locked, url, wait,
};

/// Adds members until told to stop, and answers the ids of those that were acknowledged.
fn write(address: SocketAddr, stop: &Arc<AtomicBool>) -> JoinHandle<Vec<String>> {
    let stop = stop.clone();
    thread::spawn(move || {
        let mut ids = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            match send(address, "POST", "/api/v1/members", &json!({"name": "Ann"})) {
                Ok((201, member)) => ids.push(member["id"].as_str().expect("id").to_owned()),
                Ok((status, body)) => panic!("{status}: {body}"),
                Err(_) => break,
            }
        }
        ids
    })
}

#[test]
fn no_acknowledged_write_is_lost_when_the_program_is_killed() {
    let folder = Folder::new();
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..10 {
        let (process, address) = Process::serve(&folder, &[]);
        assert_eq!(folder.postmasters().len(), 1, "round {round}");
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..4).map(|_| write(address, &stop)).collect();
        until("there are writes", || {
            let (status, page) = get(address, "/api/v1/members?limit=10");
            let newest = page["data"][9]["id"].as_str();
            status == 200 && newest.is_some_and(|id| !acknowledged.iter().any(|old| old == id))
        });
        process.signal("KILL");
        drop(process);
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            acknowledged.extend(writer.join().expect("writer"));
        }
        assert!(folder.postmasters().len() <= 1, "round {round}");
    }

    let (process, address) = Process::serve(&folder, &[]);
    assert_eq!(folder.postmasters().len(), 1);
    assert!(acknowledged.len() > 10);
    for id in &acknowledged {
        assert_eq!(
            get(address, &format!("/api/v1/members/{id}")).0,
            200,
            "{id}"
        );
    }
    process.signal("TERM");
    process.output().success();
    folder.until_deserted();
}

/// The server is another machine's, say, and does not end with the program.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_a_key_is_done_once_although_the_program_was_killed_while_it_ran() {
    let database = Database::create().await;
    let (mut sql, mut holder) = (database.connect().await, database.connect().await);
    let url = url(&database);
    // Beyond what the test waits for.
    let settings = [
        ("DATABASE_URL", &*url),
        ("DATABASE_STATEMENT_TIMEOUT_SECONDS", "600"),
    ];
    let folder = Folder::new();
    let ann = json!({"name": "Ann"});
    let key = "Idempotency-Key: one\r\n";

    let (process, address) = Process::serve(&folder, &settings);
    let mut held = holder.begin().await.expect("a transaction");
    sqlx::query("LOCK TABLE members IN SHARE MODE")
        .execute(&mut *held)
        .await
        .expect("locked");
    let body = ann.clone();
    let asking = thread::spawn(move || send_with(address, "POST", "/api/v1/members", key, &body));
    until_locked(&mut sql, 1).await;
    process.signal("KILL");
    drop(process);
    assert!(asking.join().expect("client").is_err());
    wait::until("Postgres has noticed", async || {
        sessions(&mut sql, "application_name = 'member-mail'").await == 0
    })
    .await;
    held.rollback().await.expect("released");

    let (_process, address) = Process::serve(&folder, &settings);
    let answers = [(); 2].map(|()| {
        let answer = send_with(address, "POST", "/api/v1/members", key, &ann);
        answer.expect("an answer")
    });
    assert_eq!(answers[0].0, 201, "{answers:?}");
    assert_eq!(answers[0], answers[1]);
    let members: i64 = sqlx::query_scalar("SELECT count(*) FROM members")
        .fetch_one(&mut sql)
        .await
        .expect("a count");
    assert_eq!(members, 1);
}

/// Ended with this value.
struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// After a restart of the machine the process id of the server that was may be anyone's.
#[test]
fn another_program_with_the_process_id_of_the_old_server_is_left_alone() {
    let folder = Folder::new();
    let (process, _) = Process::serve(&folder, &[]);
    let file = folder.cluster().join("postmaster.pid");
    let content = fs::read_to_string(&file).expect("pid file");
    drop(process);
    folder.until_deserted();

    let mut bystander = Bystander(Command::new("sleep").arg("600").spawn().expect("sleep"));
    let (_, rest) = content.split_once('\n').expect("lines");
    fs::write(&file, format!("{}\n{rest}", bystander.0.id())).expect("pid file");

    let (_process, address) = Process::serve(&folder, &[]);
    assert_eq!(get(address, "/api/v1/members").0, 200);
    assert!(bystander.0.try_wait().expect("its state").is_none());
    assert_eq!(folder.postmasters().len(), 1);
}

#[test]
fn a_second_service_on_the_same_folder_is_refused() {
    let folder = Folder::new();
    let (process, address) = Process::serve(&folder, &[]);
    let output = Process::run(&folder, &[], &[]);
    assert!(output.refusal().contains("in use"), "{output:?}");
    assert_eq!(get(address, "/readyz").0, 200);
    assert_eq!(folder.postmasters().len(), 1);
    process.signal("TERM");
    process.output().success();
    folder.until_deserted();
}

#[test]
fn the_server_ends_with_a_killed_program() {
    let folder = Folder::new();
    let (process, _) = Process::serve(&folder, &[]);
    drop(process);
    folder.until_deserted();
}

#[test]
fn the_program_ends_with_a_killed_server() {
    let folder = Folder::new();
    let (process, address) = Process::serve(&folder, &[]);
    let (_, ann) = send(address, "POST", "/api/v1/members", &json!({"name": "Ann"})).expect("Ann");
    let [server] = folder.postmasters()[..] else {
        panic!("one server");
    };
    signal(server, "KILL");
    let output = process.output();
    assert!(!output.status.success());
    assert!(output.stderr.contains("ended by itself"), "{output:?}");

    let (_process, address) = Process::serve(&folder, &[]);
    let path = format!("/api/v1/members/{}", ann["id"].as_str().expect("id"));
    assert_eq!(get(address, &path), (200, ann));
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let folder = Folder::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let log = full.expect("a full device").into();
    let settings = [("LOG", "info")];
    let mut process = Process::start_with_log(&folder, &[], &settings, log);
    let [_, api, ..] = process.greeting();
    let address = process::address(&api);
    assert_eq!(get(address, "/readyz").0, 200);
    let body = json!({"name": "Ann"});
    assert_eq!(
        send(address, "POST", "/api/v1/members", &body)
            .expect("an answer")
            .0,
        201
    );
    process.signal("TERM");
    process.output().success();
}
