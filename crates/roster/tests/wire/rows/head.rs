//! Request heads: invalid lines and fields, versions, and bytes that are not HTTP.

use crate::row::{JSON, Part, Row, USER, bytes, get, ours, parser, problem, row, send};

const LINES: &str = "RFC 9112 section 5: it is no field line";
const VALUE: &str = "RFC 9110 section 5.5: CR, LF and NUL in a value are dangerous and refused";
const START: &str = "RFC 9112 section 3: it is no request line";
const ID: &str =
    "RFC 9110 section 16.3.2: a field of ours; a usable id comes back, any other is replaced";

pub(super) fn rows() -> Vec<Row> {
    let bad =
        |name, why, lines: &str| row(name, why, get("/users/<id>", lines), parser(400)).closes();
    let echoed = |name, sent: &str, value: &'static str| {
        let lines = format!("X-Request-Id: {sent}\r\n");
        row(name, ID, get("/users/<id>", &lines), ours(200).with("x-request-id", value))
    };
    let replaced = |name, value: &'static str| {
        let lines = format!("X-Request-Id: {value}\r\n");
        row(name, ID, get("/users/<id>", &lines), ours(200).not_with("x-request-id", value))
    };
    let prefer = |value: &str| send("POST", "/users", &format!("{JSON}Prefer: {value}\r\n"), USER);
    vec![
        bad("field: folded", "RFC 9112 section 5.2: obs-fold is 400", "X: a\r\n b\r\n"),
        bad("field: a space before the colon", "RFC 9112 section 5.1: 400", "X : a\r\n"),
        bad("field: a tab before the colon", "RFC 9112 section 5.1: 400", "X\t: a\r\n"),
        bad("field: a NUL in the value", VALUE, "X: a\0b\r\n"),
        bad("field: a CR in the value", VALUE, "X: a\rb\r\n"),
        bad("field: a control character in the value", VALUE, "X: a\x01b\r\n"),
        bad("field: DEL in the value", VALUE, "X: a\x7fb\r\n"),
        bad("field: a space in the name", LINES, "X y: a\r\n"),
        bad("field: an empty name", LINES, ": a\r\n"),
        bad("field: no colon", LINES, "X\r\n"),
        bad("field: a name that is no token", LINES, "X(y): a\r\n"),
        bad("field: a name in UTF-8", LINES, "X\u{e9}: a\r\n"),
        bad("field: a NUL in the name", LINES, "X\0: a\r\n"),
        row(
            "field: white space before the first",
            "RFC 9112 section 2.2: 400, or the line is ignored",
            "GET /livez HTTP/1.1\r\n X: a\r\nHost: <host>\r\n\r\n",
            parser(400),
        )
        .closes(),
        row(
            "field: bytes above 127 in the value",
            "RFC 9110 section 5.5: obs-text is opaque",
            get("/users/<id>", "X: \u{e9}\r\n"),
            ours(200),
        ),
        row(
            "field: a tab in the value",
            "RFC 9110 section 5.5: white space within a value is its own",
            get("/users/<id>", "X: a\tb\r\n"),
            ours(200),
        ),
        row(
            "field: an empty value",
            "RFC 9110 section 5.5: a value may be empty",
            get("/users/<id>", "X:\r\n"),
            ours(200),
        ),
        row(
            "lines: LF alone",
            "RFC 9112 section 2.2: a recipient may take LF as the end of a line, and hyper does",
            "GET /users/<id> HTTP/1.1\nHost: <host>\n\n",
            ours(200),
        ),
        row(
            "lines: CR alone",
            "RFC 9112 section 2.2: a bare CR makes the message invalid",
            "GET /livez HTTP/1.1\rHost: <host>\r\r",
            parser(400),
        )
        .closes(),
        // Longer than the preface of HTTP/2, and without the end of a head.
        row(
            "lines: CR alone, after a long target",
            "RFC 9112 section 2.2: a bare CR makes the message invalid",
            "GET /users/<id> HTTP/1.1\rHost: <host>\r\r",
            parser(400),
        )
        .closes(),
        row(
            "lines: empty ones before the request",
            "RFC 9112 section 2.2: to be ignored",
            "\r\n\r\n".to_owned() + &get("/users/<id>", ""),
            ours(200),
        ),
        echoed("request id: usable", "Abc-1.2_3", "Abc-1.2_3"),
        echoed("request id: the first of two", "first\r\nX-Request-Id: second", "first"),
        replaced("request id: with spaces", "a b"),
        replaced("request id: with a quote", "a\"b"),
        replaced("request id: with a brace", "{a}"),
        replaced("request id: empty", ""),
        replaced(
            "request id: 65 characters",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ),
        row(
            "prefer: minimal",
            "RFC 7240 section 4.2: no content, and Preference-Applied",
            prefer("return=minimal"),
            ours(201).with("preference-applied", "return=minimal").with("content-length", "0"),
        ),
        row(
            "prefer: minimal in a PUT",
            "RFC 7240 section 4.2: no content, and Preference-Applied",
            send("PUT", "/users/<id>", &format!("{JSON}Prefer: return=minimal\r\n"), b"{}"),
            ours(204).with("preference-applied", "return=minimal").without("content-length"),
        ),
        row(
            "prefer: representation",
            "RFC 7240 section 4.2",
            prefer("return=representation"),
            ours(201).with("preference-applied", "return=representation").saying("wire-"),
        ),
        row(
            "prefer: something unknown",
            "RFC 7240 section 2: passed over",
            prefer("wait=10, zork"),
            ours(201).without("preference-applied").saying("wire-"),
        ),
    ]
}

pub(super) fn versions() -> Vec<Row> {
    let line = |name, why, line: &str| {
        row(name, why, format!("{line}\r\nHost: <host>\r\n\r\n"), parser(400)).closes()
    };
    let version =
        "RFC 9110 section 2.5: 505 for what we do not speak; hyper takes it for no version";
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x93\x1a\r\n\r\n";
    vec![
        row(
            "HTTP/1.0: without Host",
            "RFC 9112 section 3.2: Host is asked of HTTP/1.1; before the first key it is refused",
            "GET /users/<id> HTTP/1.0\r\n\r\n",
            problem(403, "forwarded-request"),
        )
        .closes(),
        row(
            "HTTP/1.0: with Host",
            "proxies speak it to their servers, so it is refused before the first key",
            "GET /users/<id> HTTP/1.0\r\nHost: <host>\r\n\r\n",
            problem(403, "forwarded-request"),
        )
        .closes(),
        row(
            "HTTP/1.0: asked for health",
            "RFC 9112 section 9.3: it closes when nothing else is asked for",
            "GET /livez HTTP/1.0\r\n\r\n",
            ours(200),
        )
        .closes(),
        row(
            "HTTP/1.0: with a foreign Host",
            "RFC 9110 section 7.4: sent to us, meant for another",
            "GET /users/<id> HTTP/1.0\r\nHost: evil.example\r\n\r\n",
            problem(421, "misdirected-request"),
        )
        .closes(),
        row(
            "HTTP/1.0: keep-alive",
            "RFC 9112 section 9.3: it stays open when asked to, and says so",
            "GET /livez HTTP/1.0\r\nHost: <host>\r\nConnection: keep-alive\r\n\r\n",
            ours(200).with("connection", "keep-alive"),
        ),
        line("version: HTTP/3.7", version, "GET /livez HTTP/3.7"),
        line("version: HTTP/2.0 without its preface", version, "GET /livez HTTP/2.0"),
        line("version: HTTP/1.2", version, "GET /livez HTTP/1.2"),
        line("version: HTTP/1.10", START, "GET /livez HTTP/1.10"),
        line("version: http/1.1", "RFC 9112 section 2.3: case counts", "GET /livez http/1.1"),
        line("version: HTTP/1", START, "GET /livez HTTP/1"),
        line("version: another protocol", START, "GET /livez ICAP/1.0"),
        line("request line: no version", START, "GET /livez"),
        line("request line: no target", START, "GET HTTP/1.1"),
        line("request line: two spaces", START, "GET  /livez HTTP/1.1"),
        line("request line: tabs", START, "GET\t/livez\tHTTP/1.1"),
        line("request line: a space in the target", START, "GET /li vez HTTP/1.1"),
        line("request line: a space at its end", START, "GET /livez HTTP/1.1 "),
        line("request line: a space before it", START, " GET /livez HTTP/1.1"),
        line("request line: a method that is no token", START, "G@T /livez HTTP/1.1"),
        line("request line: a NUL", START, "GET /livez\0 HTTP/1.1"),
        row(
            "request line: a relative target",
            "RFC 9112 section 3.2.3: hyper takes it for a host, which goes with CONNECT alone",
            get("livez", ""),
            problem(400, "invalid-request"),
        ),
        row(
            "request line: a host as the target of a GET",
            "RFC 9112 section 3.2.3: a host alone goes with CONNECT alone",
            get("<host>", ""),
            problem(400, "invalid-request"),
        ),
        row("no HTTP: of version 0.9", START, "GET /livez\r\n", parser(400)).closes(),
        row("no HTTP: garbage", START, "\u{1}\u{2}\u{3}garbage\r\n\r\n", parser(400)).closes(),
        row("no HTTP: a TLS hello", START, hello.to_vec(), parser(400)).closes(),
        row("no HTTP: another protocol", START, "SSH-2.0-OpenSSH_9.6\r\n", parser(400)).closes(),
        row(
            "no HTTP: nothing at all",
            "RFC 9112 section 9.5: nothing to answer",
            [Part::End],
            None,
        )
        .closes(),
        row(
            "no HTTP: half a head",
            "RFC 9112 section 8: nobody is left to be answered",
            [bytes("GET /livez HTTP/1.1\r\nHost: lo"), Part::End],
            None,
        )
        .closes(),
    ]
}
