//! The client of the suite: one request per connection, over a plain socket.
//!
//! Every exchange is checked against the API description before the test sees the response, so no
//! test passes on an undocumented response. Requests are sent exactly as written here.

use std::sync::PoisonError;

use roster_testkit::openapi::Exchange;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::service::Service;

/// The default request id, so that whole responses can be compared.
pub const REQUEST_ID: &str = "request-of-the-suite";

/// A request.
pub struct Request<'a> {
    service: &'a Service,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    sent: Option<usize>,
}

/// A response, with its request.
pub struct Reply {
    pub exchange: Exchange,
    pub reason: String,
}

impl<'a> Request<'a> {
    pub fn new(service: &'a Service, method: &str, target: &str) -> Self {
        let headers = [("host", service.host.as_str()), ("x-request-id", REQUEST_ID)];
        let mut headers: Vec<_> =
            headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let key = service.key.lock().unwrap_or_else(PoisonError::into_inner).clone();
        headers.extend(key.map(|key| ("authorization".to_owned(), format!("Bearer {key}"))));
        Self {
            service,
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body: None,
            sent: None,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes all headers of this name.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(found, _)| found != name);
        self
    }

    /// Sets the credential.
    pub fn bearer(self, token: &str) -> Self {
        self.without("authorization").header("authorization", &format!("Bearer {token}"))
    }

    /// Replaces `Host`.
    pub fn host(self, host: &str) -> Self {
        self.without("host").header("host", host)
    }

    /// Sets the body and its media type.
    pub fn body(self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", media_type).bytes(body)
    }

    /// A body without a media type.
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// A JSON body.
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// Sends `Content-Length` of the whole body, but only this many bytes of it.
    pub fn sending(mut self, bytes: usize) -> Self {
        self.sent = Some(bytes);
        self
    }

    /// Sends the request and checks the exchange against the description.
    pub async fn send(self) -> Reply {
        let service = self.service;
        let reply = self.exchange().await;
        service.witness(&reply);
        reply
    }

    /// Sends the request without that check, for exchanges that the description cannot cover.
    pub async fn unwitnessed(self) -> Reply {
        self.exchange().await
    }

    async fn exchange(self) -> Reply {
        let mut begun = self.connect().await;
        let sent = begun.body.get(..begun.sent).expect("no more than there is");
        let all = [begun.head.as_bytes(), sent].concat();
        // An early error response may close the connection during the write. It is read below.
        let _early = begun.stream.write_all(&all).await;
        begun.answer().await
    }

    /// Sends all but the last byte of the body, once the service waits for the body.
    pub async fn begin(self) -> Begun<'a> {
        let mut begun = self.header("expect", "100-continue").connect().await;
        begun.stream.write_all(begun.head.as_bytes()).await.expect("the head is taken");
        let mut interim = Vec::new();
        while !interim.ends_with(b"\r\n\r\n") {
            more(&mut begun.stream, &mut interim).await;
        }
        assert!(interim.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&interim));
        let (_, most) = begun.body.split_last().expect("a body");
        begun.stream.write_all(most).await.expect("the body is taken");
        begun
    }

    /// Sends the request, and returns once the head of its response is there.
    pub async fn stream(self) -> Arriving {
        let Begun { mut stream, head, .. } = self.connect().await;
        stream.write_all(head.as_bytes()).await.expect("the head is taken");
        let mut buffer = Vec::new();
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            more(&mut stream, &mut buffer).await;
        };
        let head = String::from_utf8(buffer[..end].to_vec()).expect("a head in ASCII");
        buffer.drain(..end + 4);
        let Answer { status, headers, .. } = Answer::parse(&head);
        Arriving { status, headers, stream, buffer, body: String::new() }
    }

    async fn connect(self) -> Begun<'a> {
        let mut headers = self.headers;
        let body = self.body.clone().unwrap_or_default();
        if self.body.is_some() {
            headers.push(("content-length".to_owned(), body.len().to_string()));
        }
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let stream = TcpStream::connect(self.service.address).await.expect("it listens");
        stream.set_nodelay(true).expect("a socket option");
        let (service, method, target) = (self.service, self.method, self.target);
        let sent = self.sent.unwrap_or(body.len());
        Begun { service, stream, head, method, target, headers, body, sent }
    }
}

/// A request without its response.
pub struct Begun<'a> {
    service: &'a Service,
    stream: TcpStream,
    head: String,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    sent: usize,
}

impl Begun<'_> {
    /// Sends the last byte of the body and checks the exchange against the description.
    pub async fn finish(mut self) -> Reply {
        let last = *self.body.last().expect("a body");
        // The response may have arrived, and the connection may be closed.
        let _early = self.stream.write_all(&[last]).await;
        let service = self.service;
        let reply = self.answer().await;
        service.witness(&reply);
        reply
    }

    async fn answer(mut self) -> Reply {
        let answer = Answer::read(&mut self.stream, self.method == "HEAD").await;
        let (path, query) = match self.target.split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (self.target, None),
        };
        let exchange = Exchange {
            method: self.method,
            path,
            query,
            request_headers: self.headers,
            request_body: self.body,
            status: answer.status,
            response_headers: answer.headers,
            response_body: answer.body,
        };
        Reply { exchange, reason: answer.reason }
    }
}

/// A response whose chunked body is still arriving.
pub struct Arriving {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    stream: TcpStream,
    buffer: Vec<u8>,
    body: String,
}

impl Arriving {
    /// The next text up to an empty line, without it; `None` at the end of the body.
    pub async fn frame(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.body.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.body = rest;
                return Some(frame);
            }
            let chunk = chunk(&mut self.stream, &mut self.buffer).await;
            if chunk.is_empty() {
                assert_eq!(self.body, "", "the last frame is whole");
                return None;
            }
            self.body.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
    }
}

struct Answer {
    status: u16,
    reason: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    async fn read(stream: &mut TcpStream, head_only: bool) -> Self {
        let mut buffer = Vec::new();
        loop {
            let end = loop {
                if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                    break end;
                }
                more(stream, &mut buffer).await;
            };
            let head = String::from_utf8(buffer[..end].to_vec()).expect("a head in ASCII");
            buffer.drain(..end + 4);
            let mut answer = Self::parse(&head);
            // An interim response precedes the final one (RFC 9110 section 15.2).
            if answer.status == 100 {
                continue;
            }
            let chunked = answer.headers.iter().any(|(name, _)| name == "transfer-encoding");
            if chunked && !head_only {
                answer.body = chunks(stream, buffer).await;
                return answer;
            }
            let length = if head_only || matches!(answer.status, 204 | 304) {
                0
            } else {
                let mut named = answer.headers.iter().filter(|(name, _)| name == "content-length");
                let (_, length) = named.next().expect("every answer has its length");
                length.parse().expect("a length")
            };
            while buffer.len() < length {
                more(stream, &mut buffer).await;
            }
            assert_eq!(buffer.len(), length, "nothing follows the body");
            answer.body = buffer;
            return answer;
        }
    }

    fn parse(head: &str) -> Self {
        let mut lines = head.split("\r\n");
        let status_line = lines.next().expect("a status line");
        let (_, status) = status_line.split_once(' ').expect("a version");
        let (status, reason) = status.split_once(' ').unwrap_or((status, ""));
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').expect("a header");
            (name.to_ascii_lowercase(), value.trim().to_owned())
        });
        Self {
            status: status.parse().expect("a status"),
            reason: reason.to_owned(),
            headers: headers.collect(),
            body: Vec::new(),
        }
    }
}

/// Reads a chunked body (RFC 9112 section 7.1).
async fn chunks(stream: &mut TcpStream, mut buffer: Vec<u8>) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let chunk = chunk(stream, &mut buffer).await;
        if chunk.is_empty() {
            assert!(buffer.is_empty(), "nothing follows the body");
            return body;
        }
        body.extend(chunk);
    }
}

/// Reads a chunk; the last one is empty.
async fn chunk(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Vec<u8> {
    let end = loop {
        if let Some(end) = buffer.windows(2).position(|two| two == b"\r\n") {
            break end;
        }
        more(stream, buffer).await;
    };
    let size = std::str::from_utf8(&buffer[..end]).expect("a size in ASCII");
    let size = usize::from_str_radix(size, 16).expect("a size");
    while buffer.len() < end + 2 + size + 2 {
        more(stream, buffer).await;
    }
    let chunk = buffer[end + 2..end + 2 + size].to_vec();
    buffer.drain(..end + 2 + size + 2);
    chunk
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    let read = stream.read_buf(buffer).await.expect("the answer is read");
    assert_ne!(read, 0, "the answer broke off: {}", String::from_utf8_lossy(buffer));
}

impl Reply {
    pub fn status(&self) -> u16 {
        self.exchange.status
    }

    /// The value of a header, which may occur only once.
    pub fn find(&self, name: &str) -> Option<&str> {
        let mut found = self.exchange.response_headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} occurs once");
        value
    }

    /// The value of a required header.
    pub fn header(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("{name} is there"))
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.exchange.response_body).expect("UTF-8")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.exchange.response_body).expect("a JSON body")
    }

    /// Fails the test unless the response has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        let Exchange { method, path, query, .. } = &self.exchange;
        let query = query.as_deref().unwrap_or_default();
        assert_eq!(self.status(), status, "{method} {path}?{query}: {}", self.text());
        self
    }

    /// Fails the test unless the response is this problem.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Self {
        let reply = self.expect(status);
        let body = reply.json();
        // An error of SCIM has its status as a member (RFC 7644 section 3.12).
        let is_problem = if body.get("schemas").is_some() {
            body["status"].as_str() == Some(&status.to_string())
        } else {
            body["code"] == code
        };
        assert!(is_problem, "{code}: {}", reply.text());
        reply
    }

    /// The places and codes of `errors`.
    pub fn faults(&self) -> Vec<(String, String)> {
        faults(&self.json())
    }
}

/// The places and codes of the errors of a problem.
pub fn faults(problem: &Value) -> Vec<(String, String)> {
    let errors = problem["errors"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let place = |error: &Value| {
        let places = ["pointer", "parameter", "column"];
        places.iter().find_map(|name| error.get(name).map(text)).expect("a place")
    };
    errors.iter().map(|error| (place(error), text(&error["code"]))).collect()
}
