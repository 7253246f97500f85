//! The client of the suite: one request, one connection, over a plain socket.
//!
//! Every exchange is held against the description before the test sees the answer, so that no
//! test can pass on an answer that the document does not promise. What was sent goes out as it is
//! written here: nothing is added, corrected or followed.

use std::sync::PoisonError;

use roster_testkit::openapi::Exchange;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::service::Service;

/// The id that requests carry unless they name another, so that answers can be foretold.
pub(crate) const REQUEST_ID: &str = "request-of-the-suite";

/// A request in the making.
pub(crate) struct Request<'a> {
    service: &'a Service,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    sent: Option<usize>,
}

/// An answer, with the request it belongs to.
pub(crate) struct Reply {
    pub(crate) exchange: Exchange,
    pub(crate) reason: String,
}

impl<'a> Request<'a> {
    pub(crate) fn new(service: &'a Service, method: &str, target: &str) -> Self {
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
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Takes all headers of this name away.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(found, _)| found != name);
        self
    }

    /// With this credential.
    pub(crate) fn bearer(self, token: &str) -> Self {
        self.without("authorization").header("authorization", &format!("Bearer {token}"))
    }

    /// Puts another `Host` in place.
    pub(crate) fn host(self, host: &str) -> Self {
        self.without("host").header("host", host)
    }

    /// A body as it is, with its media type.
    pub(crate) fn body(self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", media_type).bytes(body)
    }

    /// A body without a media type.
    pub(crate) fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// A JSON body.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// Announces the whole body, but sends only so many bytes of it.
    pub(crate) fn sending(mut self, bytes: usize) -> Self {
        self.sent = Some(bytes);
        self
    }

    /// Sends it and holds the exchange against the description.
    pub(crate) async fn send(self) -> Reply {
        let service = self.service;
        let reply = self.exchange().await;
        service.witness(&reply);
        reply
    }

    /// Sends it and leaves the description aside, for what no description can know.
    pub(crate) async fn unwitnessed(self) -> Reply {
        self.exchange().await
    }

    async fn exchange(self) -> Reply {
        let mut begun = self.connect().await;
        let sent = begun.body.get(..begun.sent).expect("no more than there is");
        let all = [begun.head.as_bytes(), sent].concat();
        // An early refusal may close the connection while we still write; it is read below.
        let _early = begun.stream.write_all(&all).await;
        begun.answer().await
    }

    /// Sends all but the last byte of the body, once the service waits for the body.
    pub(crate) async fn begin(self) -> Begun<'a> {
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

/// A request whose answer is still to come.
pub(crate) struct Begun<'a> {
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
    /// Sends the last byte of the body and holds the exchange against the description.
    pub(crate) async fn finish(mut self) -> Reply {
        let last = *self.body.last().expect("a body");
        // The answer may have come already, and the connection be closed.
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
            // An interim answer comes before the final one (RFC 9110 section 15.2).
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

/// A body in chunks to its end (RFC 9112 section 7.1).
async fn chunks(stream: &mut TcpStream, mut buffer: Vec<u8>) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(2).position(|two| two == b"\r\n") {
                break end;
            }
            more(stream, &mut buffer).await;
        };
        let size = std::str::from_utf8(&buffer[..end]).expect("a size in ASCII");
        let size = usize::from_str_radix(size, 16).expect("a size");
        while buffer.len() < end + 2 + size + 2 {
            more(stream, &mut buffer).await;
        }
        body.extend_from_slice(&buffer[end + 2..end + 2 + size]);
        buffer.drain(..end + 2 + size + 2);
        if size == 0 {
            assert!(buffer.is_empty(), "nothing follows the body");
            return body;
        }
    }
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    let read = stream.read_buf(buffer).await.expect("the answer is read");
    assert_ne!(read, 0, "the answer broke off: {}", String::from_utf8_lossy(buffer));
}

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        self.exchange.status
    }

    /// The one value of a header.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        let mut found = self.exchange.response_headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} stands once");
        value
    }

    /// The value of a header that must be there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("{name} is there"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.exchange.response_body).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.exchange.response_body).expect("a JSON body")
    }

    /// Fails the test unless the answer has this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        let Exchange { method, path, query, .. } = &self.exchange;
        let query = query.as_deref().unwrap_or_default();
        assert_eq!(self.status(), status, "{method} {path}?{query}: {}", self.text());
        self
    }

    /// Fails the test unless the answer is this problem.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> Self {
        let reply = self.expect(status);
        let body = reply.json();
        // An error of SCIM has the status in its place (RFC 7644 section 3.12).
        let told = if body.get("schemas").is_some() {
            body["status"].as_str() == Some(&status.to_string())
        } else {
            body["code"] == code
        };
        assert!(told, "{code}: {}", reply.text());
        reply
    }

    /// The places and codes of `errors`.
    pub(crate) fn faults(&self) -> Vec<(String, String)> {
        let body = self.json();
        let errors = body["errors"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let place = |error: &Value| text(error.get("pointer").unwrap_or(&error["parameter"]));
        errors.iter().map(|error| (place(error), text(&error["code"]))).collect()
    }
}
