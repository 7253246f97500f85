//! Sizes of targets, heads and bodies.

use crate::row::{JSON, Row, ask, bytes, get, ours, parser, post, post_chunks, problem, row};

const TARGET: &str = "RFC 9110 section 15.5.15: 414";
const HEAD: &str = "RFC 6585 section 5: 431, and the connection closes";
const CONTENT: &str = "RFC 9110 section 15.5.14: 413, and the connection closes";

/// The largest accepted target, and the largest accepted body.
const TARGET_BYTES: usize = 16 * 1024;
const CONTENT_BYTES: usize = 1024 * 1024;

fn padded(number: u8, length: usize) -> Vec<u8> {
    let user = format!("{{\"username\":\"padded-{number}\"}}");
    let spaces = " ".repeat(length - user.len());
    (user + &spaces).into_bytes()
}

pub(super) fn rows() -> Vec<Row> {
    let target = |length: usize| format!("/users/{}", "x".repeat(length - "/users/".len()));
    let fields = |count: usize| {
        (0..count).map(|number| format!("X-{number}: a\r\n")).collect::<Vec<_>>().concat()
    };
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
    let announced =
        |length: usize| ask("POST", "/users", &format!("{JSON}Content-Length: {length}\r\n"));
    let too_large = || problem(413, "body-too-large").with("connection", "close");
    let chunks = |count: usize, last: &str| post_chunks("", &(chunk.repeat(count) + last));
    let end = "0\r\n\r\n";
    let user = "19\r\n{\"username\":\"in-pieces\"} \r\n0\r\n\r\n";
    vec![
        row(
            "target: the largest",
            "16 KiB are taken; there is no such user",
            get(&target(TARGET_BYTES), ""),
            problem(404, "user-not-found"),
        ),
        row(
            "target: one byte more",
            TARGET,
            get(&target(TARGET_BYTES + 1), ""),
            problem(414, "uri-too-long"),
        ),
        row(
            "target: too long by its query",
            TARGET,
            get(&format!("/users?username={}", "x".repeat(TARGET_BYTES)), ""),
            problem(414, "uri-too-long"),
        ),
        row(
            "target: too long in absolute form",
            TARGET,
            get(&format!("http://<host>{}", target(TARGET_BYTES + 1)), ""),
            problem(414, "uri-too-long"),
        ),
        row("target: too long for hyper", TARGET, get(&target(70_000), ""), parser(414)).closes(),
        row(
            "target: longer than a head may be",
            "RFC 6585 section 5: hyper stops before it knows where the target ends",
            get(&target(200_000), ""),
            parser(431),
        )
        .closes(),
        row(
            "fields: as many as we take",
            "99 and Host are 100",
            get("/users/<id>", &fields(99)),
            ours(200),
        ),
        row("fields: one more", HEAD, get("/users/<id>", &fields(100)), parser(431)).closes(),
        row("fields: 10,000", HEAD, get("/users/<id>", &fields(10_000)), parser(431)).closes(),
        row(
            "fields: a value of 60,000 bytes",
            "a head of up to 96 KiB is taken",
            get("/users/<id>", &format!("X: {}\r\n", "x".repeat(60_000))),
            ours(200),
        ),
        row(
            "fields: a value of 200,000 bytes",
            HEAD,
            get("/users/<id>", &format!("X: {}\r\n", "x".repeat(200_000))),
            parser(431),
        )
        .closes(),
        row(
            "fields: a name of 70,000 bytes",
            "RFC 9110 section 5.4: hyper takes no name beyond 65,535 bytes for one",
            get("/users/<id>", &format!("{}: a\r\n", "x".repeat(70_000))),
            parser(431),
        )
        .closes(),
        row("content: the largest", "1 MiB is taken", post(&padded(1, CONTENT_BYTES)), ours(201)),
        row("content: one byte more", CONTENT, post(&padded(2, CONTENT_BYTES + 1)), too_large())
            .closes(),
        row(
            "content: announced too large",
            "RFC 9110 section 15.5.14: decided by the length alone",
            announced(CONTENT_BYTES + 1),
            too_large(),
        )
        .closes(),
        row(
            "content: too large and of another type",
            "RFC 9110 section 15.5.16: the type is judged first; what was announced is not awaited",
            [bytes("POST /users HTTP/1.1\r\nHost: <host>\r\nContent-Length: 9999999\r\n\r\n")],
            problem(415, "unsupported-media-type"),
        )
        .closes(),
        row(
            "content: the largest, in chunks",
            "1 MiB is taken: 15 chunks of 64 KiB and a user",
            chunks(15, user),
            ours(201),
        ),
        row("content: too large, in chunks", CONTENT, chunks(17, end), too_large()).closes(),
        row("content: too large, in chunks that never end", CONTENT, chunks(20, "1"), too_large())
            .closes(),
        row(
            "content: a user of more than 64 KiB",
            "RFC 9110 section 15.5.21: it can be read, and no user is that large",
            post(
                format!("{{\"username\":\"wire-<n>\",\"title\":\"{}\"}}", "x".repeat(70_000))
                    .as_bytes(),
            ),
            problem(422, "invalid-user").saying("/title"),
        ),
    ]
}
