//! HTTP/2 with prior knowledge: the guards also apply there.
//!
//! Frames are written and parsed by hand, so that a test can send frames that no client library
//! would send. Fields are sent as literals without a table (RFC 7541 section 6.2.2).

use crate::{
    client::{Client, Ended},
    row::send,
    subject::Subject,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PROTOCOL_ERROR: u32 = 1;

/// One row: the fields of a request, its body, and the expected result.
pub(crate) struct Http2Row {
    pub(crate) name: &'static str,
    why: &'static str,
    fields: Vec<(&'static str, &'static str)>,
    content: &'static str,
    outcome: Outcome,
}

enum Outcome {
    /// A response with this status, whose body contains this text.
    Answer(u16, &'static str),
    /// The stream is reset with this code (RFC 9113 section 7).
    Reset(u32),
    /// The connection is closed with this code.
    GoAway(u32),
}

/// Every row for HTTP/2.
pub(crate) fn rows() -> Vec<Http2Row> {
    let row = |name, why, fields: &[(&'static str, &'static str)], outcome| Http2Row {
        name,
        why,
        fields: fields.to_vec(),
        content: "",
        outcome,
    };
    let get = |path, authority| {
        [(":method", "GET"), (":scheme", "http"), (":path", path), (":authority", authority)]
    };
    let with = |field| [get("/users/<id>", "<host>").as_slice(), &[field]].concat();
    let problem = |status, code| Outcome::Answer(status, code);
    let malformed = "RFC 9113 section 8.1.1: a malformed request is a stream error";
    let given_up = "RFC 9113 section 5.4.1: a stream error may be one of the connection, and h2 \
                    makes it one for a field that it cannot read";
    let post = |content_type| {
        vec![
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/users"),
            (":authority", "<host>"),
            ("content-type", content_type),
        ]
    };
    let user = "{\"username\":\"over-http2-<n>\"}";
    let writes = |name, why, content_type, outcome| Http2Row {
        name,
        why,
        fields: post(content_type),
        content: user,
        outcome,
    };
    vec![
        row(
            "h2: a read",
            "RFC 9113 section 8.3.1",
            &get("/users/<id>", "<host>"),
            Outcome::Answer(200, "Ada Lovelace"),
        ),
        writes(
            "h2: a write",
            "RFC 9113 section 8.1",
            "application/json",
            Outcome::Answer(201, "over-http2-"),
        ),
        writes(
            "h2: a write of another type",
            "RFC 9110 section 15.5.16",
            "text/plain",
            problem(415, "unsupported-media-type"),
        ),
        row(
            "h2: a foreign authority",
            "RFC 9110 section 7.4",
            &get("/users/<id>", "evil.example"),
            problem(421, "misdirected-request"),
        ),
        row(
            "h2: an authority with a user name",
            "RFC 9113 section 8.3.1: it must not have one",
            &get("/users/<id>", "a@<host>"),
            problem(400, "invalid-request"),
        ),
        row(
            "h2: no authority and no host",
            "RFC 9110 section 7.2: the request names nobody",
            &get("/users/<id>", "")[..3],
            problem(400, "invalid-request"),
        ),
        row(
            "h2: host in place of the authority",
            "RFC 9113 section 8.3.1: as a proxy of HTTP/1.1 sends it",
            &[&get("/users/<id>", "")[..3], &[("host", "<host>")]].concat(),
            Outcome::Answer(200, "Ada Lovelace"),
        ),
        row(
            "h2: a foreign host in place of the authority",
            "RFC 9110 section 7.4",
            &[&get("/users/<id>", "")[..3], &[("host", "evil.example")]].concat(),
            problem(421, "misdirected-request"),
        ),
        row(
            "h2: a foreign host beside the authority",
            "RFC 9113 section 8.3.1: they must not differ",
            &with(("host", "evil.example")),
            problem(421, "misdirected-request"),
        ),
        row(
            "h2: no such path",
            "RFC 9110 section 15.5.5",
            &get("/nowhere", "<host>"),
            problem(404, "not-found"),
        ),
        row(
            "h2: a foreign origin",
            "RFC 6454 section 7",
            &with(("origin", "null")),
            problem(403, "foreign-origin"),
        ),
        row(
            "h2: a proxy",
            "RFC 7239",
            &with(("x-forwarded-for", "10.0.0.1")),
            problem(403, "forwarded-request"),
        ),
        row(
            "h2: another expectation",
            "RFC 9110 section 10.1.1",
            &with(("expect", "zork")),
            problem(417, "expectation-failed"),
        ),
        row(
            "h2: an unknown method",
            "RFC 9110 section 15.6.2",
            &[
                (":method", "BREW"),
                (":scheme", "http"),
                (":path", "/users"),
                (":authority", "<host>"),
            ],
            problem(501, "method-not-implemented"),
        ),
        row(
            "h2: https without TLS",
            "RFC 9110 section 7.4",
            &[
                (":method", "GET"),
                (":scheme", "https"),
                (":path", "/users"),
                (":authority", "<host>"),
            ],
            problem(421, "misdirected-request"),
        ),
        row(
            "h2: a field of the connection",
            malformed,
            &with(("connection", "close")),
            Outcome::Reset(PROTOCOL_ERROR),
        ),
        row(
            "h2: a transfer coding",
            malformed,
            &with(("transfer-encoding", "chunked")),
            Outcome::Reset(PROTOCOL_ERROR),
        ),
        row(
            "h2: a name in capitals",
            given_up,
            &with(("X-Zork", "1")),
            Outcome::GoAway(PROTOCOL_ERROR),
        ),
        row(
            "h2: no path",
            malformed,
            &[(":method", "GET"), (":scheme", "http"), (":authority", "<host>")],
            Outcome::Reset(PROTOCOL_ERROR),
        ),
        row(
            "h2: a line break in a value",
            given_up,
            &with(("x-zork", "a\r\nb: c")),
            Outcome::GoAway(PROTOCOL_ERROR),
        ),
    ]
}

/// Runs every row, and fails with all differences.
pub(crate) fn hold(subject: &Subject, rows: &[Http2Row]) {
    let mut report = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let words = subject.words(10_000 + number);
        let fill = |text: &str| words.fill(text.as_bytes());
        let fields = row.fields.iter().map(|(name, value)| (fill(name), fill(value)));
        let block = block(fields);
        let content = fill(row.content);
        let last = if content.is_empty() { END_STREAM } else { 0 };
        let mut sent = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        sent.extend(frame(HEADERS, END_HEADERS | last, 1, &block));
        if !content.is_empty() {
            sent.extend(frame(DATA, END_STREAM, 1, &content));
        }
        let mut client = Client::connect(subject.address);
        client.send(&sent);
        let got = exchange(&mut client);
        let kept = match (&row.outcome, &got) {
            (Outcome::Answer(status, says), Ok((got, content))) => {
                status == got && content.contains(says)
            }
            (Outcome::Reset(code), Err(Failed::Stream(got)))
            | (Outcome::GoAway(code), Err(Failed::Connection(got))) => code == got,
            _ => false,
        };
        if !kept {
            report.push(format!("{} ({})\n    got {got:?}", row.name, row.why));
        }
    }
    let failed = report.len();
    assert!(failed == 0, "{failed} of {} rows fail:\n{}", rows.len(), report.join("\n"));
}

/// Requests of a client that reads nothing are rejected once its responses use the maximum memory
/// of a connection. Health and other connections are still served.
pub(crate) fn hold_share(subject: &Subject) {
    const INITIAL_WINDOW_OF_NOTHING: [u8; 6] = [0, 4, 0, 0, 0, 0];
    let words = subject.words(20_000);
    let mut client = Client::connect(subject.address);
    client.send(&[PREFACE, &frame(SETTINGS, 0, 0, &INITIAL_WINDOW_OF_NOTHING)].concat());
    let mut get = |stream: u32, path: &str| {
        let fields = [(":method", "GET"), (":scheme", "http"), (":path", path)];
        let fields = fields.iter().chain(&[(":authority", "<host>")]);
        let fill = |text: &str| words.fill(text.as_bytes());
        let block = block(fields.map(|(name, value)| (fill(name), fill(value))));
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block));
        loop {
            let head = client.take(9).unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let payload = client.take(usize::try_from(length).unwrap()).unwrap();
            if head[3] == HEADERS {
                return status_of(&payload);
            }
        }
    };
    let statuses: Vec<u16> =
        (0..100).map(|n| get(2 * n + 1, "/docs")).take_while(|it| *it == 200).collect();
    assert!(statuses.len() < 98, "never refused");
    assert!(statuses.len() > 20, "refused after {}", statuses.len());
    assert_eq!(get(201, "/livez"), 200);
    let mut other = Client::connect(subject.address);
    other.send(&words.fill(&send("GET", "/users/<id>", "", b"")));
    assert_eq!(other.answer(false).unwrap().status, 200);
}

/// Fields as literals without a table.
fn block(fields: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("short enough for one byte"));
            block.extend_from_slice(&text);
        }
    }
    block
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// Why there was no response. The fields are only printed.
#[derive(Debug)]
enum Failed {
    Stream(u32),
    Connection(u32),
    #[expect(dead_code, reason = "it is printed where a row fails")]
    Ended(Ended),
}

/// The status and the body of the response on stream 1.
fn exchange(client: &mut Client) -> Result<(u16, String), Failed> {
    let (mut status, mut content) = (0, Vec::new());
    loop {
        let head = client.take(9).map_err(Failed::Ended)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let payload = client.take(usize::try_from(length).unwrap()).map_err(Failed::Ended)?;
        let code = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
        match head[3] {
            RST_STREAM => return Err(Failed::Stream(code(0))),
            GOAWAY if code(4) != 0 => return Err(Failed::Connection(code(4))),
            HEADERS => status = status_of(&payload),
            DATA => content.extend_from_slice(&payload),
            _ => {}
        }
        if matches!(head[3], HEADERS | DATA) && head[4] & END_STREAM != 0 {
            return Ok((status, String::from_utf8_lossy(&content).into_owned()));
        }
    }
}

/// The status at the start of a header block: an entry of the static table, or a literal with plain
/// or Huffman-coded digits (RFC 7541 appendices A and B).
fn status_of(block: &[u8]) -> u16 {
    let in_table = [200, 204, 206, 304, 400, 404, 500];
    let first = block[0];
    if first & 0x80 != 0 {
        return in_table[usize::from(first & 0x7f) - 8];
    }
    let length = usize::from(block[1] & 0x7f);
    let value = &block[2..2 + length];
    if block[1] & 0x80 == 0 {
        return std::str::from_utf8(value).unwrap().parse().unwrap();
    }
    let bits = value.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    let mut left = 8 * u32::try_from(length).unwrap();
    let mut status = 0;
    for _ in 0..3 {
        let five = bits >> (left - 5) & 0x1f;
        // 0, 1 and 2 have five bits; 3 to 9 have six, from 0x19 on.
        let digit = if five < 3 {
            left -= 5;
            five
        } else {
            left -= 6;
            (bits >> left & 0x3f) - 0x19 + 3
        };
        status = status * 10 + u16::try_from(digit).unwrap();
    }
    status
}
