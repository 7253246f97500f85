//! Request bodies that are too large, and callers that do not read their responses.

use std::time::{Duration, Instant};

use roster_server::ServerSettings;
use tokio::io::AsyncReadExt as _;

use crate::caller::{Front, assert_took, quick};

#[tokio::test]
async fn a_too_large_content_length_is_rejected_without_100_continue() {
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
async fn a_body_within_the_limit_gets_100_continue() {
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
async fn a_chunked_body_that_exceeds_the_limit_is_rejected() {
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
async fn an_early_rejection_reaches_a_client_that_sends_the_whole_body_first() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n").await;
    for _ in 0..3 {
        // The response is sent and the server's side is closed. A reset would make the next write
        // fail.
        tokio::time::sleep(Duration::from_millis(50)).await;
        caller.send(&"x".repeat(1_000_000)).await;
    }
    let (head, _) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
}

#[tokio::test]
async fn a_response_before_the_end_of_a_large_body_says_that_the_connection_closes() {
    let front = Front::start(quick()).await;
    for length in ["content-length: 3000000\r\n\r\n", "transfer-encoding: chunked\r\n\r\n400\r\nx"]
    {
        for method in ["POST", "GET", "DELETE"] {
            let mut caller = front.caller().await;
            caller.send(&format!("{method} /unread HTTP/1.1\r\nhost: a\r\n{length}")).await;
            let (head, _) = caller.answer().await;
            assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
            assert!(head.contains("\r\nconnection: close\r\n"), "{method} {length}: {head}");
            caller.closed().await;
        }
    }
    let mut caller = front.caller().await;
    let expect = "expect: 100-continue\r\ncontent-length: 10\r\n\r\n";
    caller.send(&format!("POST /unread HTTP/1.1\r\nhost: a\r\n{expect}")).await;
    let (head, _) = caller.answer().await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
}

#[tokio::test]
async fn a_small_body_that_is_not_read_leaves_the_connection_open() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    for body in [
        "content-length: 5\r\n\r\nhello",
        "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        caller.send(&format!("POST /unread HTTP/1.1\r\nhost: a\r\n{body}")).await;
        let (head, _) = caller.answer().await;
        assert!(!head.contains("connection: close"), "{head}");
    }
    caller.send("POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n").await;
    caller.send(&"x".repeat(60_000)).await;
    let (head, _) = caller.answer().await;
    assert!(!head.contains("connection: close"), "{head}");
    caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"hello");
}

#[tokio::test]
async fn a_client_that_does_not_read_responses_is_reset() {
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
    // The bytes in the caller's kernel arrive first. They are not the whole response.
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
async fn a_client_that_reads_above_the_minimum_rate_gets_a_whole_large_response() {
    let front = Front::start(ServerSettings { idle_timeout_ms: 400, ..quick() }).await;
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
async fn an_unread_response_in_the_kernel_buffer_is_aborted() {
    let settings = ServerSettings { stall_timeout_ms: 600, idle_timeout_ms: 60_000, ..quick() };
    let front = Front::start(settings).await;
    let mut caller = front.small_caller().await;
    caller.send("GET /big/50000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    front.wait_until_open(1).await;
    front.wait_until_open(0).await;
    assert_eq!(front.counters.closed_slow_read.get(), 1);
}
