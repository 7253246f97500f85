//! A raw exchange of streams: the test sends pieces of the request, and reads the response
//! meanwhile.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::{NDJSON, read};
use crate::service::Service;

/// No step of a test takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The header of a credential, if there is one.
pub(super) fn authorization(credential: Option<&str>) -> String {
    credential.map_or_else(String::new, |text| format!("authorization: Bearer {text}\r\n"))
}

/// One request on a new connection.
pub(crate) struct Talk {
    stream: TcpStream,
    /// Received bytes that were not parsed yet.
    raw: Vec<u8>,
    /// The received body.
    body: Vec<u8>,
    /// Whether the body ended normally.
    whole: bool,
}

impl Talk {
    /// Sends a head. A body follows in chunks, if there is one.
    pub(super) async fn begin(service: &Service, request: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(service.address).await.expect("it listens");
        let host = &service.host;
        let head = format!("{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}");
        stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("it listens");
        Self { stream, raw: Vec::new(), body: Vec::new(), whole: false }
    }

    /// Begins to send users.
    pub(super) async fn import(service: &Service, query: &str) -> Self {
        Self::import_by(service, query, None).await
    }

    /// Begins to send users with a key.
    pub(super) async fn import_by(service: &Service, query: &str, key: Option<&str>) -> Self {
        let key = authorization(key);
        let headers = format!("{key}content-type: {NDJSON}\r\ntransfer-encoding: chunked\r\n");
        Self::begin(service, &format!("POST /bulk/users{query}"), &headers).await
    }

    /// Begins an export.
    pub(super) async fn export(service: &Service) -> Self {
        Self::export_by(service, None).await
    }

    /// Begins an export with a key.
    pub(super) async fn export_by(service: &Service, key: Option<&str>) -> Self {
        let headers = format!("{}accept: {NDJSON}\r\n", authorization(key));
        Self::begin(service, "GET /bulk/users", &headers).await
    }

    /// Whether the answer has ended by now.
    pub(super) async fn is_over(&mut self) -> bool {
        let came = self.stream.read_buf(&mut self.raw);
        match timeout(Duration::from_millis(1), came).await {
            Ok(came) => !matches!(came, Ok(count) if count > 0),
            Err(_) => false,
        }
    }

    /// Sends a piece of the body.
    pub(super) async fn send(&mut self, piece: impl AsRef<[u8]>) {
        let piece = piece.as_ref();
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        let sent = timeout(PATIENCE, self.stream.write_all(&chunk)).await;
        sent.expect("the body is taken in").expect("the connection is open");
    }

    /// Sends a piece of the body to a service that may have closed the connection.
    pub(super) async fn try_send(&mut self, piece: impl AsRef<[u8]>) {
        let piece = piece.as_ref();
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        let sent = timeout(PATIENCE, self.stream.write_all(&chunk)).await;
        let _closed = sent.expect("the body is taken in, or not");
    }

    /// Ends the body.
    pub(super) async fn end(&mut self) {
        self.stream.write_all(b"0\r\n\r\n").await.expect("the connection is open");
    }

    /// Sends no more, and does not end the body.
    pub(super) async fn break_off(&mut self) {
        self.stream.shutdown().await.expect("the connection is open");
    }

    /// The head of the response, with its status first. Interim responses are returned separately.
    pub(super) async fn head(&mut self) -> String {
        loop {
            if let Some(end) = self.raw.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.raw.drain(..end + 4).collect();
                let head = String::from_utf8(head).expect("a head in ASCII");
                return head.strip_prefix("HTTP/1.1 ").expect("a version").to_owned();
            }
            assert!(self.more().await, "the answer has a head");
        }
    }

    /// The next line of the response; `None` at its end, normal or not.
    pub(super) async fn line(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.body.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.body.drain(..=end).collect();
                return Some(read(std::str::from_utf8(&line).expect("UTF-8")));
            }
            if !self.take_chunk() && !self.more().await {
                return None;
            }
        }
    }

    /// All further lines, and whether the body ended normally.
    pub(super) async fn rest(mut self) -> (Vec<Value>, bool) {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        (lines, self.whole)
    }

    /// The rest of a response that is no lines of JSON, and whether the body ended normally.
    pub(super) async fn text(mut self) -> (String, bool) {
        while self.take_chunk() || self.more().await {}
        (String::from_utf8(self.body).expect("UTF-8"), self.whole)
    }

    /// Parses one complete chunk of the response, if it was received.
    fn take_chunk(&mut self) -> bool {
        let Some(end) = self.raw.windows(2).position(|two| two == b"\r\n") else { return false };
        let size = std::str::from_utf8(&self.raw[..end]).expect("a size in ASCII");
        let size = usize::from_str_radix(size, 16).expect("a size");
        if self.raw.len() < end + 2 + size + 2 {
            return false;
        }
        self.body.extend_from_slice(&self.raw[end + 2..end + 2 + size]);
        self.raw.drain(..end + 2 + size + 2);
        self.whole = size == 0;
        true
    }

    /// Waits for more of the response. Returns nothing once the connection is closed.
    async fn more(&mut self) -> bool {
        let came = timeout(PATIENCE, self.stream.read_buf(&mut self.raw)).await;
        matches!(came.expect("the answer goes on"), Ok(count) if count > 0)
    }
}
