//! The plainest client: one request, one connection.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use super::wait::DEADLINE;

/// Sends a request; fails if there is no whole answer.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &Value,
) -> io::Result<(u16, Value)> {
    send_with(address, method, path, "", body)
}

/// As [`send`], with further lines in the header.
pub(crate) fn send_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    lines: &str,
    body: &Value,
) -> io::Result<(u16, Value)> {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let mut stream = TcpStream::connect_timeout(&address, DEADLINE)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\n{lines}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    Ok((
        status.ok_or(io::ErrorKind::InvalidData)?,
        serde_json::from_str(body).unwrap_or_default(),
    ))
}

#[track_caller]
pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, Value) {
    send(address, "GET", path, &Value::Null).expect("an answer")
}

/// Whether `/readyz` answers 503. A connection that comes just as the service begins to stop may be
/// closed without an answer.
pub(crate) fn says_not_ready(address: SocketAddr) -> bool {
    send(address, "GET", "/readyz", &Value::Null).is_ok_and(|(status, _)| status == 503)
}
