//! Responses that are generated while they are sent.

use std::time::{Duration, Instant};

use http::Method;
use http_body_util::BodyExt as _;
use roster_server::{DrainReport, ServerSettings};
use tokio::io::AsyncReadExt as _;

use crate::{
    caller::{Caller, Front, assert_took, quick},
    http2::{http2, request},
};

async fn ask(caller: &mut Caller, method: &str, path: &str) {
    caller.send(&format!("{method} {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
}

#[tokio::test]
async fn chunks_arrive_in_order_and_the_connection_stays_open() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    for _ in 0..2 {
        ask(&mut caller, "GET", "/stream/5,70000,0,3").await;
        let (head, content) = caller.chunked().await;
        assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
        assert_eq!(content.len(), 70_008);
    }
    ask(&mut caller, "HEAD", "/stream/5").await;
    let (head, _) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    ask(&mut caller, "GET", "/").await;
    assert_eq!(caller.answer().await.1, b"hello");
}

#[tokio::test]
async fn a_response_whose_producer_is_dropped_is_aborted_after_its_chunks() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    ask(&mut caller, "GET", "/stream/5,7,break").await;
    let answer = String::from_utf8(caller.closed().await).unwrap();
    assert!(answer.ends_with("5\r\nxxxxx\r\n7\r\nxxxxxxx\r\n"), "{answer}");

    let (mut sender, _connection) = http2(&front).await;
    let path = "/stream/5,7,break";
    let response = sender.send_request(request(&front, Method::GET, path)).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
}

/// Its only end is that of the connection, so a client would take a part for the whole.
#[tokio::test]
async fn over_http_1_0_a_response_that_is_cut_ends_with_a_reset() {
    let front = Front::start(ServerSettings { drain_timeout_ms: 900, ..quick() }).await;
    let ask = async |path: &str| {
        let mut caller = front.caller().await;
        caller.send(&format!("GET {path} HTTP/1.0\r\nhost: a\r\n\r\n")).await;
        caller
    };
    let read = async |mut caller: Caller| {
        let mut bytes = Vec::new();
        caller.stream.read_to_end(&mut bytes).await.map(|_| bytes).map_err(|error| error.kind())
    };
    let whole = read(ask("/stream/5,wait,7").await).await.unwrap();
    assert!(whole.ends_with(b"\r\n\r\nxxxxxxxxxxxx"), "{whole:?}");
    let reset = Err(std::io::ErrorKind::ConnectionReset);
    assert_eq!(read(ask("/stream/5,wait,break").await).await, reset);
    let late = ask("/stream/9,wait,wait,wait").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    front.stop.send(()).unwrap();
    assert_eq!(read(late).await, reset);
}

#[tokio::test]
async fn a_slow_producer_does_not_count_as_a_slow_client() {
    let front = Front::start(ServerSettings { idle_timeout_ms: 400, ..quick() }).await;
    let mut caller = front.caller().await;
    ask(&mut caller, "GET", "/stream/9,wait,wait,7").await;
    assert_eq!(caller.chunked().await.1.len(), 16);

    let (mut sender, _connection) = http2(&front).await;
    let path = "/stream/9,wait,wait,7";
    let response = sender.send_request(request(&front, Method::GET, path)).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), 16);
    assert_eq!(front.counters.closed_slow_read.get(), 0);
}

#[tokio::test]
async fn a_client_that_stops_reading_a_stream_is_reset() {
    let front = Front::start(quick()).await;
    let chunks = vec!["50000"; 20].join(",");
    let mut caller = front.small_caller().await;
    ask(&mut caller, "GET", &format!("/stream/{chunks}")).await;
    let mut bytes = [0; 10];
    caller.stream.read_exact(&mut bytes).await.unwrap();
    let began = Instant::now();
    front.wait_until_open(0).await;
    assert_took(began, 350);
    assert_eq!(front.counters.closed_slow_read.get(), 1);
}

#[tokio::test]
async fn an_http2_client_that_stops_reading_a_stream_is_reset() {
    let front = Front::start(quick()).await;
    let (mut sender, _connection) = http2(&front).await;
    let path = "/stream/3,wait,wait,50000,50000";
    let began = Instant::now();
    let response = sender.send_request(request(&front, Method::GET, path)).await.unwrap();
    front.wait_until_open(0).await;
    // The stream itself sleeps for 1,200 ms, which does not count against the client.
    assert_took(began, 1_600);
    assert_eq!(front.counters.closed_slow_read.get(), 1);
    assert!(response.into_body().collect().await.is_err());
}

#[tokio::test]
async fn a_drain_lets_a_stream_finish_and_aborts_it_at_the_timeout() {
    let front = Front::start(ServerSettings { drain_timeout_ms: 900, ..quick() }).await;
    let mut soon = front.caller().await;
    let mut late = front.caller().await;
    ask(&mut soon, "GET", "/stream/9,wait,7").await;
    ask(&mut late, "GET", "/stream/9,wait,wait,7").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    front.stop.send(()).unwrap();
    assert_eq!(soon.chunked().await.1.len(), 16);
    drop(soon);
    let answer = String::from_utf8(late.closed().await).unwrap();
    assert!(answer.ends_with("\r\n9\r\nxxxxxxxxx\r\n"), "{answer}");
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 1, cut: 1 });
}
