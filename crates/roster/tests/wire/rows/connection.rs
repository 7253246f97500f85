//! Several requests on one connection, and when it ends.

use crate::row::{JSON, Part, Row, USER, ask, bytes, get, ours, parser, post, problem, row, send};

const ORDER: &str = "RFC 9112 section 9.3.2: answers come in the order of the requests";
const CLOSE: &str = "RFC 9112 section 9.6: nothing after close is answered";
const UNREAD: &str =
    "RFC 9112 section 9.3: content that is not read cannot be passed, so it closes";
const UPGRADE: &str = "RFC 9110 section 7.8: an upgrade may be ignored";

pub(super) fn rows() -> Vec<Row> {
    let both = |first: Vec<u8>, second: &str| [first, second.as_bytes().to_vec()].concat();
    let unread = |name, target: &str, code: &'static str, status| {
        let lines = format!("{JSON}Content-Length: 500000\r\n");
        row(name, UNREAD, ask("POST", target, &lines) + "{", problem(status, code)).closes()
    };
    vec![
        row(
            "pipeline: reads",
            ORDER,
            get("/users/<id>", "X-Request-Id: 1\r\n")
                + &get("/users/42", "X-Request-Id: 2\r\n")
                + &get("/livez", "X-Request-Id: 3\r\n"),
            ours(200).with("x-request-id", "1").saying("<id>"),
        )
        .then(problem(404, "user-not-found").with("x-request-id", "2"))
        .then(ours(200).with("x-request-id", "3").saying("ok")),
        row(
            "pipeline: a write and what reads it",
            ORDER,
            ask("DELETE", "/users/<id>", "") + &get("/users/<id>", "") + &get("/livez", ""),
            ours(204),
        )
        .then(problem(404, "user-not-found"))
        .then(ours(200))
        .deletes(),
        row(
            "pipeline: HEAD between reads",
            ORDER,
            get("/users/<id>", "") + &ask("HEAD", "/users/<id>", "") + &get("/users/<id>", ""),
            ours(200),
        )
        .then(ours(200).head_of_the_one_before())
        .then(ours(200).saying("Ada Lovelace")),
        row(
            "pipeline: after 204 and 304",
            ORDER,
            ask("OPTIONS", "/users", "")
                + &get("/users/<id>", "If-None-Match: *\r\n")
                + &get("/users/<id>", ""),
            ours(204),
        )
        .then(ours(304))
        .then(ours(200).saying("Ada Lovelace")),
        row(
            "pipeline: after an error whose content was read",
            ORDER,
            both(post(b"{\"username\":7}"), ""),
            problem(422, "invalid-user"),
        ),
        row(
            "pipeline: after an error without content",
            ORDER,
            ask("PUT", "/users", "") + &get("/users/<id>", ""),
            problem(405, "method-not-allowed"),
        )
        .then(ours(200)),
        row(
            "pipeline: what is no request comes second",
            ORDER,
            get("/users/<id>", "") + "NONSENSE\r\n\r\n",
            ours(200),
        )
        .then(parser(400))
        .closes(),
        row(
            "pipeline: a head in two packets",
            "RFC 9112 section 2.2: where the packets end means nothing",
            [
                bytes("GET /users/<id> HT"),
                Part::Pause(20),
                bytes("TP/1.1\r\nHost: <host>\r"),
                Part::Pause(20),
                bytes("\n\r"),
                Part::Pause(20),
                bytes("\n"),
            ],
            ours(200),
        ),
        row(
            "pipeline: content after its head",
            "RFC 9112 section 2.2",
            [
                bytes(format!(
                    "PATCH /users/<id> HTTP/1.1\r\nHost: <host>\r\n{JSON}Content-Length: 14\r\n\r\n"
                )),
                Part::Pause(20),
                bytes("{\"title\":"),
                Part::Pause(20),
                bytes("\"Dr\"}"),
            ],
            ours(200).saying("\"Dr\""),
        ),
        row(
            "pipeline: a request while one is answered",
            ORDER,
            [
                bytes(get("/users", "")),
                bytes(get("/users/<id>", "")),
                Part::Answer,
                bytes(get("/livez", "")),
            ],
            ours(200).saying("\"items\""),
        )
        .then(ours(200))
        .then(ours(200).saying("ok")),
        row(
            "close: asked for",
            CLOSE,
            get("/users/<id>", "Connection: close\r\n") + &ask("DELETE", "/users/<id>", ""),
            ours(200).with("connection", "close"),
        )
        .closes(),
        row(
            "close: asked for in capitals",
            CLOSE,
            get("/users/<id>", "Connection: CLOSE\r\n"),
            ours(200).with("connection", "close"),
        )
        .closes(),
        row(
            "close: asked for among others",
            CLOSE,
            get("/users/<id>", "Connection: x, close\r\n"),
            ours(200).with("connection", "close"),
        )
        .closes(),
        row(
            "close: asked for in one of two lines",
            CLOSE,
            get("/users/<id>", "Connection: close\r\nConnection: keep-alive\r\n"),
            ours(200).with("connection", "close"),
        )
        .closes(),
        row(
            "close: after a write",
            CLOSE,
            send("POST", "/users", &format!("{JSON}Connection: close\r\n"), USER),
            ours(201).with("connection", "close"),
        )
        .closes(),
        row(
            "keep: other options",
            "RFC 9110 section 7.6.1: options that mean nothing to us",
            get("/users/<id>", "Connection: x, keep-alive\r\n"),
            ours(200),
        ),
        row(
            "keep: an option that names Host",
            "RFC 9110 section 7.6.1: for proxies; it takes nothing from the guards",
            get("/users/<id>", "Connection: host, origin\r\nOrigin: http://evil.example\r\n"),
            problem(403, "foreign-origin"),
        ),
        unread("unread: on no path", "/nowhere", "not-found", 404),
        unread("unread: on a path that offers no POST", "/docs", "method-not-allowed", 405),
        unread("unread: with a fault in the query", "/users?x=1", "invalid-query", 400),
        row(
            "unread: from a foreign origin",
            UNREAD,
            ask(
                "POST",
                "/users",
                &format!("{JSON}Origin: http://evil.example\r\nContent-Length: 500000\r\n"),
            ) + "{",
            problem(403, "foreign-origin"),
        )
        .closes(),
        row(
            "unread: all of it came with its head",
            "RFC 9112 section 9.3: short content is passed, and the connection goes on",
            send("POST", "/nowhere", JSON, USER),
            problem(404, "not-found"),
        ),
        row(
            "upgrade: to HTTP/2",
            UPGRADE,
            get(
                "/users/<id>",
                "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                 HTTP2-Settings: AAMAAABkAAQAAP__\r\n",
            ),
            ours(200).without("upgrade"),
        ),
        row(
            "upgrade: to a web socket",
            UPGRADE,
            get(
                "/users/<id>",
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
            ),
            ours(200).without("upgrade"),
        ),
    ]
}
