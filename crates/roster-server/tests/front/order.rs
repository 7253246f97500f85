//! Responses stay in order after panics, at the limit of connections and with smuggled requests.

use roster_server::ServerSettings;

use crate::caller::{Front, quick};

#[tokio::test]
async fn a_panicking_handler_returns_500_and_the_connection_stays_open() {
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
async fn head_returns_the_content_length_of_get() {
    let front = Front::start(quick()).await;
    let mut caller = front.caller().await;
    caller.send("HEAD / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    let answer = String::from_utf8(caller.closed().await).unwrap();
    assert!(answer.contains("content-length: 5\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn connections_beyond_the_limit_get_503_and_are_counted() {
    let front = Front::start(ServerSettings { connections_max: 2, ..quick() }).await;
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
async fn connections_beyond_the_limit_of_their_address_get_503_and_are_counted() {
    let settings =
        ServerSettings { connections_per_address_max: 2, caps_loopback: true, ..quick() };
    let front = Front::start(settings).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut caller = front.caller().await;
        caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        caller.answer().await;
        kept.push(caller);
    }
    let refused = front.caller().await.closed().await;
    assert!(refused.starts_with(b"HTTP/1.1 503 "));
    assert_eq!((front.counters.refused_of_address.get(), front.counters.refused.get()), (1, 0));

    drop(kept.pop());
    front.wait_until_open(1).await;
    let mut caller = front.caller().await;
    caller.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"hello");
}

#[tokio::test]
async fn a_smuggled_request_after_conflicting_framing_is_never_executed() {
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
