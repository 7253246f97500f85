//! Where a body begins and ends: lengths and codings that request smuggling uses.

use crate::row::{Answer, JSON, Part, Row, ask, bytes, get, ours, parser, problem, row, send};

const LENGTH: &str = "RFC 9112 section 6.3: an invalid length is 400, and the connection closes";
const CODING: &str = "RFC 9112 section 6.3: chunked must come last, else 400 and close";
const UNKNOWN: &str =
    "RFC 9112 section 6.3: content in a coding that we do not undo cannot be read";
const TWICE: &str = "RFC 9112 section 6.1: chunked must not be applied twice";
const BOTH: &str = "RFC 9112 section 6.3: the coding wins, the connection closes after the answer, \
                    and what the length would have hidden is never run";

/// The request that an attacker would smuggle.
const HIDDEN: &str = "DELETE /users/<id> HTTP/1.1\r\nHost: <host>\r\n\r\n";

/// A POST with these length headers.
fn lengths(lines: &str, content: &str) -> String {
    ask("POST", "/users", &format!("{JSON}{lines}\r\n")) + content
}

/// A user in one chunk. The chunk size depends on the number, so the row passes the number instead
/// of using `<n>`.
fn chunked(number: usize) -> String {
    let content = format!("{{\"username\":\"framed-{number}\"}}");
    format!("{:x}\r\n{content}\r\n0\r\n\r\n", content.len())
}

fn unclear() -> Answer {
    problem(400, "invalid-request").with("connection", "close")
}

pub(super) fn rows() -> Vec<Row> {
    let user = "{\"username\":\"of-length-29-a\"}";
    let bad = |name, lines: &str| row(name, LENGTH, lengths(lines, "hello"), parser(400)).closes();
    let te = |value: &str, rest: String| {
        ask("POST", "/users", &format!("{JSON}Transfer-Encoding: {value}\r\n")) + &rest
    };
    let not_last =
        |name, value: &str| row(name, CODING, te(value, chunked(0)), parser(400)).closes();
    vec![
        row(
            "length: two equal lines",
            "RFC 9110 section 8.6: two equal lengths may be taken as one, and hyper does",
            lengths("Content-Length: 29\r\nContent-Length: 29", user),
            ours(201),
        ),
        row(
            "length: with zeros before it",
            "RFC 9110 section 8.6: any number of digits",
            lengths("Content-Length: 00029", &user.replace("29-a", "29-b")),
            ours(201),
        ),
        row(
            "length: with spaces around it",
            "RFC 9110 section 5.5: white space around a value is no part of it",
            lengths("Content-Length: \t 29 \t", &user.replace("29-a", "29-c")),
            ours(201),
        ),
        bad("length: two that differ", "Content-Length: 5\r\nContent-Length: 6"),
        bad("length: two equal in one line", "Content-Length: 5, 5"),
        bad("length: with a plus sign", "Content-Length: +5"),
        bad("length: with a minus sign", "Content-Length: -1"),
        bad("length: empty", "Content-Length:"),
        bad("length: in hexadecimal", "Content-Length: 0x5"),
        bad("length: with a space in it", "Content-Length: 1 0"),
        bad("length: with a fraction", "Content-Length: 5.0"),
        bad("length: more than 64 bits", "Content-Length: 99999999999999999999999"),
        row(
            "length: huge",
            "RFC 9110 section 15.5.14: refused by its length, before any content",
            lengths("Content-Length: 9223372036854775807", ""),
            problem(413, "body-too-large").with("connection", "close"),
        )
        .closes(),
        row(
            "length: shorter than the content",
            "RFC 9112 section 6.3: the content ends there, and the rest is no request",
            lengths("Content-Length: 5", "{\"a\":\x01\x02\x03\r\n\r\n"),
            problem(400, "malformed-json"),
        )
        .then(parser(400))
        .closes(),
        row(
            "length: longer than the content",
            "RFC 9112 section 8: a message that breaks off is not to be acted on",
            [bytes(lengths("Content-Length: 100", user)), Part::End],
            problem(400, "invalid-request"),
        )
        .closes(),
        row(
            "length and coding: the length first",
            BOTH,
            lengths("Content-Length: 6\r\nTransfer-Encoding: chunked", &chunked(1)) + HIDDEN,
            ours(201).with("connection", "close"),
        )
        .closes(),
        row(
            "length and coding: the coding first",
            BOTH,
            lengths("Transfer-Encoding: chunked\r\nContent-Length: 6", &chunked(2)) + HIDDEN,
            ours(201).with("connection", "close"),
        )
        .closes(),
        row(
            "length and coding: an end that hides a request",
            BOTH,
            lengths("Content-Length: 200\r\nTransfer-Encoding: chunked", "0\r\n\r\n") + HIDDEN,
            problem(400, "malformed-json").with("connection", "close"),
        )
        .closes(),
        row(
            "length and coding: in a GET",
            BOTH,
            get("/users/<id>", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n")
                + "0\r\n\r\n"
                + HIDDEN,
            ours(200).with("connection", "close"),
        )
        .closes(),
        row(
            "transfer coding: Chunked",
            "RFC 9112 section 7: names of codings are of either case",
            te("Chunked", chunked(3)),
            ours(201),
        ),
        row("transfer coding: chunked twice", TWICE, te("chunked, chunked", chunked(4)), unclear())
            .closes(),
        row(
            "transfer coding: chunked in two lines",
            TWICE,
            te("chunked\r\nTransfer-Encoding: chunked", chunked(5)),
            unclear(),
        )
        .closes(),
        row(
            "transfer coding: gzip before chunked",
            UNKNOWN,
            te("gzip, chunked", chunked(6)),
            unclear(),
        )
        .closes(),
        row(
            "transfer coding: unknown before chunked",
            UNKNOWN,
            te("zork\r\nTransfer-Encoding: chunked", chunked(7)),
            unclear(),
        )
        .closes(),
        not_last("transfer coding: unknown", "zork"),
        not_last("transfer coding: identity", "identity"),
        not_last("transfer coding: not last", "chunked, gzip"),
        not_last("transfer coding: a longer name", "xchunked"),
        not_last("transfer coding: empty", ""),
        not_last("transfer coding: with a parameter", "chunked;q=1"),
        row(
            "transfer coding: behind a vertical tab",
            "RFC 9110 section 5.5: a control character is no part of a value",
            te("\x0bchunked", chunked(8)),
            parser(400),
        )
        .closes(),
        row(
            "transfer coding: on a folded line",
            "RFC 9112 section 5.2: obs-fold is 400",
            te("\r\n chunked", chunked(9)),
            parser(400),
        )
        .closes(),
        row(
            "transfer coding: in HTTP/1.0",
            "RFC 9112 section 6.1: its framing is faulty",
            te("chunked", chunked(10)).replace("HTTP/1.1", "HTTP/1.0"),
            parser(400),
        )
        .closes(),
        row(
            "content: in a GET",
            "RFC 9110 section 9.3.1: it has no meaning, and is read past",
            get("/users/<id>", "Content-Length: 5\r\n") + "hello",
            ours(200),
        ),
        row(
            "content: in a DELETE",
            "RFC 9110 section 9.3.5: it is rejected, because it may be meant as a condition",
            ask("DELETE", "/users/<id>", "Content-Length: 5\r\n") + "hello",
            problem(400, "invalid-request"),
        ),
        row(
            "content: an empty object in a DELETE",
            "some clients always send one",
            ask("DELETE", "/users/<id>", "Content-Length: 2\r\n") + "{}",
            ours(204),
        )
        .deletes(),
        row(
            "content: none in a POST",
            "RFC 9112 section 6.3: without length and coding there is none",
            ask("POST", "/users", JSON),
            problem(400, "malformed-json"),
        ),
        row(
            "content: a request in it",
            "RFC 9112 section 6.3: content is no request",
            send("POST", "/users", JSON, HIDDEN.as_bytes()),
            problem(400, "malformed-json"),
        ),
    ]
}
