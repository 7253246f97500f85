//! The drain: idle connections are closed, busy ones end after their response, and every request
//! that was sent in time gets a response.
//!
//! Some tests block the only thread of the runtime, so that events happen while the runtime does
//! not run.

use std::{
    thread,
    time::{Duration, Instant},
};

use roster_server::{DrainReport, ServerSettings};
use tokio::net::TcpStream;

use crate::caller::{Caller, Front, assert_took, quick};

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

/// Clients whose connections are idle after a response.
async fn resting(front: &Front, count: usize) -> Vec<Caller> {
    let mut callers = Vec::new();
    for _ in 0..count {
        let mut caller = front.caller().await;
        caller.send(GET).await;
        caller.answer().await;
        callers.push(caller);
    }
    callers
}

/// Reads the response, which must be the last one of its connection.
async fn last_answer(caller: &mut Caller) {
    let (head, content) = caller.answer().await;
    assert!(head.contains("connection: close\r\n"), "{head}");
    assert_eq!(content, b"hello");
    assert_eq!(caller.closed().await, b"");
}

#[tokio::test]
async fn a_drain_finishes_running_requests_and_closes_idle_connections() {
    let front = Front::start(quick()).await;
    let mut busy = front.caller().await;
    let mut resting = front.caller().await;
    resting.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    resting.answer().await;
    busy.send("GET /wait/1200 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    tokio::time::sleep(Duration::from_millis(50)).await;

    let began = Instant::now();
    front.stop.send(()).unwrap();
    assert_eq!(resting.closed().await, b"");
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert!(TcpStream::connect(front.address).await.is_err(), "still accepting");
    let (head, content) = busy.answer().await;
    assert_eq!(content, b"late");
    assert!(head.contains("connection: close\r\n"), "{head}");
    drop(busy);
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 2, cut: 0 });
}

#[tokio::test]
async fn a_drain_does_not_wait_for_idle_clients() {
    let front = Front::start(ServerSettings { close_timeout_ms: 1_800, ..quick() }).await;
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
async fn a_drain_ends_at_its_timeout_and_reports_aborted_requests() {
    let front = Front::start(ServerSettings { drain_timeout_ms: 300, ..quick() }).await;
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
async fn during_the_drain_delay_connections_are_accepted_and_closed_after_one_response() {
    let front = Front::start(ServerSettings { drain_delay_ms: 1_500, ..quick() }).await;
    let mut callers = resting(&front, 1).await;
    front.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    callers.push(Caller { stream: TcpStream::connect(front.address).await.unwrap(), rest: vec![] });
    for caller in &mut callers {
        caller.send(GET).await;
        last_answer(caller).await;
    }
    front.serving.await.unwrap();
    assert!(TcpStream::connect(front.address).await.is_err(), "still accepting");
}

#[tokio::test]
async fn requests_sent_before_the_drain_get_responses() {
    let front = Front::start(quick()).await;
    let mut callers = resting(&front, 40).await;
    front.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    // The drain begins while the runtime does not run, so the server sees the requests and the
    // drain at the same time.
    thread::sleep(Duration::from_millis(200));
    for caller in &mut callers {
        assert_eq!(caller.stream.try_write(GET.as_bytes()).unwrap(), GET.len());
    }
    for caller in &mut callers {
        last_answer(caller).await;
    }
    drop(callers);
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 40, cut: 0 });
}

#[tokio::test]
async fn a_new_connection_may_send_a_request_during_a_drain() {
    let front = Front::start(quick()).await;
    let _resting = resting(&front, 1).await;
    front.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut accepted =
        Caller { stream: TcpStream::connect(front.address).await.unwrap(), rest: Vec::new() };
    tokio::time::sleep(Duration::from_millis(10)).await;
    thread::sleep(Duration::from_millis(200));
    // The kernel has accepted the connection, but the server has not seen it yet.
    let waiting = std::net::TcpStream::connect(front.address).unwrap();
    waiting.set_nonblocking(true).unwrap();
    let mut waiting = Caller { stream: TcpStream::from_std(waiting).unwrap(), rest: Vec::new() };
    while TcpStream::connect(front.address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for caller in [&mut accepted, &mut waiting] {
        caller.send(GET).await;
        last_answer(caller).await;
    }
}

#[tokio::test]
async fn a_partial_head_may_be_completed_during_a_drain() {
    let front = Front::start(ServerSettings { header_timeout_ms: 1_900, ..quick() }).await;
    let mut caller = resting(&front, 1).await.remove(0);
    let (begin, end) = GET.split_at(20);
    caller.send(begin).await;
    front.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    caller.send(end).await;
    last_answer(&mut caller).await;
    drop(caller);
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 1, cut: 0 });
}
