//! Data folders that are not as they should be, and binaries that are of no use.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use member_mail::postgres::embedded::binaries::Search;
use member_mail::postgres::embedded::{Lifetime, Machine, Server};

use super::fixture::{Place, data_mode, entries, installed, mode, options, write_program};
use super::processes::processes;

#[tokio::test]
async fn a_folder_with_files_of_others_is_refused_and_left_as_it_is() {
    let place = Place::new();
    fs::create_dir(place.data()).expect("a folder");
    fs::write(place.data().join("letter.txt"), "Dear").expect("a file");
    fs::set_permissions(place.data(), Permissions::from_mode(0o755)).expect("a mode");
    let refused = Server::start(place.options(Lifetime::Persistent)).await;
    let message = refused.expect_err("a refusal").to_string();
    assert!(message.contains("DATA_DIR"), "{message}");
    assert_eq!(mode(&place.data()), 0o755);
    assert_eq!(entries(&place.data()), ["letter.txt"]);
}

#[tokio::test]
async fn a_folder_open_to_others_is_closed() {
    let place = Place::new();
    place.start().await.stop().await;
    for folder in [place.data(), place.cluster()] {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("a mode");
    }
    let server = place.start().await;
    assert_eq!(mode(&place.data()), data_mode());
    assert_eq!(mode(&place.cluster()), 0o700);
    server.stop().await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_reported_with_its_path() {
    let place = Place::new();
    fs::write(place.data(), "a file in its place").expect("a file");
    let refused = Server::start(options(&place.data().join("below"), Lifetime::Persistent)).await;
    let message = refused.expect_err("a refusal").to_string();
    assert!(message.contains("DATA_DIR"), "{message}");
    assert!(
        message.contains(&*place.data().to_string_lossy()),
        "{message}"
    );
    assert!(!message.contains('\n'), "{message}");
}

#[tokio::test]
async fn a_useless_bin_dir_is_named_and_nothing_else_is_tried() {
    let place = Place::new();
    let mut options = place.options(Lifetime::Persistent);
    options.bin_dir = Some(place.root.join("nowhere"));
    let message = Server::start(options)
        .await
        .expect_err("a refusal")
        .to_string();
    assert!(message.starts_with("PG_BIN_DIR="), "{message}");
    assert!(message.contains("nowhere"), "{message}");
    assert_eq!(entries(&place.data()), ["lock"]);
}

#[tokio::test]
async fn data_of_a_version_without_a_server_is_not_passed_over() {
    let place = Place::new();
    let old = place.data().join("data-14");
    fs::create_dir_all(&old).expect("a folder");
    fs::write(old.join("PG_VERSION"), "14\n").expect("a file");
    fs::write(place.data().join("lock"), "").expect("a file");
    let message = Server::start(place.options(Lifetime::Persistent))
        .await
        .expect_err("a refusal")
        .to_string();
    assert!(message.contains("PostgreSQL 14"), "{message}");
    assert!(message.contains("PG_BIN_DIR"), "{message}");
    assert_eq!(entries(&place.data()), ["data-14", "lock"]);
}

#[tokio::test]
async fn a_machine_without_a_server_is_told_the_ways_out() {
    let place = Place::new();
    let machine = Machine {
        search: Search {
            path: None,
            patterns: Vec::new(),
        },
        release: None,
    };
    let message = Server::start_on(place.options(Lifetime::Temporary), machine)
        .await
        .expect_err("a refusal")
        .to_string();
    for way_out in ["PG_BIN_DIR", "DATABASE_URL", "install"] {
        assert!(message.contains(way_out), "{message}");
    }
    assert!(!message.contains('\n'), "{message}");
    assert_eq!(entries(&place.root), [""; 0]);
}

#[tokio::test]
async fn a_failed_initdb_leaves_nothing_half_made() {
    let place = Place::new();
    let bin = place.root.join("bin");
    fs::create_dir(&bin).expect("a folder");
    write_program(
        &bin.join("postgres"),
        "#!/bin/sh\necho 'postgres (PostgreSQL) 17.2'\n",
    );
    write_program(
        &bin.join("initdb"),
        "#!/bin/sh\ntouch half; mkdir base; echo 'initdb: error: the disk is full' >&2; exit 1\n",
    );
    let mut options = place.options(Lifetime::Persistent);
    options.bin_dir = Some(bin);
    let message = Server::start(options)
        .await
        .expect_err("a failure")
        .to_string();
    assert!(message.contains("the disk is full"), "{message}");
    assert!(!message.contains('\n'), "{message}");
    assert_eq!(entries(&place.data()), ["lock", "postgres.log"]);
    assert_eq!(processes(&place.data()), [0_u32; 0]);
}

#[tokio::test]
async fn remains_of_a_killed_initdb_are_cleared() {
    let place = Place::new();
    let remains = place.data().join("initdb.incomplete-1/base");
    fs::create_dir_all(&remains).expect("a folder");
    fs::write(place.data().join("lock"), "").expect("a file");
    place.start().await.stop().await;
    assert!(!remains.exists());
    assert!(!place.data().join("initdb.incomplete-1").exists());
}

#[tokio::test]
async fn a_lone_link_in_the_path_leads_to_the_server() {
    let place = Place::new();
    let server = place.start().await;
    let installed = installed(&server).await;
    server.stop().await;
    let links = place.root.join("links");
    fs::create_dir(&links).expect("a folder");
    symlink(installed.join("postgres"), links.join("postgres")).expect("a link");
    let machine = Machine {
        search: Search {
            path: Some(links.into()),
            patterns: Vec::new(),
        },
        release: None,
    };
    let server = Server::start_on(place.options(Lifetime::Persistent), machine).await;
    server.expect("a server").stop().await;
}
