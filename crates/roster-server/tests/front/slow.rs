//! Slow and silent clients, and how long the service waits for each.

use std::time::{Duration, Instant};

use roster_server::ServerSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::caller::{Front, assert_took, quick};

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
async fn a_trickling_head_is_closed_after_the_header_timeout() {
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
async fn a_later_head_that_stops_is_closed_sooner_than_an_idle_connection() {
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
async fn an_idle_connection_is_closed_after_the_idle_limit() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    let mut began = Instant::now();
    for _ in 0..2 {
        // Twice: the limit restarts with each response.
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
async fn a_slow_handler_does_not_count_as_a_slow_client() {
    let front = Front::start(ServerSettings { idle_timeout_ms: 400, ..quick() }).await;
    let mut caller = front.caller().await;
    caller.send("GET /wait/1200 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"late");
}

#[tokio::test]
async fn a_trickling_body_gets_408_and_is_closed() {
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
async fn a_body_that_starts_fast_and_stalls_gets_408() {
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
async fn a_body_above_the_minimum_rate_may_take_long() {
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
