//! Slow and silent clients, with limits of less than a second.

use crate::row::{End, JSON, Part, Row, ask, bytes, get, ours, post_chunks, problem, row};

const HEAD: &str = "RFC 9112 section 9.5: a head that does not come in time is not awaited";
const BODY: &str = "RFC 9110 section 15.5.9: 408, and the connection closes";
const READ: &str = "RFC 9112 section 9.5: an answer that is not taken is not kept";
const IDLE: &str = "RFC 9112 section 9.5: a connection that rests is closed in good order";

const HEAD_MS: u64 = 400;
const BODY_MS: u64 = 400;
const IDLE_MS: u64 = 1_500;

pub(super) fn rows() -> Vec<Row> {
    let head =
        |name, parts: [Part; 2]| row(name, HEAD, parts, None).ends(End::ClosedAfter(HEAD_MS));
    let too_slow = || problem(408, "body-too-slow").with("connection", "close");
    let body = |name, start: String, part: Part| {
        row(name, BODY, [bytes(start), part], too_slow()).ends(End::ClosedAfter(BODY_MS))
    };
    let length = ask("POST", "/users", &format!("{JSON}Content-Length: 100000\r\n"));
    let pause = || Part::Pause(0);
    vec![
        head("slow head: not a byte", [bytes(""), pause()]),
        head("slow head: an empty line", [bytes("\r\n"), pause()]),
        head("slow head: half a line", [bytes("GET /li"), pause()]),
        head(
            "slow head: all but its end",
            [bytes("GET /livez HTTP/1.1\r\nHost: <host>\r\n"), pause()],
        ),
        head(
            "slow head: a byte now and then",
            [bytes("GET /livez HTTP/1.1\r\nX: "), Part::Trickle],
        ),
        head("slow head: half of an HTTP/2 preface", [bytes("PRI * HTTP/2.0\r\n\r\nSM"), pause()]),
        body("slow body: not a byte", length.clone(), pause()),
        body("slow body: some, then nothing", length.clone() + "{", pause()),
        body("slow body: a byte now and then", length, Part::Trickle),
        body("slow body: a chunk that does not end", post_chunks("", "100\r\n{"), pause()),
        body("slow body: no last chunk", post_chunks("", "2\r\n{}\r\n"), pause()),
        row(
            "slow read: nothing is taken",
            READ,
            [bytes(get("/openapi.json", "").repeat(400)), Part::Pause(3_000)],
            None,
        )
        .ends(End::Reset),
        row("rest: after an answer", IDLE, get("/users/<id>", ""), ours(200))
            .ends(End::ClosedAfter(IDLE_MS)),
        row(
            "rest: shorter than the limit",
            "RFC 9112 section 9.3: the connection is there for another request",
            [bytes(get("/users/<id>", "")), Part::Answer, Part::Pause(700)],
            ours(200),
        ),
    ]
}
