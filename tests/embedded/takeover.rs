//! Pid files that name somebody else.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::fixture::{Place, add_row, is_root};
use super::processes::postmasters;

/// Leaves the pid files of a crashed server behind, with another process id in them.
async fn leave_pid_files(place: &Place, pid: u32) {
    let server = place.start().await;
    add_row(&server.connect_options()).await;
    let files = [
        place.cluster().join("postmaster.pid"),
        server.socket_dir().join(".s.PGSQL.5432.lock"),
    ];
    let own = postmasters(&place.root)[0].to_string();
    let contents = files
        .each_ref()
        .map(|file| fs::read_to_string(file).expect("a pid file"));
    server.stop().await;
    for (file, content) in files.iter().zip(contents) {
        assert!(content.starts_with(&own), "{content}");
        fs::write(file, content.replacen(&own, &pid.to_string(), 1)).expect("written");
    }
}

/// A process of the user that the server runs as: the one whose process id keeps a server from
/// starting.
fn bystander(place: &Place) -> Child {
    let mut command = Command::new("sleep");
    command.arg("600");
    if is_root() {
        let owner = fs::metadata(place.cluster()).expect("a folder");
        command.uid(owner.uid()).gid(owner.gid());
    }
    command.spawn().expect("sleep runs")
}

#[tokio::test]
async fn a_process_that_got_the_id_of_a_dead_server_is_left_alone() {
    let place = Place::new();
    place.start().await.stop().await;
    let mut bystander = bystander(&place);
    leave_pid_files(&place, bystander.id()).await;

    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    assert!(
        bystander.try_wait().expect("a state").is_none(),
        "it was killed"
    );
    server.stop().await;
    bystander.kill().expect("killed");
    bystander.wait().expect("gone");
}

#[tokio::test]
async fn another_clusters_server_that_got_the_id_of_a_dead_one_is_left_alone() {
    let (place, other) = (Place::new(), Place::new());
    let other_server = other.start().await;
    let other_pid = postmasters(&other.root)[0];
    leave_pid_files(&place, other_pid).await;

    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    assert_eq!(postmasters(&other.root), [other_pid]);
    assert_eq!(add_row(&other_server.connect_options()).await, 1);
    server.stop().await;
    other_server.stop().await;
}

#[tokio::test]
async fn an_empty_pid_file_is_no_hindrance() {
    let place = Place::new();
    place.start().await.stop().await;
    fs::write(place.cluster().join("postmaster.pid"), "").expect("written");
    place.start().await.stop().await;
}
