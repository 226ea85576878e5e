//! Start, stop, and a server for a while.

use std::fs;
use std::time::Duration;

use member_mail::postgres::embedded::{Error, Lifetime, Server};
use sqlx::Row;

use super::fixture::{Place, add_row, connect, data_mode, entries, mode, until_deserted};
use super::processes::{postmasters, processes, signal};
use super::wait::until;

#[tokio::test]
async fn data_is_there_again_after_a_stop() {
    let place = Place::new();
    let server = place.start().await;
    assert_eq!(server.data_dir(), place.data());
    assert_eq!(add_row(&server.connect_options()).await, 1);
    server.stop().await;
    assert_eq!(processes(&place.root), [0_u32; 0]);

    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    server.stop().await;
    assert_eq!(processes(&place.root), [0_u32; 0]);
}

#[tokio::test]
async fn the_server_is_private_and_durable() {
    let place = Place::new();
    let server = place.start().await;
    assert_eq!(mode(&place.data()), data_mode());
    for folder in [server.socket_dir(), &place.cluster()] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    let mut connection = connect(&server.connect_options()).await;
    let row = sqlx::query(
        "SELECT current_setting('listen_addresses') AS network, current_setting('fsync') AS fsync,
                current_setting('data_checksums') AS checksums, current_setting('server_encoding') AS encoding,
                current_database()::text AS database, upper('é') AS upper",
    )
    .fetch_one(&mut connection)
    .await
    .expect("settings");
    let text = |name: &str| row.get::<String, _>(name);
    assert_eq!(text("network"), "");
    assert_eq!(text("fsync"), "on");
    assert_eq!(text("checksums"), "on");
    assert_eq!(text("encoding"), "UTF8");
    assert_eq!(text("database"), "member_mail");
    drop(connection);
    server.stop().await;
}

#[tokio::test]
async fn a_dropped_server_ends() {
    let place = Place::new();
    drop(place.start().await);
    until_deserted(&place).await;
}

#[tokio::test]
async fn a_server_can_be_started_again_at_once_after_a_drop() {
    let place = Place::new();
    let server = place.start().await;
    add_row(&server.connect_options()).await;
    drop(server);
    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    assert_eq!(postmasters(&place.root).len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn a_temporary_server_takes_its_folder_along() {
    let place = Place::new();
    let server = Server::start(place.options(Lifetime::Temporary))
        .await
        .expect("a server");
    assert_eq!(add_row(&server.connect_options()).await, 1);
    server.stop().await;
    assert_eq!(processes(&place.root), [0_u32; 0]);
    assert_eq!(entries(&place.root), [""; 0]);
}

#[tokio::test]
async fn a_dropped_temporary_server_takes_its_folder_along() {
    let place = Place::new();
    let server = Server::start(place.options(Lifetime::Temporary)).await;
    drop(server.expect("a server"));
    until("an empty folder", async || entries(&place.root).is_empty()).await;
    until_deserted(&place).await;
}

#[tokio::test]
async fn a_temporary_server_refuses_a_folder_with_data() {
    let place = Place::new();
    place.start().await.stop().await;
    let refused = Server::start(place.options(Lifetime::Temporary)).await;
    assert!(
        matches!(refused, Err(Error::NotEmpty { .. })),
        "{refused:?}"
    );
    let server = place.start().await;
    server.stop().await;
}

#[tokio::test]
async fn a_second_instance_is_refused_in_one_line() {
    let place = Place::new();
    let server = place.start().await;
    let refused = Server::start(place.options(Lifetime::Persistent)).await;
    let message = refused.expect_err("a refusal").to_string();
    assert!(
        message.contains("in use") && message.contains("DATA_DIR"),
        "{message}"
    );
    assert!(!message.contains('\n'), "{message}");
    assert_eq!(add_row(&server.connect_options()).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_is_no_hindrance() {
    let place = Place::new();
    let mut options = place.options(Lifetime::Persistent);
    options.data_dir = place.root.join("long".repeat(30));
    let server = Server::start(options).await.expect("a server");
    assert_eq!(add_row(&server.connect_options()).await, 1);
    assert!(!server.socket_dir().starts_with(&place.root));
    assert_eq!(mode(server.socket_dir()), 0o700);
    let socket = server.socket_dir().to_owned();
    server.stop().await;
    fs::remove_dir(socket).expect("an empty folder");
}

#[tokio::test]
async fn a_server_that_ends_by_itself_is_lost_and_one_that_runs_is_not() {
    let place = Place::new();
    let mut server = place.start().await;
    let early = tokio::time::timeout(Duration::from_millis(2500), server.lost()).await;
    assert!(early.is_err(), "it still runs");
    signal(postmasters(&place.root)[0], "KILL");
    tokio::time::timeout(Duration::from_secs(10), server.lost())
        .await
        .expect("told within seconds");
    server.lost().await;
    server.stop().await;
    until_deserted(&place).await;
    place.start().await.stop().await;
}
