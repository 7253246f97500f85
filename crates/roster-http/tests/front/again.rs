//! Requests that were refused and come again: known by their bytes, and only then.

use std::time::Duration;

use roster_http::front::FrontSettings;

use crate::caller::{Caller, Front, quick};

const REFUSED: &str = "GET /refused/1 HTTP/1.1\r\nhost: a\r\n\r\n";

async fn ask(caller: &mut Caller, request: &str) -> String {
    caller.send(request).await;
    String::from_utf8(caller.answer().await.1).unwrap()
}

#[tokio::test]
async fn what_was_refused_and_comes_again_is_refused_again() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    assert_eq!(ask(&mut caller, REFUSED).await, "refused");
    for _ in 0..100 {
        assert_eq!(ask(&mut caller, REFUSED).await, "again");
    }
    assert_eq!(ask(&mut caller, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await, "hello");
    assert_eq!(ask(&mut caller, REFUSED).await, "refused");
    assert_eq!(ask(&mut caller, REFUSED).await, "again");
}

#[tokio::test]
async fn a_connection_that_is_refused_again_and_again_does_not_rest() {
    let front = Front::start(FrontSettings { idle_timeout_ms: 600, ..quick() }).await;
    let mut caller = front.caller().await;
    for n in 0..12 {
        let expected = if n == 0 { "refused" } else { "again" };
        assert_eq!(ask(&mut caller, REFUSED).await, expected);
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    assert_eq!(front.counters.closed_idle.get(), 0);
}

#[tokio::test]
async fn what_would_be_handled_now_is_handled() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    for _ in 0..3 {
        let request = "GET /refused/2 HTTP/1.1\r\nhost: a\r\n\r\n";
        assert_eq!(ask(&mut caller, request).await, "refused");
    }
}

#[tokio::test]
async fn what_is_not_the_same_to_the_byte_is_parsed() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    for request in [
        REFUSED,
        "GET /refused/1 HTTP/1.1\r\nhost: b\r\n\r\n",
        "GET /refused/1 HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET /refused/1 HTTP/1.1\r\nhost: b\r\nx: y\r\n\r\n",
        "GET /refused/3 HTTP/1.1\r\nhost: b\r\n\r\n",
    ] {
        assert_eq!(ask(&mut caller, request).await, "refused", "{request:?}");
    }
}

#[tokio::test]
async fn other_methods_and_bodies_are_parsed() {
    let front = Front::start(quick()).await;
    for request in [
        "HEAD /refused/1 HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST /refused/1 HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /refused/1 HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n\r\n\r\n",
    ] {
        for _ in 0..3 {
            let mut caller = front.caller().await;
            caller.send(request).await;
            caller.read_more().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let before = String::from_utf8_lossy(&caller.rest).into_owned();
            caller.rest.clear();
            caller.send(request).await;
            if !before.contains("connection: close") {
                caller.read_more().await;
            }
            let after = String::from_utf8_lossy(&caller.rest).into_owned();
            assert!(!after.contains("again"), "{request:?}: {after}");
        }
    }
}

#[tokio::test]
async fn two_requests_in_one_piece_are_two() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    let both = REFUSED.repeat(2);
    for _ in 0..3 {
        caller.send(&both).await;
        assert_eq!(caller.answer().await.1, b"refused");
        assert_eq!(caller.answer().await.1, b"refused");
    }
}

/// The end of a head that comes by itself is no request, though its bytes look like one.
#[tokio::test]
async fn the_end_of_another_request_is_not_taken_for_one() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    for _ in 0..3 {
        caller.send("GET /refused/1 HTTP/1.1\r\nhost: a\r\nx: ").await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(ask(&mut caller, REFUSED).await, "refused");
        // A whole request, equal to that end.
        assert_eq!(ask(&mut caller, REFUSED).await, "refused");
        caller.send("GET / HTTP/1.1\r\nx: ").await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(ask(&mut caller, "y\r\nhost: a\r\n\r\n").await, "hello");
    }
    // The end of a head, equal to what was refused, belongs to what came before.
    assert_eq!(ask(&mut caller, REFUSED).await, "refused");
    caller.send("GET / HTTP/1.1\r\nhost: a\r\nx: ").await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(ask(&mut caller, REFUSED).await, "hello");
}

#[tokio::test]
async fn a_drain_ends_it() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    assert_eq!(ask(&mut caller, REFUSED).await, "refused");
    assert_eq!(ask(&mut caller, REFUSED).await, "again");
    front.stop.send(()).unwrap();
    assert_eq!(front.serving.await.unwrap().cut, 0);
    assert_eq!(caller.closed().await, b"");
}
