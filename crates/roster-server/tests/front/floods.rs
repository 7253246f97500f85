//! Clients that send frames of HTTP/2 without end, which belong to no request.

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use roster_server::{LeastTls, ServerSettings, TOTAL_BYTES_MAX};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split},
    net::TcpStream,
};

use crate::{
    caller::{Front, quick},
    http2::{http2, request},
    tls_caller::{EITHER, Secured, config},
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const UNKNOWN: u8 = 0xf0;
const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;

/// `GET /` of the host `a`, encoded by the static table (RFC 7541 appendix A).
const GET: &[u8] = &[0x82, 0x86, 0x84, 0x41, 1, b'a'];

/// More than the service may keep for all connections.
const FLOOD_BYTES: usize = TOTAL_BYTES_MAX + 10_000_000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Frames of each kind that ask for nothing, about a megabyte of each.
fn floods() -> Vec<(&'static str, Vec<u8>)> {
    let one = [
        ("priorities", frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 16])),
        ("unknown frames", frame(UNKNOWN, 0, 0, &[])),
        ("large unknown frames", frame(UNKNOWN, 0, 0, &[b'x'; 16_384])),
        ("windows", frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ("pings", frame(PING, 0, 0, &[7; 8])),
        ("settings", frame(SETTINGS, 0, 0, &[])),
        ("repeated settings", frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 0].repeat(2_000))),
    ];
    let mut floods: Vec<_> = one
        .into_iter()
        .map(|(name, frame)| (name, frame.repeat(1_000_000 / frame.len())))
        .collect();
    let resets = (0..30_000).map(|number| 2 * number + 1).flat_map(|stream| {
        let mut both = frame(HEADERS, END_HEADERS | END_STREAM, stream, GET);
        both.extend(frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
        both
    });
    floods.push(("requests that are reset", resets.collect()));
    floods
}

/// Sends the preface, then a flood until the server closes. Reads what the server sends. Returns
/// how many bytes the client could send.
async fn flood(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, part: &[u8]) -> usize {
    let (mut reader, mut writer) = split(stream);
    let reading = tokio::spawn(async move {
        let mut read = vec![0; 65_536];
        while let Ok(1..) = reader.read(&mut read).await {}
    });
    let mut sent = 0;
    let mut start = PREFACE.to_vec();
    start.extend(frame(SETTINGS, 0, 0, &[]));
    writer.write_all(&start).await.unwrap();
    while sent < FLOOD_BYTES && writer.write_all(part).await.is_ok() {
        sent += part.len();
    }
    reading.abort();
    sent
}

/// Limits with long timeouts, because these tests are not about time.
fn patient() -> ServerSettings {
    ServerSettings { header_timeout_ms: 60_000, idle_timeout_ms: 60_000, ..quick() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_frames_ends_its_own_connection_and_no_other() {
    let front = Front::start(patient()).await;
    let mut idle = front.caller().await;
    idle.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    idle.answer().await;
    let (mut sender, _connection) = http2(&front).await;
    let mut busy = front.caller().await;
    busy.send("GET /wait/2000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let late = tokio::spawn(sender.send_request(request(&front, Method::GET, "/wait/2000")));

    let floods = floods();
    for (name, part) in &floods {
        let sent = flood(front.caller().await.stream, part).await;
        assert!(sent < FLOOD_BYTES / 3, "{sent} bytes of {name}");
    }
    assert_eq!(front.counters.memory.resets.get(), 0);
    assert_eq!(busy.answer().await.1, b"late");
    idle.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(idle.answer().await.1, b"hello");
    let late = late.await.unwrap().unwrap();
    assert_eq!(late.into_body().collect().await.unwrap().to_bytes(), "late");
    front.wait_until_open(3).await;
    // Requests that are reset end as soon as 20 of them were not accepted before.
    assert_eq!(front.counters.closed_flood.get(), u64::try_from(floods.len()).unwrap() - 1);
    assert_eq!(front.counters.memory.held(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_frames_over_tls_ends_its_own_connection_and_no_other() {
    let secured = Secured::start(LeastTls::V1_2, patient()).await;
    let mut idle = secured.caller().await;
    idle.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    idle.answer().await;
    let http2 = config(&secured.certificate, EITHER, &[b"h2"]);
    for (name, part) in floods() {
        let stream = secured.shake_hands(&http2).await.unwrap();
        let sent = flood(stream, &part).await;
        assert!(sent < FLOOD_BYTES / 3, "{sent} bytes of {name}");
    }
    assert_eq!(secured.front.counters.memory.resets.get(), 0);
    idle.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(idle.answer().await.1, b"hello");
}

#[tokio::test]
async fn an_unfinished_header_block_counts_as_memory_until_it_ends() {
    let front = Front::start(patient()).await;
    let mut stream = TcpStream::connect(front.address).await.unwrap();
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    // A field of 20,000 bytes: a literal with a new name (RFC 7541 section 6.2.2).
    let mut block = GET.to_vec();
    block.extend([0, 1, b'x', 0x7f, 0xa1, 0x9b, 1]);
    block.extend(vec![b'y'; 20_000]);
    let (first, last) = block.split_at(16_384);
    bytes.extend(frame(HEADERS, END_STREAM, 1, first));
    let last = frame(CONTINUATION, END_HEADERS, 1, last);
    bytes.extend(&last[..last.len() - 1]);
    stream.write_all(&bytes).await.unwrap();
    front.wait_until_held(|held| held == 16_384).await;
    stream.write_all(b"y").await.unwrap();
    front.wait_until_held(|held| held == 0).await;
    let mut answer = [0; 9];
    stream.read_exact(&mut answer).await.unwrap();
}

#[tokio::test]
async fn what_an_ordinary_client_sends_with_its_requests_is_not_limited() {
    let front = Front::start(patient()).await;
    let (mut reader, mut writer) = TcpStream::connect(front.address).await.unwrap().into_split();
    let reading = tokio::spawn(async move {
        let (mut read, mut count) = (vec![0; 65_536], 0);
        while let Ok(1..) = reader.read(&mut read).await {
            count += 1;
        }
        count
    });
    writer.write_all(PREFACE).await.unwrap();
    writer.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    for number in 0..5_000 {
        let stream = 2 * number + 1;
        let mut bytes = frame(UNKNOWN, 0, 0, b"\0\0\0\x01u=3,i");
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, GET));
        bytes.extend(frame(WINDOW_UPDATE, 0, stream, &[0, 1, 0, 0]));
        bytes.extend(frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 5]));
        writer.write_all(&bytes).await.unwrap();
        if number % 50 == 0 {
            // So that no more than a hundred requests are open.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    drop(writer);
    assert!(reading.await.unwrap() > 0);
    assert_eq!(front.counters.closed_flood.get(), 0);
}
