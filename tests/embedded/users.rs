//! The users that a server is started by. Only root can become all of them.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use member_mail::postgres::embedded::{Lifetime, Server};

use super::child::Owner;
use super::fixture::{Place, add_row, entries, is_root, until_deserted};
use super::processes::processes;

/// An owner that runs as another user, from a copy of this program that the user can reach.
fn owner_as(place: &Place, uid: u32) -> Owner {
    let program = place.root.join("program");
    // By another process: a test that forks meanwhile would hold a copy of ours open for writing,
    // and what is open for writing cannot be run.
    let copied = Command::new("cp")
        .arg(std::env::current_exe().expect("this program"))
        .arg(&program)
        .status();
    assert!(copied.expect("cp runs").success());
    chown(&place.root, Some(uid), Some(uid)).expect("another owner");
    Owner::spawn_with(
        Command::new(program).uid(uid).gid(uid).current_dir("/"),
        &place.data(),
        Lifetime::Persistent,
    )
}

pub(crate) fn nobody() -> u32 {
    let output = Command::new("id")
        .args(["-u", "nobody"])
        .output()
        .expect("id runs");
    let uid = String::from_utf8_lossy(&output.stdout);
    uid.trim().parse().expect("a uid")
}

#[tokio::test]
async fn an_ordinary_user_needs_nobody_else() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let uid = nobody();
    let mut owner = owner_as(&place, uid);
    let options = owner.ready().expect("a server");
    assert_eq!(add_row(&options).await, 1);
    owner.kill();

    until_deserted(&place).await;

    // Root after that: whoever owns the folder could lay links in root's way.
    chown(&place.root, Some(0), Some(0)).expect("another owner");
    let refused = Server::start(place.options(Lifetime::Persistent)).await;
    let message = refused.expect_err("a refusal").to_string();
    assert!(message.contains("DATA_DIR"), "{message}");
    assert!(message.contains(&format!("uid {uid} ")), "{message}");
    assert!(!message.contains('\n'), "{message}");
    let mut owner = owner_as(&place, uid);
    let options = owner.ready().expect("a server");
    assert_eq!(add_row(&options).await, 2);
}

#[tokio::test]
async fn a_user_without_a_name_is_told_what_to_do() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let mut owner = owner_as(&place, 54_321);
    let message = owner.ready().expect_err("a refusal");
    assert!(message.contains("54321"), "{message}");
    assert!(message.contains("DATABASE_URL"), "{message}");
    owner.kill();
    assert_eq!(entries(&place.data()), ["lock", "postgres.log"]);
    assert_eq!(processes(&place.root), [0_u32; 0]);
}

#[tokio::test]
async fn what_root_began_is_roots_to_go_on_with() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 1);
    server.stop().await;
    let uid = fs::metadata(place.cluster()).expect("a folder").uid();
    assert_ne!(uid, 0);
    let message = owner_as(&place, uid).ready().expect_err("a refusal");
    assert!(message.contains("DATA_DIR"), "{message}");
    assert!(message.contains("uid 0 "), "{message}");

    chown(&place.root, Some(0), Some(0)).expect("another owner");
    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    server.stop().await;
}
