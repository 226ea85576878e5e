//! A request written byte by byte, for what no client library sends.

use std::net::SocketAddr;

use hyper::{
    HeaderMap, StatusCode,
    header::{HeaderName, HeaderValue},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// An answer as it stood on the wire.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl RawAnswer {
    /// Expects a problem, and answers its document.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{text}");
        assert_eq!(self.headers["content-type"], "application/problem+json");
        let body: Value = serde_json::from_slice(&self.body).expect("JSON");
        assert_eq!(body["code"], code, "{body}");
        assert_eq!(body["status"], status);
        body
    }
}

/// Sends `request`, which must ask for the connection to be closed, and reads until it is.
pub(crate) async fn exchange(address: SocketAddr, request: impl AsRef<[u8]>) -> RawAnswer {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_ref()).await.expect("sent");
    read_to_end(&mut stream).await
}

/// Reads the answer that ends with the connection.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> RawAnswer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("an answer");
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).expect("ASCII");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.get(9..12));
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').expect("a field");
        (
            name.parse::<HeaderName>().expect("a name"),
            HeaderValue::from_str(value.trim()).expect("a value"),
        )
    });
    RawAnswer {
        status: status.expect("a status").parse().expect("a status"),
        headers: headers.collect(),
        body: bytes[end + 4..].to_vec(),
    }
}
