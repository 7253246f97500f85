//! A receiver of webhooks that notes what it gets.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use data_encoding::BASE64;
use ring::hmac::{HMAC_SHA256, Key, sign};
use serde_json::Value;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) target: String,
    pub(crate) id: String,
    pub(crate) media_type: String,
    timestamp: String,
    signatures: String,
    content: String,
    /// What it was answered.
    pub(crate) status: u16,
}

impl Received {
    /// Its events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let content: Value = serde_json::from_str(&self.content).unwrap();
        content.as_array().cloned().unwrap_or_else(|| vec![content])
    }

    /// Whether one of its signatures is that of a secret.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let secret = BASE64.decode(secret.strip_prefix("whsec_").unwrap().as_bytes()).unwrap();
        let signed = format!("{}.{}.{}", self.id, self.timestamp, self.content);
        let tag = sign(&Key::new(HMAC_SHA256, &secret), signed.as_bytes());
        let expected = format!("v1,{}", BASE64.encode(tag.as_ref()));
        self.signatures.split(' ').any(|signature| signature == expected)
    }
}

#[derive(Default)]
struct State {
    received: Vec<Received>,
    /// The statuses of the next responses; 204 afterwards.
    statuses: VecDeque<u16>,
}

/// A receiver on a port of its own.
pub(crate) struct Receiver {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Self { url, state }
    }

    /// The statuses of the next responses.
    pub(crate) fn answer(&self, statuses: &[u16]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.statuses = statuses.iter().copied().collect();
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).received.clone()
    }

    /// The numbers of the events that were received, in the order of their arrival.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        let received = self.received();
        let taken = received.iter().filter(|one| one.status < 300);
        taken.flat_map(|one| one.events().into_iter().map(|event| number(&event))).collect()
    }

    /// Waits until so many requests have arrived.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Received> {
        let began = Instant::now();
        loop {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{} of {count}", received.len());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The number of an event in the log.
pub(crate) fn number(event: &Value) -> i64 {
    let id = event.get("id").and_then(Value::as_str).unwrap();
    id.rsplit_once('-').unwrap().1.parse().unwrap()
}

fn serve(mut stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    let field = |name: &str| {
        let found = head.iter().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then(|| value.to_owned())
        });
        found.unwrap_or_default()
    };
    let mut content = vec![0; field("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut content)?;
    let status = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let status = state.statuses.pop_front().unwrap_or(204);
        state.received.push(Received {
            target: head[0].split(' ').nth(1).unwrap_or_default().to_owned(),
            id: field("webhook-id"),
            media_type: field("content-type"),
            timestamp: field("webhook-timestamp"),
            signatures: field("webhook-signature"),
            content: String::from_utf8(content).unwrap_or_default(),
            status,
        });
        status
    };
    let response = format!("HTTP/1.1 {status} X\r\nLocation: /moved\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(response.as_bytes())
}
