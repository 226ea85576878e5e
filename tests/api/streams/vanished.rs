//! Clients that are gone without a word: no end of the connection arrives, and no acknowledgement.

use std::time::Duration;

use super::{FORMATS, MEMBERS, fill, running};
use crate::kit::{App, Settings, Wire, wait::until};

/// With no more connections than streams: the next request is answered when those are closed.
fn settings(streams: usize) -> Settings {
    Settings {
        streams,
        client_connections: streams,
        stall_timeout: Duration::from_secs(1),
        heartbeat: Duration::from_millis(50),
        ..Settings::default()
    }
}

async fn ask(app: &App, format: &str) -> Wire {
    let mut wire = Wire::connect(app.address).await;
    wire.send(&format!(
        "GET {MEMBERS}?format={format} HTTP/1.1\r\nHost: here\r\n\r\n"
    ))
    .await;
    wire.begun().await;
    wire
}

#[tokio::test]
async fn a_client_that_has_vanished_is_let_go_in_the_middle_of_its_list() {
    let app = App::start_with(settings(FORMATS.len())).await;
    fill(&app, 20_000).await;
    let mut sql = app.sql().await;
    let mut vanished = Vec::new();
    for format in FORMATS {
        let wire = ask(&app, format).await;
        wire.vanish();
        vanished.push(wire);
    }
    assert_eq!(running(&mut sql).await, 3);
    until("no statement runs", async || running(&mut sql).await == 0).await;
    for format in FORMATS {
        let path = format!("{MEMBERS}?format={format}&limit=1");
        app.get(&path).await.expect(200);
    }
}

/// What is sent is so little that it would wait in the buffers until TCP gives up by itself, in a
/// quarter of an hour.
#[tokio::test]
async fn a_client_that_has_vanished_is_let_go_while_there_is_nothing_to_send_but_heartbeats() {
    let (app, shim) = App::start_over_shim(settings(1)).await;
    fill(&app, 2000).await;
    let mut sql = app.sql().await;
    shim.hold_at(" AND m.id < ");
    let mut wire = ask(&app, "sse").await;
    // All that there is has arrived.
    wire.read_until("\n:\n\n").await;
    wire.vanish();
    assert_eq!(running(&mut sql).await, 1);
    until("no statement runs", async || running(&mut sql).await == 0).await;
    shim.release();
    app.get(&format!("{MEMBERS}?format=sse&limit=1"))
        .await
        .expect(200);
}
