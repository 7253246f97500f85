//! A client that writes bytes and reads responses. It knows only as much of HTTP as it needs to
//! find the end of a response.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// The maximum wait for anything that is not about time.
const PATIENCE: Duration = Duration::from_secs(10);

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
    began: Instant,
}

/// One response.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Vec<u8>,
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    InGoodOrder,
    Reset,
    NotAtAll,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, unread: Vec::new(), began: Instant::now() }
    }

    /// How long the connection has been open.
    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes as much as the server accepts. The server may have rejected the request and closed
    /// the connection already; then its response counts.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Writes one byte at a time until there is something to read, or the end.
    pub(crate) fn trickle(&mut self) {
        self.stream.set_read_timeout(Some(Duration::from_millis(40))).unwrap();
        while self.age() < PATIENCE
            && self.send(b"x")
            && matches!(self.more(), Err(Ended::NotAtAll))
        {}
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }

    /// Closes the sending side.
    pub(crate) fn finish(&mut self) {
        // If the connection is closed already, nothing is left to do.
        drop(self.stream.shutdown(Shutdown::Write));
    }

    fn more(&mut self) -> Result<(), Ended> {
        let mut room = [0; 16 * 1024];
        match self.stream.read(&mut room) {
            Ok(0) => Err(Ended::InGoodOrder),
            Ok(count) => {
                self.unread.extend_from_slice(&room[..count]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Ended::NotAtAll),
            Err(_) => Err(Ended::Reset),
        }
    }

    /// Reads exactly this many bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<Vec<u8>, Ended> {
        while self.unread.len() < count {
            self.more()?;
        }
        Ok(self.unread.drain(..count).collect())
    }

    /// The next response.
    pub(crate) fn answer(&mut self, head_only: bool) -> Result<Received, String> {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.more().map_err(|ended| {
                format!("{ended:?} after {:?}", String::from_utf8_lossy(&self.unread))
            })?;
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let first = lines.next().unwrap();
        let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
        let status: u16 =
            status.and_then(|s| s.parse().ok()).ok_or(format!("no status: {head}"))?;
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(':').expect("a header line"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut received = Received { status, headers, content: Vec::new() };
        if received.header("transfer-encoding").is_some() {
            return Err("the answer is chunked".to_owned());
        }
        if !head_only && status >= 200 && !matches!(status, 204 | 304) {
            let length = received.header("content-length").unwrap_or("0").parse().unwrap();
            received.content =
                self.take(length).map_err(|ended| format!("{ended:?} within the content"))?;
        }
        Ok(received)
    }

    /// Waits for the end of the connection. Returns the bytes before it.
    pub(crate) fn end(&mut self) -> (Ended, String) {
        loop {
            if let Err(ended) = self.more() {
                let rest = String::from_utf8_lossy(&self.unread).into_owned();
                self.unread.clear();
                return (ended, rest);
            }
        }
    }
}

impl Received {
    /// The only value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} stands twice");
        value
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }
}

/// Sleeps for this many milliseconds.
pub(crate) fn pause(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}
