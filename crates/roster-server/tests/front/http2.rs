//! HTTP/2 with prior knowledge, on the same port.

use std::time::{Duration, Instant};

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use roster_server::DrainReport;
use tokio::{net::TcpStream, task::JoinHandle};

use crate::caller::{Front, assert_took, quick};

pub(crate) type Http2 = hyper::client::conn::http2::SendRequest<Empty<bytes::Bytes>>;

pub(crate) async fn http2(front: &Front) -> (Http2, JoinHandle<hyper::Result<()>>) {
    let stream = TcpStream::connect(front.address).await.unwrap();
    http2_over(stream).await
}

pub(crate) async fn http2_over(stream: TcpStream) -> (Http2, JoinHandle<hyper::Result<()>>) {
    let executor = TokioExecutor::new();
    let (sender, connection) = hyper::client::conn::http2::Builder::new(executor)
        .initial_stream_window_size(10_000)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    (sender, tokio::spawn(connection))
}

pub(crate) fn request(front: &Front, method: Method, path: &str) -> Request<Empty<bytes::Bytes>> {
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
async fn an_idle_http2_connection_is_closed_after_the_idle_limit() {
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
async fn an_http2_client_that_keeps_its_window_closed_is_reset() {
    let front = Front::start(quick()).await;
    let (mut sender, _connection) = http2(&front).await;
    let began = Instant::now();
    let response = sender.send_request(request(&front, Method::GET, "/big/50000")).await.unwrap();
    // The client keeps the body and does not read it, so it never opens the window again.
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
