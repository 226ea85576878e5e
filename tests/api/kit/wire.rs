//! A client that writes its bytes itself: slowly, wrongly, or not at all.

use std::{io, net::SocketAddr};

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};
use serde_json::Value;
#[cfg(target_os = "linux")]
use socket2::{SockFilter, SockRef};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::wait::DEADLINE;

pub(crate) struct Wire {
    stream: TcpStream,
    /// Read and not yet used.
    ahead: Vec<u8>,
}

/// An answer as it came in.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null if the body is not JSON.
    pub(crate) body: Value,
}

impl Reply {
    fn new(head: &str, body: Vec<u8>) -> Self {
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.get(9..12));
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').expect("a field");
            (
                name.parse::<HeaderName>().expect("a name"),
                HeaderValue::from_str(value.trim()).expect("a value"),
            )
        });
        let text = String::from_utf8(body).expect("UTF-8");
        Self {
            status: status.expect("a status").parse().expect("a status"),
            headers: headers.collect(),
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
        }
    }

    /// Expects a problem, and answers its document.
    #[track_caller]
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.body["code"], code, "{}", self.text);
        assert_eq!(self.body["status"], status);
        self.body
    }
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

    /// Sends `request`, which must ask for the connection to be closed, and reads until it is.
    pub(crate) async fn exchange(address: SocketAddr, request: &str) -> Reply {
        let mut wire = Self::connect(address).await;
        wire.send(request).await;
        wire.last_reply().await
    }

    pub(crate) async fn request(&mut self, method: &str, path: &str, body: &Value) {
        self.request_with(method, path, "", body).await;
    }

    /// As [`request`](Self::request), with further lines in the header.
    pub(crate) async fn request_with(
        &mut self,
        method: &str,
        path: &str,
        lines: &str,
        body: &Value,
    ) {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let length = body.len();
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n\
             {lines}Content-Length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.try_send(text).await.expect("sent");
    }

    /// Fails if the service has closed the connection.
    pub(crate) async fn try_send(&mut self, text: &str) -> io::Result<()> {
        timeout(DEADLINE, self.stream.write_all(text.as_bytes()))
            .await
            .expect("a service that reads")
    }

    /// Reads one answer; none if the connection was closed instead.
    pub(crate) async fn reply(&mut self) -> Option<Reply> {
        timeout(DEADLINE, self.read_reply())
            .await
            .expect("an answer")
    }

    /// Reads the answer that ends with the connection, in good order, whatever length it says it has.
    pub(crate) async fn last_reply(mut self) -> Reply {
        self.read_to_end().await.expect("an end without a reset");
        let text = String::from_utf8(self.ahead).expect("UTF-8");
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        Reply::new(head, body.into())
    }

    /// Waits until the service has closed the connection, and answers what it sent before.
    pub(crate) async fn closed(mut self) -> String {
        // A reset is an end too.
        self.read_to_end().await.ok();
        String::from_utf8(self.ahead).expect("UTF-8")
    }

    /// Waits until an answer begins.
    pub(crate) async fn begun(&mut self) {
        while self.ahead.is_empty() {
            assert!(self.read_more().await.expect("an answer"));
        }
    }

    /// Reads until `text` has come.
    pub(crate) async fn read_until(&mut self, text: &str) {
        let mut seen = 0;
        while find(&self.ahead[seen..], text.as_bytes()).is_none() {
            seen = self.ahead.len().saturating_sub(text.len());
            assert!(self.read_more().await.expect("more"), "never came: {text}");
        }
    }

    /// From now on nothing that is sent to this client arrives or is acknowledged, as when its machine
    /// has lost its power.
    #[cfg(target_os = "linux")]
    pub(crate) fn vanish(&self) {
        // `BPF_RET | BPF_K`: of each packet it lets through as many bytes as the last number says.
        let nothing = SockFilter::new(0x06, 0, 0, 0);
        let socket = SockRef::from(&self.stream);
        socket.attach_filter(&[nothing]).expect("a filter");
    }

    /// Reads until the connection ends; says how it did.
    pub(crate) async fn read_out(mut self) -> (String, io::Result<()>) {
        let end = self.read_to_end().await;
        (String::from_utf8_lossy(&self.ahead).into_owned(), end)
    }

    async fn read_to_end(&mut self) -> io::Result<()> {
        let reading = async {
            while self.read_more().await? {}
            Ok(())
        };
        timeout(DEADLINE, reading)
            .await
            .expect("a closed connection")
    }

    async fn read_reply(&mut self) -> Option<Reply> {
        let head = loop {
            if let Some(end) = find(&self.ahead, b"\r\n\r\n") {
                let rest = self.ahead.split_off(end + 4);
                let head = std::mem::replace(&mut self.ahead, rest);
                break String::from_utf8(head).expect("UTF-8");
            }
            // A reset is an end too.
            if !self.read_more().await.unwrap_or(false) {
                return None;
            }
        };
        let length = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map(|(_, length)| length)
            .map_or(0, |length| length.parse().expect("a length"));
        while self.ahead.len() < length {
            let more = self.read_more().await.unwrap_or(false);
            assert!(more, "cut off: {head}");
        }
        let rest = self.ahead.split_off(length);
        let body = std::mem::replace(&mut self.ahead, rest);
        Some(Reply::new(&head, body))
    }

    /// False at the end.
    async fn read_more(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        let length = self.stream.read(&mut buffer).await?;
        self.ahead.extend_from_slice(&buffer[..length]);
        Ok(length > 0)
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}
