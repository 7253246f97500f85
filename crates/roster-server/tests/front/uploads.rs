//! Request bodies that are received while their responses are sent.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use roster_server::ServerSettings;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::sleep};

use crate::caller::{Caller, Front, assert_took, quick};

async fn announce(caller: &mut Caller, path: &str, framing: &str) {
    caller.send(&format!("POST {path} HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n")).await;
}

/// Sends 40 times 20,000 bytes in two seconds, reading nothing.
async fn send_all(caller: &mut Caller) {
    for _ in 0..40 {
        caller.stream.write_all(&vec![b'x'; 20_000]).await.unwrap();
        sleep(Duration::from_millis(50)).await;
    }
}

/// Limits that such a client would exceed if it had to read meanwhile.
fn strict() -> ServerSettings {
    ServerSettings { stall_timeout_ms: 600, idle_timeout_ms: 60_000, ..quick() }
}

#[tokio::test]
async fn a_client_that_reads_only_after_sending_gets_its_response() {
    for framing in ["content-length: 800000", "transfer-encoding: chunked"] {
        let front = Front::start(strict()).await;
        let mut caller = front.small_caller().await;
        announce(&mut caller, "/upload/0", framing).await;
        if framing.ends_with("chunked") {
            caller.send("c3500\r\n").await;
            send_all(&mut caller).await;
            caller.send("\r\n0\r\n\r\n").await;
        } else {
            send_all(&mut caller).await;
        }
        let (_, content) = caller.chunked().await;
        assert_eq!(content.len(), 500_000 + " took in 800000".len(), "{framing}");
        assert!(content.ends_with(b" took in 800000"), "{framing}");
        caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert_eq!(caller.answer().await.1, b"hello", "{framing}");
        assert_eq!(front.counters.closed_slow_read.get(), 0);
    }
}

#[tokio::test]
async fn a_client_that_never_reads_is_disconnected() {
    let front = Front::start(strict()).await;
    let mut caller = front.small_caller().await;
    announce(&mut caller, "/upload/0", "content-length: 800000").await;
    send_all(&mut caller).await;
    let began = Instant::now();
    front.wait_until_open(0).await;
    // 50 ms of the limit have already passed.
    assert_took(began, 350);
    assert_eq!(front.counters.closed_slow_read.get(), 1);
}

#[tokio::test]
async fn a_stalled_body_aborts_its_response() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    announce(&mut caller, "/upload/0", "content-length: 1000").await;
    let began = Instant::now();
    caller.send("some").await;
    let answer = caller.closed().await;
    assert_took(began, 400);
    assert!(!answer.ends_with(b"0\r\n\r\n"));
    front.wait_until_open(0).await;
    assert_eq!(front.counters.closed_slow_body.get(), 1);
}

#[tokio::test]
async fn a_body_below_the_minimum_rate_is_aborted() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    announce(&mut caller, "/upload/0", "content-length: 100000").await;
    let began = Instant::now();
    while caller.stream.write_all(b"x").await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(5), "never closed");
        sleep(Duration::from_millis(20)).await;
    }
    assert_took(began, 400);
}

#[tokio::test]
async fn processing_time_does_not_count_against_the_client() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    announce(&mut caller, "/upload/700", "transfer-encoding: chunked").await;
    caller.send("5\r\nabcde\r\n").await;
    // The body is read after 700 ms. The next piece is read after 1,400 ms and arrives 200 ms
    // later.
    sleep(Duration::from_millis(1_600)).await;
    caller.send("5\r\nabcde\r\n0\r\n\r\n").await;
    let (_, content) = caller.chunked().await;
    assert!(content.ends_with(b" took in 10"));
}

#[tokio::test]
async fn an_incomplete_body_aborts_its_response() {
    let front = Front::start(quick()).await;
    for (framing, end) in [("content-length: 9", "abc"), ("transfer-encoding: chunked", "5\r\nxy")]
    {
        let mut caller = front.caller().await;
        announce(&mut caller, "/upload/0", framing).await;
        caller.send(end).await;
        caller.stream.shutdown().await.unwrap();
        let answer = caller.closed().await;
        assert!(!answer.ends_with(b"0\r\n\r\n"), "{framing}");
    }
    front.wait_until_open(0).await;
}

#[tokio::test]
async fn over_http2_a_response_streams_while_the_body_is_sent() {
    let front = Front::start(quick()).await;
    let stream = TcpStream::connect(front.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    for _ in 0..2 {
        let body = Full::new(Bytes::from(vec![b'x'; 3_000_000]));
        let uri = format!("http://{}/upload/0", front.address);
        let response = sender.send_request(Request::post(uri).body(body).unwrap()).await.unwrap();
        let content = response.into_body().collect().await.unwrap().to_bytes();
        assert!(content.ends_with(b" took in 3000000"));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_pause_within_a_body_does_not_trigger_the_tcp_user_timeout() {
    let front = Front::start(ServerSettings { body_grace_ms: 5_000, ..strict() }).await;
    let mut caller = front.small_caller().await;
    announce(&mut caller, "/upload/0", "content-length: 40000").await;
    caller.stream.write_all(&vec![b'x'; 20_000]).await.unwrap();
    sleep(Duration::from_millis(2_500)).await;
    caller.stream.write_all(&vec![b'x'; 20_000]).await.unwrap();
    let (_, content) = caller.chunked().await;
    assert!(content.ends_with(b" took in 40000"));
}
