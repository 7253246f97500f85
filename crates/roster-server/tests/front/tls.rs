//! The server with TLS: the negotiated versions and protocols, the rejected clients, and the
//! limits, which apply as without TLS.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use roster_server::{DrainReport, LeastTls, ServerSettings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::{
    AlertDescription, Error as TlsError, HandshakeKind, ProtocolVersion,
    version::{TLS12, TLS13},
};

use crate::{
    caller::{Front, assert_took, quick},
    tls_caller::{EITHER, Secured, Tls, config},
};

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

async fn secured() -> Secured {
    Secured::start(LeastTls::V1_2, quick()).await
}

/// Reads to the end of the connection, which must be announced by `close_notify`. Without it the
/// library reports an error, because an attacker may have truncated the data.
async fn closed_in_order(stream: &mut Tls) -> Vec<u8> {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
    read.await.expect("never closed").expect("closed without a word");
    rest
}

#[tokio::test]
async fn a_client_that_offers_http1_is_served_and_the_handler_sees_tls() {
    let secured = secured().await;
    let mut caller = secured.caller().await;
    assert_eq!(caller.stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    assert_eq!(caller.stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    caller.send("GET /tls HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(caller.answer().await.1, b"tls true");
    assert_eq!(caller.answer().await.1, b"hello");
    let front = Front::start(quick()).await;
    let mut plain = front.caller().await;
    plain.send("GET /tls HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(plain.answer().await.1, b"tls false");
    assert_eq!(secured.front.counters.failed_handshakes.get(), 0);
}

#[tokio::test]
async fn alpn_with_both_protocols_selects_http2() {
    let secured = secured().await;
    let offer: &[&[u8]] = &[b"http/1.1", b"h2"];
    let stream = secured.shake_hands(&config(&secured.certificate, EITHER, offer)).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    for (path, expected) in [("/", "hello"), ("/tls", "tls true")] {
        let uri = format!("https://localhost{path}");
        let request = http::Request::builder().method(Method::GET).uri(uri);
        let request = request.body(Empty::<bytes::Bytes>::new()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), expected);
    }
    // After the idle timeout, the server closes the connection properly.
    let ended = tokio::time::timeout(Duration::from_secs(5), connection).await;
    ended.expect("never closed").unwrap().unwrap();
    assert_eq!(secured.front.counters.closed_idle.get(), 1);
}

#[tokio::test]
async fn without_alpn_only_http1_is_accepted() {
    let secured = secured().await;
    let silent = config(&secured.certificate, EITHER, &[]);
    let mut stream = secured.shake_hands(&silent).await.unwrap();
    stream.write_all(GET.as_bytes()).await.unwrap();
    let mut answer = vec![0; 1_000];
    let count = stream.read(&mut answer).await.unwrap();
    assert!(answer[..count].starts_with(b"HTTP/1.1 200 "));

    let mut stream = secured.shake_hands(&silent).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // The connection may end in any way, but without an HTTP/2 frame.
    drop(stream.read_to_end(&mut answer).await);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{answer:?}");
    assert!(!answer.starts_with(b"HTTP/1.1 200 "), "{answer:?}");

    let strange = config(&secured.certificate, EITHER, &[b"spdy/3"]);
    let error = secured.shake_hands(&strange).await.unwrap_err();
    assert_eq!(alert(&error), Some(AlertDescription::NoApplicationProtocol), "{error}");
}

/// The alert that ended a handshake.
fn alert(error: &std::io::Error) -> Option<AlertDescription> {
    let error = error.get_ref()?.downcast_ref()?;
    if let TlsError::AlertReceived(alert) = error { Some(*alert) } else { None }
}

#[tokio::test]
async fn a_tls_1_2_client_is_served_unless_the_minimum_is_1_3() {
    for (least, served) in [(LeastTls::V1_2, true), (LeastTls::V1_3, false)] {
        let secured = Secured::start(least, quick()).await;
        let old = config(&secured.certificate, &[&TLS12], &[b"http/1.1"]);
        match secured.shake_hands(&old).await {
            Ok(mut stream) => {
                assert!(served);
                stream.write_all(GET.as_bytes()).await.unwrap();
                let mut answer = [0; 12];
                stream.read_exact(&mut answer).await.unwrap();
                assert_eq!(&answer, b"HTTP/1.1 200");
            }
            Err(error) => {
                assert!(!served, "{error}");
                assert_eq!(alert(&error), Some(AlertDescription::ProtocolVersion), "{error}");
                secured.front.wait_until_open(0).await;
                assert_eq!(secured.front.counters.failed_handshakes.get(), 1);
            }
        }
        let new = config(&secured.certificate, &[&TLS13], &[b"http/1.1"]);
        assert!(secured.shake_hands(&new).await.is_ok());
    }
}

#[tokio::test]
async fn tls_sessions_are_not_resumed() {
    let secured = secured().await;
    for version in EITHER {
        let same = config(&secured.certificate, &[version], &[b"http/1.1"]);
        for _ in 0..3 {
            let mut stream = secured.shake_hands(&same).await.unwrap();
            // Tickets would arrive before the response.
            stream.write_all(GET.as_bytes()).await.unwrap();
            stream.read_exact(&mut [0; 12]).await.unwrap();
            let kind = stream.get_ref().1.handshake_kind();
            assert_eq!(kind, Some(HandshakeKind::Full), "{version:?}");
            assert_eq!(stream.get_ref().1.tls13_tickets_received(), 0);
        }
    }
}

#[tokio::test]
async fn new_connections_get_a_changed_certificate_and_open_ones_continue() {
    let secured = secured().await;
    let mut before = secured.caller().await;
    before.send(GET).await;
    assert_eq!(before.answer().await.1, b"hello");
    let renewed = secured.showing.change();

    let old_trust = config(&secured.certificate, EITHER, &[b"http/1.1"]);
    assert!(secured.shake_hands(&old_trust).await.is_err(), "the old certificate is shown");
    let new_trust = config(&renewed, EITHER, &[b"http/1.1"]);
    let stream = secured.shake_hands(&new_trust).await.unwrap();
    assert_eq!(stream.get_ref().1.peer_certificates(), Some(&[renewed][..]));
    before.send(GET).await;
    assert_eq!(before.answer().await.1, b"hello");
    // A client that does not trust the certificate sends an alert, so its handshake counts as
    // failed.
    secured.front.wait_until_open(2).await;
    assert_eq!(secured.front.counters.failed_handshakes.get(), 1);
}

#[tokio::test]
async fn plain_http_on_the_tls_port_gets_400() {
    let secured = secured().await;
    for text in [GET, "POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello"] {
        let mut caller = secured.front.caller().await;
        caller.send(text).await;
        let answer = String::from_utf8(caller.closed().await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(!answer.to_ascii_lowercase().contains("location"), "{answer}");
        let (head, content) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", content.len())), "{head}");
        assert!(content.starts_with('{') && content.ends_with('}'), "{content}");
    }
    let mut caller = secured.front.caller().await;
    caller.stream.write_all(b"\0nothing that anybody knows\r\n\r\n").await.unwrap();
    let answer = caller.closed().await;
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");
    secured.front.wait_until_open(0).await;
    assert_eq!(secured.front.counters.failed_handshakes.get(), 3);
}

#[tokio::test]
async fn a_connection_closed_without_data_is_not_a_failed_handshake() {
    let secured = secured().await;
    drop(secured.front.caller().await);
    let mut caller = secured.caller().await;
    caller.send(GET).await;
    assert_eq!(caller.answer().await.1, b"hello");
    secured.front.wait_until_open(1).await;
    assert_eq!(secured.front.counters.failed_handshakes.get(), 0);
}

#[tokio::test]
async fn a_slow_handshake_is_closed() {
    let secured = secured().await;
    // A silent client; an incomplete record; a record with a large length whose bytes arrive
    // slowly.
    for (said, trickles) in [
        (&b""[..], false),
        (b"\x16\x03\x01", false),
        (b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb", true),
    ] {
        let began = Instant::now();
        let mut caller = secured.front.caller().await;
        caller.stream.write_all(said).await.unwrap();
        while trickles && caller.stream.write_all(b"\0").await.is_ok() {
            assert!(began.elapsed() < Duration::from_secs(5), "never closed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        caller.closed().await;
        assert_took(began, 400);
    }
    assert_eq!(secured.front.counters.closed_slow_head.get(), 3);
}

#[tokio::test]
async fn a_silent_connection_after_the_handshake_is_closed_after_the_header_timeout() {
    let secured = secured().await;
    let began = Instant::now();
    let mut caller = secured.caller().await;
    assert_eq!(caller.closed().await, b"");
    assert_took(began, 400);
    assert_eq!(secured.front.counters.closed_slow_head.get(), 1);
}

#[tokio::test]
async fn silent_handshakes_count_as_connections_and_delay_no_others() {
    let settings = ServerSettings { connections_max: 20, header_timeout_ms: 3_000, ..quick() };
    let secured = Secured::start(LeastTls::V1_2, settings).await;
    let mut silent = Vec::new();
    for _ in 0..19 {
        silent.push(secured.front.caller().await);
    }
    secured.front.wait_until_open(19).await;
    let began = Instant::now();
    let mut caller = secured.caller().await;
    caller.send(GET).await;
    assert_eq!(caller.answer().await.1, b"hello");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());

    // One more connection is closed. The server sends nothing, because the client could not read it
    // before the handshake.
    let mut refused = secured.front.caller().await;
    assert_eq!(refused.closed().await, b"");
    assert_eq!(secured.front.counters.refused.get(), 1);
}

#[tokio::test]
async fn an_idle_tls_connection_is_closed_with_close_notify() {
    let secured = secured().await;
    let mut caller = secured.caller().await;
    caller.send(GET).await;
    caller.answer().await;
    let began = Instant::now();
    assert_eq!(closed_in_order(&mut caller.stream).await, b"");
    assert_took(began, 1_500);
    assert_eq!(secured.front.counters.closed_idle.get(), 1);
}

#[tokio::test]
async fn a_stalled_later_head_is_closed_before_the_idle_limit_over_tls() {
    let secured = secured().await;
    let mut caller = secured.caller().await;
    caller.send(GET).await;
    caller.answer().await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let began = Instant::now();
    caller.send("GET / HT").await;
    // The connection is closed without `close_notify`, so that the client does not take it for a
    // normal end.
    let error = caller.stream.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert_took(began, 400);
    assert_eq!(secured.front.counters.closed_slow_head.get(), 1);
}

#[tokio::test]
async fn a_trickling_body_over_tls_gets_408_and_close_notify() {
    let secured = secured().await;
    let mut caller = secured.caller().await;
    caller.send("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nx").await;
    let began = Instant::now();
    let answer = closed_in_order(&mut caller.stream).await;
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_took(began, 400);
    assert_eq!(secured.front.counters.closed_slow_body.get(), 1);
}

#[tokio::test]
async fn a_tls_client_that_does_not_read_is_reset() {
    let secured = secured().await;
    let bytes = 20_000_000;
    let request = format!("GET /big/{bytes} HTTP/1.1\r\nhost: a\r\n\r\n");
    let mut reader = secured.caller().await;
    reader.send(&request).await;
    assert_eq!(reader.answer().await.1.len(), bytes);
    drop(reader);
    secured.front.wait_until_open(0).await;

    let mut idle = secured.caller().await;
    secured.front.wait_until_open(1).await;
    idle.send(&request).await;
    let began = Instant::now();
    secured.front.wait_until_open(0).await;
    assert_took(began, 400);
    assert_eq!(secured.front.counters.closed_slow_read.get(), 1);
}

#[tokio::test]
async fn a_slowly_read_long_response_is_complete() {
    let secured = Secured::start(
        LeastTls::V1_2,
        ServerSettings { write_floor_bytes_per_s: 10_000, ..quick() },
    )
    .await;
    let mut caller = secured.caller().await;
    caller.send("GET /big/3000000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let began = Instant::now();
    let mut taken = 0;
    let mut piece = vec![0; 100_000];
    while taken < 3_000_000 {
        taken += caller.stream.read(&mut piece).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() > Duration::from_millis(600), "it was no slow reader");
    assert_eq!(secured.front.counters.closed_slow_read.get(), 0);
}

#[tokio::test]
async fn a_drain_finishes_requests_and_closes_tls_connections_with_close_notify() {
    let secured = secured().await;
    let mut busy = secured.caller().await;
    let mut resting = secured.caller().await;
    resting.send(GET).await;
    resting.answer().await;
    busy.send("GET /wait/300 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    tokio::time::sleep(Duration::from_millis(50)).await;

    let Secured { front, .. } = secured;
    front.stop.send(()).unwrap();
    assert_eq!(closed_in_order(&mut resting.stream).await, b"");
    let (head, content) = busy.answer().await;
    assert_eq!(content, b"late");
    assert!(head.contains("connection: close\r\n"), "{head}");
    assert_eq!(closed_in_order(&mut busy.stream).await, b"");
    drop((busy, resting));
    assert_eq!(front.serving.await.unwrap(), DrainReport { finished: 2, cut: 0 });
}

#[tokio::test]
async fn a_drain_does_not_wait_for_stalled_handshakes() {
    let settings =
        ServerSettings { header_timeout_ms: 20_000, drain_timeout_ms: 20_000, ..quick() };
    let secured = Secured::start(LeastTls::V1_2, settings).await;
    let mut silent = secured.front.caller().await;
    let mut half = secured.front.caller().await;
    half.stream.write_all(b"\x16\x03\x01").await.unwrap();
    let done = secured.caller().await;
    secured.front.wait_until_open(3).await;
    // Longer than the server waits for a new connection.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let began = Instant::now();
    secured.front.stop.send(()).unwrap();
    secured.front.serving.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    silent.closed().await;
    half.closed().await;
    drop(done);
}

#[tokio::test]
async fn a_client_that_half_closes_still_gets_its_response() {
    let secured = secured().await;
    let mut caller = secured.caller().await;
    caller.send("GET /wait/200 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    caller.stream.get_mut().1.send_close_notify();
    caller.stream.flush().await.unwrap();
    assert_eq!(caller.answer().await.1, b"late");
}
