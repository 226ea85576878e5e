//! Owners, watchers and servers that are killed.

use member_mail::postgres::embedded::{Lifetime, Server};

use super::child::Owner;
use super::fixture::{Place, add_row, connect, entries, until_deserted, watchers};
use super::processes::{postmasters, processes, signal};
use super::wait::until;

#[tokio::test]
async fn a_killed_owner_leaves_no_server_behind() {
    let place = Place::new();
    let mut owner = Owner::spawn(&place.data(), Lifetime::Persistent);
    let options = owner.ready().expect("a server");
    assert_eq!(add_row(&options).await, 1);
    owner.kill();
    until_deserted(&place).await;

    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    server.stop().await;
}

#[tokio::test]
async fn a_killed_owner_of_a_temporary_server_leaves_nothing_behind() {
    let place = Place::new();
    let mut owner = Owner::spawn(&place.data(), Lifetime::Temporary);
    owner.ready().expect("a server");
    owner.kill();
    until_deserted(&place).await;
    assert_eq!(entries(&place.root), [""; 0]);
}

#[tokio::test]
async fn owners_killed_and_started_in_a_row_lose_no_row() {
    let place = Place::new();
    for rows in 1..=10 {
        let mut owner = Owner::spawn(&place.data(), Lifetime::Persistent);
        let options = owner.ready().expect("a server");
        assert_eq!(add_row(&options).await, rows);
        assert_eq!(postmasters(&place.root).len(), 1);
        owner.kill();
    }
    until_deserted(&place).await;
}

#[tokio::test]
async fn an_orphan_whose_watcher_was_killed_is_taken_over() {
    let place = Place::new();
    let mut owner = Owner::spawn(&place.data(), Lifetime::Persistent);
    let options = owner.ready().expect("a server");
    assert_eq!(add_row(&options).await, 1);
    for watcher in watchers(&place.root) {
        signal(watcher, "KILL");
    }
    owner.kill();
    let orphan = postmasters(&place.root);
    assert_eq!(orphan.len(), 1);

    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    let now = postmasters(&place.root);
    assert_eq!(now.len(), 1);
    assert_ne!(now, orphan);
    server.stop().await;
    assert_eq!(processes(&place.root), [0_u32; 0]);
}

#[tokio::test]
async fn all_killed_at_once_lose_no_row() {
    let place = Place::new();
    let mut owner = Owner::spawn(&place.data(), Lifetime::Persistent);
    let options = owner.ready().expect("a server");
    assert_eq!(add_row(&options).await, 1);
    // The watchers first, which would else end the server in good order.
    for pid in watchers(&place.root)
        .into_iter()
        .chain(processes(&place.root))
    {
        signal(pid, "KILL");
    }
    owner.kill();
    assert!(place.cluster().join("postmaster.pid").exists());

    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    server.stop().await;
}

#[tokio::test]
async fn backends_that_outlive_their_postmaster_are_waited_for() {
    let place = Place::new();
    let mut owner = Owner::spawn(&place.data(), Lifetime::Persistent);
    let options = owner.ready().expect("a server");
    add_row(&options).await;
    // A backend in a long computation does not look up, and holds on to the shared memory.
    let mut connection = connect(&options).await;
    let busy = tokio::spawn(async move {
        sqlx::query("SELECT sum(length(md5(i::text))) FROM generate_series(1, 8000000) AS i")
            .execute(&mut connection)
            .await
    });
    let mut sql = connect(&options).await;
    until("the backend computes", async || {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND state = 'active' AND wait_event IS NULL
               AND query LIKE 'SELECT sum(length(%')",
        )
        .fetch_one(&mut sql)
        .await
        .expect("sessions")
    })
    .await;
    for watcher in watchers(&place.root) {
        signal(watcher, "KILL");
    }
    let postmaster = postmasters(&place.root);
    signal(postmaster[0], "KILL");
    owner.kill();

    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 2);
    server.stop().await;
    let _ = busy.await;
}

#[tokio::test]
async fn a_server_without_its_watcher_still_stops() {
    let place = Place::new();
    let server = place.start().await;
    for watcher in watchers(&place.root) {
        signal(watcher, "KILL");
    }
    server.stop().await;
    assert_eq!(processes(&place.root), [0_u32; 0]);

    let server = place.start().await;
    for watcher in watchers(&place.root) {
        signal(watcher, "KILL");
    }
    drop(server);
    until_deserted(&place).await;
}

/// Whether initdb is at work.
fn in_the_making(place: &Place) -> bool {
    place.data().exists()
        && entries(&place.data()).iter().any(|name| {
            name.starts_with("initdb.incomplete")
                && place.data().join(name).join("PG_VERSION").exists()
        })
}

#[tokio::test]
async fn a_start_given_up_while_the_cluster_is_made_leaves_nothing_half_made() {
    let place = Place::new();
    let start = Server::start(place.options(Lifetime::Persistent));
    tokio::select! {
        _ = start => panic!("it was to be given up"),
        () = until("a cluster in the making", async || in_the_making(&place)) => {}
    }
    until_deserted(&place).await;
    until("nothing half made", async || {
        entries(&place.data()) == ["lock", "postgres.log"]
    })
    .await;
    place.start().await.stop().await;
}

#[tokio::test]
async fn an_owner_killed_while_the_cluster_is_made_leaves_nothing_half_made() {
    let place = Place::new();
    let mut owner = Owner::spawn(&place.data(), Lifetime::Persistent);
    until("a cluster in the making", async || in_the_making(&place)).await;
    owner.kill();
    // At once: the earlier initdb may still be at work.
    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 1);
    server.stop().await;
    until_deserted(&place).await;

    place.start().await.stop().await;
    let left = entries(&place.data());
    assert!(
        !left.iter().any(|name| name.starts_with("initdb")),
        "{left:?}"
    );
}
