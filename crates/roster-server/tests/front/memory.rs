//! The memory that clients make the server use, and what happens at its limits.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use roster_server::{ServerSettings, TOTAL_BYTES_MAX};
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
};

use crate::{
    caller::{BODY_BYTES_MAX, Front, quick},
    http2::{Http2, http2, http2_over, request},
};

/// Limits with long timeouts, because these tests are about memory.
fn patient() -> ServerSettings {
    ServerSettings {
        header_timeout_ms: 60_000,
        write_grace_ms: 60_000,
        body_grace_ms: 60_000,
        ..quick()
    }
}

impl Front {
    pub(crate) async fn wait_until_held(&self, held: impl Fn(usize) -> bool) {
        let began = Instant::now();
        while !held(self.counters.memory.held()) {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", self.counters);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Connects from this local address.
    async fn connect_from(&self, address: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        socket.connect(self.address).await.unwrap()
    }
}

/// A body that sends one part and does not end.
struct Unfinished(Option<Bytes>);

impl Body for Unfinished {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.take().map_or(Poll::Pending, |part| Poll::Ready(Some(Ok(Frame::data(part)))))
    }
}

async fn get(sender: &mut Http2, front: &Front, path: &str) -> Response<Incoming> {
    sender.send_request(request(front, Method::GET, path)).await.unwrap()
}

#[tokio::test]
async fn an_unread_response_resets_its_connection_even_if_others_are_read() {
    let front = Front::start(quick()).await;
    let (mut sender, _connection) = http2(&front).await;
    let unread = get(&mut sender, &front, "/big/50000").await;
    let began = Instant::now();
    while let Ok(read) = sender.send_request(request(&front, Method::GET, "/big/5000")).await {
        drop(read.into_body().collect().await);
        assert!(began.elapsed() < Duration::from_secs(10), "never reset");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(front.counters.closed_slow_read.get(), 1);
    assert!(unread.into_body().collect().await.is_err());
}

#[tokio::test]
async fn responses_read_above_the_minimum_rate_are_completed() {
    let front = Front::start(quick()).await;
    let (mut sender, _connection) = http2(&front).await;
    let mut bodies = JoinSet::new();
    for _ in 0..3 {
        let mut body = get(&mut sender, &front, "/big/60000").await.into_body();
        bodies.spawn(async move {
            let mut length = 0;
            while let Some(frame) = body.frame().await {
                length += frame.unwrap().into_data().unwrap().len();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            length
        });
    }
    assert_eq!(bodies.join_all().await, [60_000; 3]);
}

#[tokio::test]
async fn responses_count_as_memory_until_they_are_read_or_aborted() {
    let front = Front::start(patient()).await;
    let (mut sender, _connection) = http2(&front).await;
    let mut unread = Vec::new();
    for _ in 0..50 {
        unread.push(get(&mut sender, &front, "/big/30000").await);
    }
    // Each window of 10,000 bytes is used; the rest is kept.
    front.wait_until_held(|held| held >= 50 * 20_000).await;
    for response in unread.drain(..25) {
        response.into_body().collect().await.unwrap();
    }
    front.wait_until_held(|held| held <= 26 * 35_000).await;
    drop(unread);
    front.wait_until_held(|held| held == 0).await;
}

#[tokio::test]
async fn streamed_and_http1_responses_count_as_memory() {
    let front = Front::start(patient()).await;
    let (mut sender, _connection) = http2(&front).await;
    let streamed = get(&mut sender, &front, "/stream/100000,100000").await;
    front.wait_until_held(|held| held >= 100_000 - 16_384).await;
    streamed.into_body().collect().await.unwrap();
    front.wait_until_held(|held| held == 0).await;

    let mut caller = front.small_caller().await;
    caller.send("GET /big/8000000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    front.wait_until_held(|held| held >= 8_000_000 - 16_384).await;
    assert_eq!(caller.answer().await.1.len(), 8_000_000);
    front.wait_until_held(|held| held == 0).await;
}

#[tokio::test]
async fn partial_heads_count_as_memory() {
    let front = Front::start(patient()).await;
    let mut caller = front.caller().await;
    caller.send("GET / HTTP/1.1\r\nhost: a\r\nx: ").await;
    for _ in 0..40 {
        caller.send(&"y".repeat(1_000)).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    front.wait_until_held(|held| held >= 16_384).await;
    caller.send("\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"hello");
    caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    caller.answer().await;
    front.wait_until_held(|held| held == 0).await;
}

#[tokio::test]
async fn bodies_above_the_memory_share_of_a_caller_are_rejected() {
    let front = Front::start(patient()).await;
    let part = Bytes::from(vec![b'x'; BODY_BYTES_MAX - 1]);
    let mut senders = Vec::new();
    let mut answers = JoinSet::new();
    // Sixty megabytes in bodies that do not end.
    for _ in 0..6 {
        let stream = TcpStream::connect(front.address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http2::Builder::new(TokioExecutor::new())
                .handshake(TokioIo::new(stream))
                .await
                .unwrap();
        tokio::spawn(connection);
        for _ in 0..100 {
            let uri = format!("http://{}/read", front.address);
            let request = Request::post(uri).body(Unfinished(Some(part.clone()))).unwrap();
            answers.spawn(sender.send_request(request));
        }
        senders.push(sender);
    }
    let refused = answers.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(front.counters.memory.refusals.get() > 0);
    assert!(front.counters.memory.held() <= 36_000_000);
    drop((senders, answers));
    front.wait_until_held(|held| held == 0).await;
}

#[tokio::test]
async fn at_the_memory_limit_connections_of_the_largest_caller_are_reset() {
    let front = Front::start(patient()).await;
    let mut small = http2_over(front.connect_from("127.0.0.9").await).await;
    let kept = get(&mut small.0, &front, "/big/5000000").await;
    let mut large = Vec::new();
    while front.counters.memory.resets.get() == 0 {
        assert!(large.len() < 20, "never reset");
        let address = format!("127.0.0.{}", 2 + large.len() % 2);
        let mut http2 = http2_over(front.connect_from(&address).await).await;
        let unread = http2.0.send_request(request(&front, Method::GET, "/big/12000000")).await;
        large.push((http2, unread));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    front.wait_until_held(|held| held <= TOTAL_BYTES_MAX).await;
    assert_eq!(kept.into_body().collect().await.unwrap().to_bytes().len(), 5_000_000);
}
