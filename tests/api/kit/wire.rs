//! A client that writes its bytes itself: slowly, wrongly, or not at all.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Generous: what is waited for comes far sooner, or the test fails.
const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) struct Wire {
    stream: TcpStream,
    /// Read and not yet used.
    ahead: Vec<u8>,
}

/// An answer as it came in.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The status line and the header, in lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self {
            stream: TcpStream::connect(address).await.expect("connection"),
            ahead: Vec::new(),
        }
    }

    /// Connects and sends a request.
    pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str, body: &Value) -> Self {
        let mut wire = Self::connect(address).await;
        wire.request(method, path, body).await;
        wire
    }

    pub(crate) async fn request(&mut self, method: &str, path: &str, body: &Value) {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let length = body.len();
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.try_send(text).await.expect("sent");
    }

    /// Fails if the service has closed the connection.
    pub(crate) async fn try_send(&mut self, text: &str) -> std::io::Result<()> {
        self.stream.write_all(text.as_bytes()).await
    }

    /// Reads one answer; none if the connection was closed instead.
    pub(crate) async fn reply(&mut self) -> Option<Reply> {
        timeout(DEADLINE, self.read_reply())
            .await
            .expect("an answer")
    }

    /// Waits until the service has closed the connection, and answers what it sent before.
    pub(crate) async fn closed(mut self) -> String {
        let reading = async { while self.read_more().await {} };
        timeout(DEADLINE, reading)
            .await
            .expect("a closed connection");
        String::from_utf8(self.ahead).expect("UTF-8")
    }

    async fn read_reply(&mut self) -> Option<Reply> {
        let head = loop {
            if let Some(end) = find(&self.ahead, b"\r\n\r\n") {
                let rest = self.ahead.split_off(end + 4);
                let head = std::mem::replace(&mut self.ahead, rest);
                break String::from_utf8(head).expect("UTF-8").to_lowercase();
            }
            if !self.read_more().await {
                return None;
            }
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().expect("a length"));
        while self.ahead.len() < length {
            assert!(self.read_more().await, "cut off: {head}");
        }
        let rest = self.ahead.split_off(length);
        let body = std::mem::replace(&mut self.ahead, rest);
        Some(Reply {
            status: head[9..12].parse().expect("a status"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            head,
        })
    }

    /// False at the end.
    async fn read_more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // A reset is an end too.
        let length = self.stream.read(&mut buffer).await.unwrap_or(0);
        self.ahead.extend_from_slice(&buffer[..length]);
        length > 0
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}
