//! Connections: slow clients, wrong bytes, and what one connection may carry.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, routing::get};
use futures_util::future::join_all;
use member_mail::http::server::{self, Shutdown};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use crate::kit::{App, Settings, Wire, wait::DEADLINE};

const SECOND: Duration = Duration::from_secs(1);
const GET: &str = "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n";

/// Sends `text` byte by byte, until the service closes the connection.
async fn trickle(wire: &mut Wire, text: &str) {
    let mut bytes = text.chars().cycle().map(String::from);
    let sending = async {
        while wire.try_send(&bytes.next().expect("a byte")).await.is_ok() {
            // No wait for anything: this client is to be slow.
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, sending)
        .await
        .expect("a closed connection");
}

#[tokio::test]
async fn slow_clients_are_let_go_while_others_are_served() {
    let app = App::start_with(Settings {
        header_timeout: SECOND,
        request_timeout: SECOND,
        ..Settings::default()
    })
    .await;

    let silent = join_all((0..50).map(async |_| {
        let text = Wire::connect(app.address).await.closed().await;
        assert_eq!(text, "");
    }));
    let slow_header = join_all((0..50).map(async |_| {
        let mut wire = Wire::connect(app.address).await;
        wire.send("GET / HTTP/1.1\r\nX-Slow: ").await;
        trickle(&mut wire, "a").await;
    }));
    let slow_body = join_all((0..50).map(async |_| {
        let mut wire = Wire::connect(app.address).await;
        wire.send(
            "POST /api/v1/members HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n\
             Content-Length: 1000\r\n\r\n{",
        )
        .await;
        trickle(&mut wire, " ").await;
    }));
    let others = async {
        for _ in 0..50 {
            app.get("/api/v1/members").await.expect(200);
        }
    };
    tokio::join!(silent, slow_header, slow_body, others);
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_a_while() {
    let app = App::start_with(Settings {
        header_timeout: SECOND,
        ..Settings::default()
    })
    .await;
    let mut wire = Wire::connect(app.address).await;
    wire.send(GET).await;
    assert_eq!(wire.reply().await.expect("an answer").status, 200);
    assert_eq!(wire.closed().await, "");
}

#[tokio::test]
async fn a_client_that_never_reads_its_answers_is_let_go() {
    let app = App::start_with(Settings {
        stall_timeout: SECOND,
        client_connections: 1,
        ..Settings::default()
    })
    .await;
    let mut deaf = Wire::connect(app.address).await;
    let request = "GET /api-docs/openapi.json HTTP/1.1\r\nHost: here\r\n\r\n";
    // The service stops reading, since its answers do not get through, and then closes.
    let requests = request.repeat(100);
    let sending = async { while deaf.try_send(&requests).await.is_ok() {} };
    timeout(DEADLINE, sending)
        .await
        .expect("a closed connection");

    // The only connection that there may be is free again.
    let mut other = Wire::connect(app.address).await;
    other.send(GET).await;
    assert_eq!(other.reply().await.expect("an answer").status, 200);
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let app = App::start().await;
    let mut wire = Wire::connect(app.address).await;
    for name in ["ann", "bob", "cy"] {
        wire.request("POST", "/api/v1/members", &json!({ "name": name }))
            .await;
        let reply = wire.reply().await.expect("an answer");
        assert_eq!((reply.status, &reply.body["name"]), (201, &json!(name)));
    }
}

#[tokio::test]
async fn requests_sent_in_one_go_are_answered_in_order() {
    let app = App::start().await;
    let mut wire = Wire::connect(app.address).await;
    let get = |path| format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n");
    let ann = app.member("ann").await;
    wire.send(&[get("/livez"), get(&ann), get("/none"), get("/livez")].concat())
        .await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(wire.reply().await.expect("an answer"));
    }
    let status: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(status, [200, 200, 404, 200]);
    assert_eq!(answers[1].body["name"], "ann");
}

#[tokio::test]
async fn a_connection_ends_when_the_client_says_so() {
    let app = App::start().await;
    for request in [
        "GET /livez HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
        "GET /livez HTTP/1.0\r\n\r\n",
        "GET /livez HTTP/1.0\r\nHost: here\r\n\r\n",
    ] {
        let mut wire = Wire::connect(app.address).await;
        wire.send(request).await;
        let reply = wire.reply().await.expect("an answer");
        assert_eq!(reply.status, 200, "{request}");
        assert_eq!(reply.body["status"], "ok");
        assert_eq!(wire.closed().await, "");
    }
}

#[tokio::test]
async fn an_old_client_may_keep_its_connection() {
    let app = App::start().await;
    let mut wire = Wire::connect(app.address).await;
    for _ in 0..2 {
        wire.send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            .await;
        let reply = wire.reply().await.expect("an answer");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.headers["connection"], "keep-alive");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_the_connection_closed() {
    let app = App::start().await;
    for garbage in [
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
        "hello\r\n\r\n",
        "GET /livez\r\n\r\n",
        "GET /livez HTTP/3.7\r\nHost: here\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: here\r\nNo colon\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: here\r\nBad name: x\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: here\r\nContent-Length: 5, 6\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET /livez HTTP/1.0\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        let mut wire = Wire::connect(app.address).await;
        wire.send(garbage).await;
        let reply = wire.reply().await.expect(garbage);
        assert_eq!(reply.status, 400, "{garbage}");
        assert_eq!(wire.closed().await, "", "{garbage}");
    }
}

/// What a client may send for the host it means (RFC 9112, section 3.2).
#[tokio::test]
async fn a_request_names_its_host_once() {
    let app = App::start().await;
    for request in [
        "GET /api/v1/members HTTP/1.1\r\n\r\n",
        "GET /api/v1/members HTTP/1.1\r\nHost: here\r\nHost: there\r\n\r\n",
    ] {
        let mut wire = Wire::connect(app.address).await;
        wire.send(request).await;
        let reply = wire.reply().await.expect("an answer");
        assert_eq!(reply.status, 400, "{request}");
        assert_eq!(reply.body["code"], "invalid_host", "{request}");
    }
}

/// Two lengths in one request: whichever a proxy in front believes, nothing behind the first request
/// is taken for a second one.
#[tokio::test]
async fn no_request_is_smuggled_in_behind_another() {
    let app = App::start().await;
    let smuggled = "DELETE /api/v1/members/x HTTP/1.1\r\nHost: here\r\n\r\n";
    let body = "0\r\n\r\n";
    for fields in [
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 500\r\nTransfer-Encoding: chunked",
    ] {
        let mut wire = Wire::connect(app.address).await;
        wire.send(&format!(
            "POST /livez HTTP/1.1\r\nHost: here\r\n{fields}\r\n\r\n{body}{smuggled}"
        ))
        .await;
        let reply = wire.reply().await.expect("an answer");
        assert_eq!(reply.status, 405, "{fields}");
        assert_eq!(wire.closed().await, "", "{fields}");
    }
}

#[tokio::test]
async fn connections_above_the_limit_wait_for_their_turn() {
    let app = App::start_with(Settings {
        client_connections: 2,
        ..Settings::default()
    })
    .await;
    let mut first = Wire::connect(app.address).await;
    let mut second = Wire::connect(app.address).await;
    for wire in [&mut first, &mut second] {
        wire.send(GET).await;
        assert_eq!(wire.reply().await.expect("an answer").status, 200);
    }
    let mut third = Wire::connect(app.address).await;
    third.send(GET).await;
    // Those that are served are served on.
    first.request("GET", "/api/v1/members", &Value::Null).await;
    tokio::select! {
        biased;
        _ = third.reply() => panic!("three connections at a time"),
        reply = first.reply() => assert_eq!(reply.expect("an answer").status, 200),
    }
    drop(second);
    assert_eq!(third.reply().await.expect("an answer").status, 200);

    // Many more than the limit are all served in the end.
    drop((first, third));
    join_all((0..50).map(async |_| {
        let mut wire = Wire::connect(app.address).await;
        wire.send("GET /livez HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            .await;
        assert_eq!(wire.reply().await.expect("an answer").status, 200);
    }))
    .await;
    // Each has given its place back: there is room for two at a time.
    let (mut first, mut second) =
        tokio::join!(Wire::connect(app.address), Wire::connect(app.address));
    for wire in [&mut first, &mut second] {
        wire.send(GET).await;
        assert_eq!(wire.reply().await.expect("an answer").status, 200);
    }
}

#[tokio::test]
async fn a_listener_to_which_nobody_comes_takes_no_place() {
    let any = addresses(["127.0.0.1:0", "127.0.0.2:0"]);
    let listeners = server::bind(&any).await.expect("two listeners");
    let second = listeners[1].local_addr().expect("its address");
    let bounds = server::Bounds {
        max_connections: 1,
        header_timeout: Duration::from_secs(20),
        stall_timeout: Duration::from_secs(20),
        grace: Duration::from_secs(20),
    };
    let app = Router::new().route("/", get(async || "here"));
    let (shutdown, writes) = (Shutdown::default(), TaskTracker::new());
    tokio::spawn(server::serve(listeners, app, bounds, shutdown, writes));
    let mut wire = Wire::connect(second).await;
    wire.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n").await;
    assert_eq!(wire.reply().await.expect("an answer").status, 200);
}

fn addresses<const N: usize>(addresses: [&str; N]) -> [SocketAddr; N] {
    addresses.map(|address| address.parse().expect("an address"))
}

/// `127.0.0.2` stands in for the second loopback address, which a machine may lack.
#[tokio::test]
async fn every_address_of_a_name_is_listened_on_at_the_same_port() {
    // No machine has the third one (RFC 5737), and the first is named twice.
    let wanted = addresses(["127.0.0.1:0", "127.0.0.2:0", "192.0.2.1:0", "127.0.0.1:0"]);
    let listeners = server::bind(&wanted).await.expect("two addresses");
    let bound: Vec<_> = listeners
        .iter()
        .map(|listener| listener.local_addr().expect("its address"))
        .collect();
    let port = bound[0].port();
    assert_eq!(
        bound,
        ["127.0.0.1", "127.0.0.2"].map(|ip| SocketAddr::new(ip.parse().expect("an IP"), port))
    );
}

#[tokio::test]
async fn an_address_that_is_taken_or_missing_is_named() {
    let other = std::net::TcpListener::bind("127.0.0.2:0").expect("a free port");
    let taken = other.local_addr().expect("its address");
    let free = SocketAddr::new("127.0.0.1".parse().expect("an IP"), taken.port());
    let (failed, _) = server::bind(&[free, taken]).await.expect_err("taken");
    assert_eq!(failed, taken);

    let [missing] = addresses(["192.0.2.1:0"]);
    let (failed, _) = server::bind(&[missing]).await.expect_err("missing");
    assert_eq!(failed, missing);
}
