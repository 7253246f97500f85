//! The front over raw sockets: what it does with callers who are slow, silent, broken or too
//! many, and with a handler that fails.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use roster_http::front::{
    Body, BodyFault, DrainReport, FrontCounters, FrontSettings, Handle, Peer, read_body, serve,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

const BODY_BYTES_MAX: usize = 100_000;

struct Probe;

impl Handle for Probe {
    async fn handle(&self, request: Request<Incoming>, peer: Peer) -> Response<Body> {
        let path = request.uri().path().to_owned();
        if let Some(bytes) = path.strip_prefix("/big/") {
            return Response::new(Body::full(vec![b'x'; bytes.parse().unwrap()]));
        }
        if let Some(wait_ms) = path.strip_prefix("/wait/") {
            tokio::time::sleep(Duration::from_millis(wait_ms.parse().unwrap())).await;
            return Response::new(Body::full("late"));
        }
        match path.as_str() {
            "/panic" => panic!("a handler fails at once"),
            "/panic-later" => {
                tokio::task::yield_now().await;
                panic!("a handler fails later")
            }
            "/read" => match read_body(request.into_body(), BODY_BYTES_MAX, &peer.body_floor).await
            {
                Ok(bytes) => Response::new(Body::full(format!("read {}", bytes.len()))),
                Err(BodyFault::TooLarge) => status(StatusCode::PAYLOAD_TOO_LARGE),
                Err(BodyFault::TooSlow) => status(StatusCode::REQUEST_TIMEOUT),
                Err(BodyFault::Aborted) => status(StatusCode::BAD_REQUEST),
            },
            "/unread" => status(StatusCode::NOT_FOUND),
            _ => Response::new(Body::full("hello")),
        }
    }

    fn on_panic(&self) -> Response<Body> {
        let mut response = Response::new(Body::full("sorry"));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Limits that a test can wait for. Those that a test is not about are out of its way.
fn quick() -> FrontSettings {
    FrontSettings {
        header_timeout_ms: 400,
        idle_timeout_ms: 1_500,
        body_grace_ms: 400,
        write_grace_ms: 400,
        close_timeout_ms: 400,
        stall_timeout_ms: 60_000,
        drain_timeout_ms: 2_000,
        ..FrontSettings::default()
    }
}

struct Front {
    address: SocketAddr,
    counters: Arc<FrontCounters>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<DrainReport>,
}

impl Front {
    async fn start(settings: FrontSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let counters = Arc::new(FrontCounters::default());
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { stopped.await.unwrap_or(()) };
        let front = serve(listener, Arc::new(Probe), settings, Arc::clone(&counters), stopped);
        Self { address, counters, stop, serving: tokio::spawn(front) }
    }

    async fn caller(&self) -> Caller {
        Caller { stream: TcpStream::connect(self.address).await.unwrap(), rest: Vec::new() }
    }

    /// A caller whose kernel holds little of what it does not read.
    async fn small_caller(&self) -> Caller {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(8_192).unwrap();
        Caller { stream: socket.connect(self.address).await.unwrap(), rest: Vec::new() }
    }

    async fn wait_until_open(&self, count: u64) {
        let began = Instant::now();
        while self.counters.open.get() != count {
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", self.counters);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

struct Caller {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Caller {
    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// The head of the next answer and its content, by Content-Length.
    async fn answer(&mut self) -> (String, Vec<u8>) {
        let end = loop {
            if let Some(at) = self.rest.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            self.read_more().await;
        };
        let head = String::from_utf8(self.rest.drain(..end).collect()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        while self.rest.len() < length {
            self.read_more().await;
        }
        (head, self.rest.drain(..length).collect())
    }

    async fn read_more(&mut self) {
        let count = self.stream.read_buf(&mut self.rest).await.unwrap();
        assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&self.rest));
    }

    /// Waits until the other side has closed or reset, and tells what came before.
    async fn closed(&mut self) -> Vec<u8> {
        let closed = async {
            while let Ok(1..) = self.stream.read_buf(&mut self.rest).await {}
            std::mem::take(&mut self.rest)
        };
        tokio::time::timeout(Duration::from_secs(5), closed).await.expect("never closed")
    }
}

/// Asserts that what takes `limit_ms` was done neither early nor late.
fn assert_took(began: Instant, limit_ms: u64) {
    let took = u64::try_from(began.elapsed().as_millis()).unwrap();
    assert!(took >= limit_ms * 9 / 10, "{took} ms is before the limit of {limit_ms} ms");
    assert!(took <= limit_ms * 2 + 500, "{took} ms is long after the limit of {limit_ms} ms");
}

#[tokio::test]
async fn requests_on_one_connection_are_answered_in_order() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("GET /wait/50 HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let (first, content) = caller.answer().await;
    assert!(first.starts_with("HTTP/1.1 200 "), "{first}");
    assert_eq!(content, b"late");
    assert_eq!(caller.answer().await.1, b"hello");
}

#[tokio::test]
async fn a_connection_that_sends_nothing_is_closed() {
    let front = Front::start(quick()).await;
    let began = Instant::now();
    let mut caller = front.caller().await;
    assert_eq!(caller.closed().await, b"");
    assert_took(began, 400);
    assert_eq!(front.counters.closed_slow_head.get(), 1);
}

#[tokio::test]
async fn a_connection_that_stops_within_the_http2_preface_is_closed() {
    let front = Front::start(quick()).await;
    let began = Instant::now();
    let mut caller = front.caller().await;
    caller.send("PRI * HTTP/2.0\r\n\r\nSM").await;
    assert_eq!(caller.closed().await, b"");
    assert_took(began, 400);
}

#[tokio::test]
async fn a_head_that_trickles_is_closed_though_bytes_keep_coming() {
    let front = Front::start(quick()).await;
    let began = Instant::now();
    let mut caller = front.caller().await;
    caller.send("GET / HTTP/1.1\r\nhost: a\r\nx: ").await;
    while caller.stream.write_all(b"y").await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(5), "never closed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_took(began, 400);
    assert_eq!(front.counters.closed_slow_head.get(), 1);
}

#[tokio::test]
async fn a_later_head_that_stops_is_closed_sooner_than_a_resting_connection() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    caller.answer().await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let began = Instant::now();
    caller.send("GET / HT").await;
    caller.closed().await;
    assert_took(began, 400);
    assert_eq!(front.counters.closed_slow_head.get(), 1);
}

#[tokio::test]
async fn a_resting_connection_lives_for_the_idle_limit_and_no_longer() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    let mut began = Instant::now();
    for _ in 0..2 {
        // Twice: the limit starts anew with each answer.
        tokio::time::sleep(Duration::from_millis(350)).await;
        caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert_eq!(caller.answer().await.1, b"hello");
        began = Instant::now();
        tokio::time::sleep(Duration::from_millis(800)).await;
    }
    assert_eq!(caller.closed().await, b"");
    assert_took(began, 1_500);
    assert_eq!(front.counters.closed_idle.get(), 1);
    front.wait_until_open(0).await;
}

#[tokio::test]
async fn a_slow_handler_is_not_taken_for_a_slow_caller() {
    let front = Front::start(FrontSettings { idle_timeout_ms: 400, ..quick() }).await;
    let mut caller = front.caller().await;
    caller.send("GET /wait/1200 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"late");
}

#[tokio::test]
async fn a_body_of_a_byte_now_and_then_is_answered_408_and_closed() {
    let front = Front::start(quick()).await;
    let began = Instant::now();
    let mut caller = front.caller().await;
    caller.send("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n").await;
    let (mut reader, mut writer) = caller.stream.into_split();
    let trickle = tokio::spawn(async move {
        while writer.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut answer = vec![0; 1_000];
    let length = reader.read(&mut answer).await.unwrap();
    let head = String::from_utf8_lossy(&answer[..length]);
    assert!(head.starts_with("HTTP/1.1 408 "), "{head}");
    assert!(head.contains("connection: close\r\n"), "{head}");
    assert_took(began, 400);
    assert_eq!(front.counters.closed_slow_body.get(), 1);
    trickle.await.unwrap();
    front.wait_until_open(0).await;
}

#[tokio::test]
async fn a_quick_start_of_a_body_earns_no_credit_for_silence() {
    let front = Front::start(quick()).await;
    let began = Instant::now();
    let mut caller = front.caller().await;
    caller.send("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 90000\r\n\r\n").await;
    caller.send(&"x".repeat(80_000)).await;
    let answer = tokio::time::timeout(Duration::from_secs(5), caller.answer()).await;
    let (head, _) = answer.expect("never answered");
    assert!(head.starts_with("HTTP/1.1 408 "), "{head}");
    assert_took(began, 800);
}

#[tokio::test]
async fn a_body_above_the_floor_may_take_several_windows() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 3000\r\n\r\n").await;
    for _ in 0..15 {
        caller.send(&"x".repeat(200)).await;
        tokio::time::sleep(Duration::from_millis(80)).await;
    }
    let (head, content) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(content, b"read 3000");
}

#[tokio::test]
async fn a_body_announced_too_large_is_refused_before_a_byte_of_it_is_asked_for() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    let framing = "content-length: 100001\r\nexpect: 100-continue\r\n";
    caller.send(&format!("POST /read HTTP/1.1\r\nhost: a\r\n{framing}\r\n")).await;
    let (head, _) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
    assert!(head.contains("connection: close\r\n"), "{head}");
    assert_eq!(caller.closed().await, b"");
}

#[tokio::test]
async fn a_body_within_the_limit_is_asked_for() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller
        .send("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n")
        .await;
    let (head, _) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 100 "), "{head}");
    caller.send("ab").await;
    assert_eq!(caller.answer().await.1, b"read 2");
}

#[tokio::test]
async fn a_body_that_grows_too_large_is_refused_on_the_way() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("POST /read HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..11 {
        caller.send(&format!("2710\r\n{}\r\n", "x".repeat(10_000))).await;
    }
    let (head, _) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
    assert!(head.contains("connection: close\r\n"), "{head}");
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_in_chunks_is_read() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("POST /read HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..10 {
        caller.send(&format!("2710\r\n{}\r\n", "x".repeat(10_000))).await;
    }
    caller.send("0\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"read 100000");
}

#[tokio::test]
async fn an_early_refusal_reaches_a_caller_who_sends_the_whole_body_first() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n").await;
    for _ in 0..3 {
        // By now the answer is out and our side closed: a reset would make the next write fail.
        tokio::time::sleep(Duration::from_millis(50)).await;
        caller.send(&"x".repeat(1_000_000)).await;
    }
    let (head, _) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
}

#[tokio::test]
async fn a_caller_that_does_not_read_its_answers_is_reset() {
    let front = Front::start(quick()).await;
    let began = Instant::now();
    let mut caller = front.small_caller().await;
    caller.send(&"GET /big/500000 HTTP/1.1\r\nhost: a\r\n\r\n".repeat(5)).await;
    let mut bytes = [0; 10];
    while front.counters.closed_slow_read.get() == 0 {
        assert!(began.elapsed() < Duration::from_secs(5), "never reset");
        assert_ne!(caller.stream.read(&mut bytes).await.unwrap(), 0, "closed in good order");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_took(began, 400);
    front.wait_until_open(0).await;
    // What the caller's own kernel holds comes first; it is not the whole.
    let mut received = 0;
    let error = loop {
        match caller.stream.read_buf(&mut caller.rest).await {
            Ok(0) => panic!("closed in good order"),
            Ok(count) => received += count,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(received < 500_000, "{received} bytes");
}

#[tokio::test]
async fn a_caller_that_reads_above_the_floor_gets_all_of_a_large_answer() {
    let front = Front::start(FrontSettings { idle_timeout_ms: 400, ..quick() }).await;
    let mut caller = front.small_caller().await;
    caller.send("GET /big/400000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let mut bytes = vec![0; 8_000];
    let mut total = 0;
    while total < 400_000 {
        let count = caller.stream.read(&mut bytes).await.unwrap();
        assert_ne!(count, 0, "closed after {total} bytes");
        total += count;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(front.counters.closed_slow_read.get(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_answer_that_only_the_kernel_still_holds_is_given_up_too() {
    let settings = FrontSettings { stall_timeout_ms: 600, idle_timeout_ms: 60_000, ..quick() };
    let front = Front::start(settings).await;
    let mut caller = front.small_caller().await;
    caller.send("GET /big/50000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    front.wait_until_open(1).await;
    front.wait_until_open(0).await;
    assert_eq!(front.counters.closed_slow_read.get(), 1);
}

#[tokio::test]
async fn a_panicking_handler_is_answered_500_and_the_next_request_served() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    for path in ["/panic", "/panic-later"] {
        caller.send(&format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        let (head, content) = caller.answer().await;
        assert!(head.starts_with("HTTP/1.1 500 "), "{head}");
        assert_eq!(content, b"sorry");
    }
    caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"hello");
    assert_eq!(front.counters.panics.get(), 2);
}

#[tokio::test]
async fn head_tells_the_length_that_get_would_send() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("HEAD / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    let answer = String::from_utf8(caller.closed().await).unwrap();
    assert!(answer.contains("content-length: 5\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn connections_beyond_the_cap_are_told_so_and_counted() {
    let front = Front::start(FrontSettings { connections_max: 2, ..quick() }).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut caller = front.caller().await;
        caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        caller.answer().await;
        kept.push(caller);
    }
    let refused = front.caller().await.closed().await;
    let refused = String::from_utf8(refused).unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    let (head, content) = refused.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}\r\n", content.len())), "{head}");
    assert_eq!(front.counters.refused.get(), 1);

    drop(kept.pop());
    front.wait_until_open(1).await;
    let mut caller = front.caller().await;
    caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"hello");
}

#[tokio::test]
async fn a_drain_lets_open_requests_finish_and_closes_resting_connections() {
    let front = Front::start(quick()).await;
    let mut busy = front.caller().await;
    let mut resting = front.caller().await;
    resting.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    resting.answer().await;
    busy.send("GET /wait/300 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    tokio::time::sleep(Duration::from_millis(50)).await;

    let began = Instant::now();
    front.stop.send(()).unwrap();
    assert_eq!(resting.closed().await, b"");
    assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
    assert!(TcpStream::connect(front.address).await.is_err(), "still accepting");
    let (head, content) = busy.answer().await;
    assert_eq!(content, b"late");
    assert!(head.contains("connection: close\r\n"), "{head}");
    drop(busy);
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 2, cut: 0 });
}

#[tokio::test]
async fn a_drain_does_not_wait_for_resting_callers_to_notice() {
    let front = Front::start(FrontSettings { close_timeout_ms: 1_800, ..quick() }).await;
    let mut resting = front.caller().await;
    resting.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    resting.answer().await;
    let began = Instant::now();
    front.stop.send(()).unwrap();
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 1, cut: 0 });
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert_eq!(resting.closed().await, b"");
}

#[tokio::test]
async fn a_drain_ends_at_its_limit_and_tells_what_was_cut() {
    let front = Front::start(FrontSettings { drain_timeout_ms: 300, ..quick() }).await;
    let mut busy = front.caller().await;
    busy.send("GET /wait/60000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    front.wait_until_open(1).await;
    let began = Instant::now();
    front.stop.send(()).unwrap();
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 0, cut: 1 });
    assert_took(began, 300);
    assert_eq!(busy.closed().await, b"");
}

#[tokio::test]
async fn of_a_request_with_two_framings_the_smuggled_rest_is_never_run() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller
        .send(
            "POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 42\r\n\
             transfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /big/7 HTTP/1.1\r\nhost: a\r\n\r\n",
        )
        .await;
    let answers = String::from_utf8(caller.closed().await).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
    assert!(!answers.contains("xxxxxxx"), "{answers}");
}

type Http2 = hyper::client::conn::http2::SendRequest<Empty<bytes::Bytes>>;

async fn http2(front: &Front) -> (Http2, JoinHandle<hyper::Result<()>>) {
    let stream = TcpStream::connect(front.address).await.unwrap();
    let executor = TokioExecutor::new();
    let (sender, connection) = hyper::client::conn::http2::Builder::new(executor)
        .initial_stream_window_size(10_000)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    (sender, tokio::spawn(connection))
}

fn request(front: &Front, method: Method, path: &str) -> Request<Empty<bytes::Bytes>> {
    let uri = format!("http://{}{path}", front.address);
    Request::builder().method(method).uri(uri).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn http2_with_prior_knowledge_is_served_on_the_same_port() {
    let front = Front::start(quick()).await;
    let (mut sender, _connection) = http2(&front).await;
    let response = sender.send_request(request(&front, Method::GET, "/")).await.unwrap();
    assert_eq!(response.headers()["content-length"], "5");
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello");
    let response = sender.send_request(request(&front, Method::HEAD, "/")).await.unwrap();
    assert_eq!(response.headers()["content-length"], "5");
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "");
    let response = sender.send_request(request(&front, Method::GET, "/panic")).await.unwrap();
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn a_resting_http2_connection_is_closed_after_the_idle_limit() {
    let front = Front::start(quick()).await;
    let (mut sender, connection) = http2(&front).await;
    sender.send_request(request(&front, Method::GET, "/")).await.unwrap();
    let began = Instant::now();
    let ended = tokio::time::timeout(Duration::from_secs(5), connection).await;
    ended.expect("never closed").unwrap().unwrap();
    assert_took(began, 1_500);
    assert_eq!(front.counters.closed_idle.get(), 1);
    front.wait_until_open(0).await;
}

#[tokio::test]
async fn an_http2_caller_that_keeps_its_window_shut_is_reset() {
    let front = Front::start(quick()).await;
    let (mut sender, _connection) = http2(&front).await;
    let began = Instant::now();
    let response = sender.send_request(request(&front, Method::GET, "/big/50000")).await.unwrap();
    // Whoever holds the body and does not read it never opens the window again.
    front.wait_until_open(0).await;
    assert_took(began, 400);
    assert_eq!(front.counters.closed_slow_read.get(), 1);
    assert!(response.into_body().collect().await.is_err());
}

#[tokio::test]
async fn a_drain_lets_open_http2_requests_finish() {
    let front = Front::start(quick()).await;
    let (mut sender, _connection) = http2(&front).await;
    let late = sender.send_request(request(&front, Method::GET, "/wait/300"));
    let late = tokio::spawn(late);
    tokio::time::sleep(Duration::from_millis(50)).await;
    front.stop.send(()).unwrap();
    let response = late.await.unwrap().unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "late");
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 1, cut: 0 });
}
