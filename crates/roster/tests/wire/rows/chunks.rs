//! Chunked bodies (RFC 9112 section 7.1), valid and invalid.

use crate::row::{Answer, Part, Row, bytes, ours, post_chunks, problem, row};

const FORM: &str = "RFC 9112 section 7.1: a chunk that is none makes the message invalid";
const EXTENSION: &str = "RFC 9112 section 7.1.1: an extension that means nothing to us is ignored";
const TRAILER: &str = "RFC 9110 section 6.5.1: a trailer means nothing to us and is dropped";

/// The request that an attacker would smuggle.
const HIDDEN: &str = "DELETE /users/<id> HTTP/1.1\r\nHost: <host>\r\n\r\n";

/// A user of 29 bytes with a unique number.
fn user(number: u8) -> String {
    format!("{{\"username\":\"in-chunks-{number:04}\"}}")
}

fn broken() -> Answer {
    problem(400, "invalid-request")
}

pub(super) fn rows() -> Vec<Row> {
    let takes = |name, why, coded: String| row(name, why, post_chunks("", &coded), ours(201));
    let bad = |name, coded: &str| {
        row(name, FORM, post_chunks("", &(coded.to_owned() + HIDDEN)), broken()).closes()
    };
    let one = |number, size: &str, after: &str| format!("{size}\r\n{}\r\n{after}", user(number));
    let letters: Vec<String> = user(3).chars().map(|one| format!("1\r\n{one}\r\n")).collect();
    vec![
        takes("chunks: one", "RFC 9112 section 7.1", one(1, "1d", "0\r\n\r\n")),
        takes(
            "chunks: a size in capitals",
            "RFC 9112 section 7.1: HEXDIG",
            one(2, "1D", "0\r\n\r\n"),
        ),
        takes("chunks: of one byte each", "RFC 9112 section 7.1", letters.concat() + "0\r\n\r\n"),
        takes(
            "chunks: zeros before the size",
            "RFC 9112 section 7.1",
            one(4, "00001d", "000\r\n\r\n"),
        ),
        takes("chunks: an extension", EXTENSION, one(5, "1d;a=b", "0;c\r\n\r\n")),
        takes("chunks: an extension in quotes", EXTENSION, one(6, "1d;a=\"b;c\"", "0\r\n\r\n")),
        takes("chunks: a trailer", TRAILER, one(7, "1d", "0\r\nX-Sum: 1\r\n\r\n")),
        takes(
            "chunks: a trailer that would frame",
            TRAILER,
            one(8, "1d", "0\r\nContent-Length: 500\r\nTransfer-Encoding: gzip\r\n\r\n"),
        ),
        takes(
            "chunks: a trailer that would guard",
            TRAILER,
            one(9, "1d", "0\r\nHost: evil.example\r\nOrigin: null\r\nExpect: x\r\n\r\n"),
        ),
        row(
            "chunks: no content",
            "RFC 8259 section 2: nothing is no JSON",
            post_chunks("", "0\r\n\r\n"),
            problem(400, "malformed-json"),
        ),
        row(
            "chunks: a pause in each line",
            "RFC 9112 section 7.1: where the packets end means nothing",
            [
                bytes(post_chunks("", "1")),
                Part::Pause(20),
                bytes("d\r"),
                Part::Pause(20),
                bytes("\n".to_owned() + &user(10)),
                Part::Pause(20),
                bytes("\r\n0\r\n\r"),
                Part::Pause(20),
                bytes("\n"),
            ],
            ours(201),
        ),
        bad("chunks: a size that is no number", "zz\r\nhello\r\n0\r\n\r\n"),
        bad("chunks: a size with a sign", "+5\r\nhello\r\n0\r\n\r\n"),
        bad("chunks: a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        bad("chunks: a size with 0x", "0x5\r\nhello\r\n0\r\n\r\n"),
        bad("chunks: no size", "\r\nhello\r\n0\r\n\r\n"),
        bad("chunks: a size of 65 bits", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        bad("chunks: a space before the size", " 5\r\nhello\r\n0\r\n\r\n"),
        bad("chunks: more than the size", "5\r\nhello!\r\n0\r\n\r\n"),
        bad("chunks: no line end after the data", "5\r\nhello0\r\n\r\n"),
        bad("chunks: LF alone after the size", "5\nhello\r\n0\r\n\r\n"),
        bad("chunks: CR alone after the size", "5\rhello\r\n0\r\n\r\n"),
        bad("chunks: LF alone in an extension", "5;a\nhello\r\n0\r\n\r\n"),
        bad(
            "chunks: an extension of 20,000 bytes",
            &format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(20_000)),
        ),
        bad(
            "chunks: a trailer of 100,000 bytes",
            &format!("0\r\nX: {}\r\n\r\n", "x".repeat(100_000)),
        ),
        row(
            "chunks: broken off",
            "RFC 9112 section 8: a message that breaks off is not to be acted on",
            [bytes(post_chunks("", &one(11, "1d", ""))), Part::End],
            broken(),
        )
        .closes(),
    ]
}
