//! The users that a server is started by. Only root can become all of them.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use member_mail::postgres::embedded::Lifetime;

use super::child::Owner;
use super::fixture::{Place, add_row, entries, is_root};
use super::processes::processes;

/// An owner that runs as another user, from a copy of this program that the user can reach.
fn owner_as(place: &Place, uid: u32) -> Owner {
    let program = place.root.join("program");
    fs::copy(std::env::current_exe().expect("this program"), &program).expect("a copy");
    chown(&place.root, Some(uid), Some(uid)).expect("another owner");
    Owner::spawn_with(
        Command::new(program).uid(uid).gid(uid).current_dir("/"),
        &place.data(),
        Lifetime::Persistent,
    )
}

fn nobody() -> u32 {
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

    // Root after that: the data stays the user's.
    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    server.stop().await;
    let mut owner = owner_as(&place, uid);
    let options = owner.ready().expect("a server");
    assert_eq!(add_row(&options).await, 3);
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
async fn the_servers_user_can_go_on_where_root_began() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 1);
    server.stop().await;
    let uid = fs::metadata(place.data()).expect("a folder").uid();
    assert_ne!(uid, 0);
    let mut owner = owner_as(&place, uid);
    let options = owner.ready().expect("a server");
    assert_eq!(add_row(&options).await, 2);
}
