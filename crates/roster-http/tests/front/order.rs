//! Order kept whatever happens: panics, the cap, the drain, smuggled requests.

use std::time::{Duration, Instant};

use roster_http::front::{DrainReport, FrontSettings};
use tokio::net::TcpStream;

use crate::caller::{Front, assert_took, quick};

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
