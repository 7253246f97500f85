//! A server with a handler for tests, and a client that sends raw bytes.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{Request, StatusCode};
use roster_server::{
    BodyFault, BodySender, DrainReport, Handle, Peer, Port, ServerCounters, ServerSettings,
    StreamedBody, Upload, read_body, serve,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use tokio_rustls::rustls::ServerConfig;

pub(crate) const BODY_BYTES_MAX: usize = 100_000;

pub(crate) struct Probe;

impl Handle for Probe {
    async fn handle(&self, request: Request<Body>, peer: &Peer) -> Response {
        let path = request.uri().path().to_owned();
        if let Some(bytes) = path.strip_prefix("/big/") {
            return Response::new(Body::from(vec![b'x'; bytes.parse().unwrap()]));
        }
        if let Some(wait_ms) = path.strip_prefix("/wait/") {
            tokio::time::sleep(Duration::from_millis(wait_ms.parse().unwrap())).await;
            return Response::new(Body::from("late"));
        }
        if let Some(work) = path.strip_prefix("/stream/") {
            let (body, sender) = StreamedBody::new(peer);
            tokio::spawn(stream(work.to_owned(), sender));
            return body.into_response();
        }
        if let Some(rest_ms) = path.strip_prefix("/upload/") {
            let (body, sender) = StreamedBody::new(peer);
            let upload = Upload::new(request.into_body(), peer);
            tokio::spawn(take_in(upload, sender, rest_ms.parse().unwrap()));
            return body.into_response();
        }
        match path.as_str() {
            "/panic" => panic!("a handler fails at once"),
            "/panic-later" => {
                tokio::task::yield_now().await;
                panic!("a handler fails later")
            }
            "/read" => match read_body(request.into_body(), BODY_BYTES_MAX, peer).await {
                Ok(bytes) => Response::new(Body::from(format!("read {}", bytes.len()))),
                Err(BodyFault::NoMemory) => status(StatusCode::SERVICE_UNAVAILABLE),
                Err(BodyFault::TooLarge) => status(StatusCode::PAYLOAD_TOO_LARGE),
                Err(BodyFault::TooSlow) => status(StatusCode::REQUEST_TIMEOUT),
                Err(BodyFault::Aborted) => status(StatusCode::BAD_REQUEST),
            },
            "/tls" => Response::new(Body::from(format!("tls {}", peer.tls))),
            "/unread" => status(StatusCode::NOT_FOUND),
            _ => Response::new(Body::from("hello")),
        }
    }

    fn on_panic(&self) -> Response {
        let mut response = Response::new(Body::from("sorry"));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    }
}

/// Streams a response in the given steps, separated by commas: a number sends a chunk of that many
/// bytes, `wait` sleeps for 600 ms, and `break` ends the stream without finishing the body.
async fn stream(work: String, sender: BodySender) {
    for step in work.split(',') {
        match step {
            "wait" => tokio::time::sleep(Duration::from_millis(600)).await,
            "break" => return,
            bytes => {
                let Ok(room) = sender.room().await else { return };
                room.send(vec![b'x'; bytes.parse().unwrap()]);
            }
        }
    }
    sender.finish();
}

/// Receives a request body, and sleeps before each piece. Meanwhile it sends a response of half a
/// megabyte, which the client may not read. If the body is complete, the response ends with the
/// number of received bytes.
async fn take_in(mut upload: Upload, sender: BodySender, rest_ms: u64) {
    let answer = tokio::spawn(async move {
        for _ in 0..50 {
            let Ok(room) = sender.room().await else { return None };
            room.send(vec![b'x'; 10_000]);
        }
        Some(sender)
    });
    let mut count = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(rest_ms)).await;
        match upload.next().await {
            Ok(Some(piece)) => {
                count += piece.len();
                upload.progress(u64::try_from(piece.len()).unwrap());
            }
            Ok(None) => break,
            Err(_) => return answer.abort(),
        }
    }
    let Ok(Some(sender)) = answer.await else { return };
    let Ok(room) = sender.room().await else { return };
    room.send(format!(" took in {count}"));
    sender.finish();
}

pub(crate) fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Limits short enough for a test to wait for. Limits that the tests do not cover are long.
pub(crate) fn quick() -> ServerSettings {
    ServerSettings {
        header_timeout_ms: 400,
        idle_timeout_ms: 1_500,
        body_grace_ms: 400,
        write_grace_ms: 400,
        close_timeout_ms: 400,
        stall_timeout_ms: 60_000,
        drain_timeout_ms: 2_000,
        ..ServerSettings::default()
    }
}

pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    pub(crate) counters: Arc<ServerCounters>,
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) serving: JoinHandle<DrainReport>,
}

impl Front {
    pub(crate) async fn start(settings: ServerSettings) -> Self {
        Self::start_with(None, settings).await
    }

    pub(crate) async fn start_with(
        tls: Option<Arc<ServerConfig>>,
        settings: ServerSettings,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let counters = Arc::new(ServerCounters::default());
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { stopped.await.unwrap_or(()) };
        let port = Port { listener, tls };
        let front = serve(port, Arc::new(Probe), settings, Arc::clone(&counters), stopped);
        Self { address, counters, stop, serving: tokio::spawn(front) }
    }

    pub(crate) async fn caller(&self) -> Caller {
        Caller { stream: TcpStream::connect(self.address).await.unwrap(), rest: Vec::new() }
    }

    /// A client whose kernel buffers only little unread data.
    pub(crate) async fn small_caller(&self) -> Caller {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(8_192).unwrap();
        Caller { stream: socket.connect(self.address).await.unwrap(), rest: Vec::new() }
    }

    pub(crate) async fn wait_until_open(&self, count: u64) {
        let began = Instant::now();
        while self.counters.open.get() != count {
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", self.counters);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(crate) struct Caller<S = TcpStream> {
    pub(crate) stream: S,
    pub(crate) rest: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Caller<S> {
    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// The head of the next response and its body, by `Content-Length`.
    pub(crate) async fn answer(&mut self) -> (String, Vec<u8>) {
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

    /// The head of the next response and its chunked body, up to the last chunk.
    pub(crate) async fn chunked(&mut self) -> (String, Vec<u8>) {
        let (head, _) = self.answer().await;
        let mut content = Vec::new();
        loop {
            let line = loop {
                if let Some(at) = self.rest.windows(2).position(|bytes| bytes == b"\r\n") {
                    break self.rest.drain(..at + 2).collect::<Vec<_>>();
                }
                self.read_more().await;
            };
            let size = std::str::from_utf8(&line).unwrap().trim();
            let size = usize::from_str_radix(size, 16).unwrap();
            while self.rest.len() < size + 2 {
                self.read_more().await;
            }
            content.extend(self.rest.drain(..size));
            self.rest.drain(..2);
            if size == 0 {
                return (head, content);
            }
        }
    }

    pub(crate) async fn read_more(&mut self) {
        let count = self.stream.read_buf(&mut self.rest).await.unwrap();
        assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&self.rest));
    }

    /// Waits until the other side closes or resets the connection. Returns the bytes before that.
    pub(crate) async fn closed(&mut self) -> Vec<u8> {
        let closed = async {
            while let Ok(1..) = self.stream.read_buf(&mut self.rest).await {}
            std::mem::take(&mut self.rest)
        };
        tokio::time::timeout(Duration::from_secs(5), closed).await.expect("never closed")
    }
}

/// Asserts that an action with a limit of `limit_ms` ended neither early nor late.
pub(crate) fn assert_took(began: Instant, limit_ms: u64) {
    let took = u64::try_from(began.elapsed().as_millis()).unwrap();
    assert!(took >= limit_ms * 9 / 10, "{took} ms is before the limit of {limit_ms} ms");
    assert!(took <= limit_ms * 2 + 500, "{took} ms is long after the limit of {limit_ms} ms");
}
