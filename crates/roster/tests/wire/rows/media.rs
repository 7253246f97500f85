//! Media types, content codings and expectations, which are checked before the body is read.

use crate::row::{Answer, JSON, Part, Row, USER, bytes, go_on, ours, problem, row, send};

const TYPE: &str = "RFC 9110 section 15.5.16: what we take stands in Accept";
const CHARSET: &str = "RFC 8259 section 11: JSON has no charset; what says UTF-8 does no harm";
const ONE: &str = "RFC 9110 section 5.3: Content-Type is no list, so two lines mean nothing";
const CODING: &str = "RFC 9110 section 15.5.16: we take no coding, and say so in Accept-Encoding";
const PART: &str = "RFC 9110 section 14.5: a part must not replace the whole, so it is 400";
const RANGE: &str = "Content-Range: bytes 0-9/100\r\n";
const EXPECT: &str = "RFC 9110 section 10.1.1: the final answer stands in for 100";

fn refused() -> Answer {
    problem(415, "unsupported-media-type")
}

fn refused_json() -> Answer {
    refused().with("accept", "application/json")
}

fn typed(content_type: &str) -> Vec<u8> {
    send("POST", "/users", &format!("Content-Type: {content_type}\r\n"), USER)
}

fn rows_of(content_type: &str, content: &str) -> Vec<u8> {
    let content_type = format!("Content-Type: {content_type}\r\n");
    send("POST", "/bulk/users", &content_type, content.as_bytes())
}

fn coded(coding: &str) -> Vec<u8> {
    send("POST", "/users", &format!("{JSON}Content-Encoding: {coding}\r\n"), USER)
}

pub(super) fn rows() -> Vec<Row> {
    let patch = |content_type: &str, content: &[u8]| {
        send("PATCH", "/users/<id>", &format!("Content-Type: {content_type}\r\n"), content)
    };
    let refused_patch =
        || refused().with("accept-patch", "application/merge-patch+json, application/json");
    let merge = "application/merge-patch+json";
    let no_type = send("POST", "/users", "", USER);
    let two = "application/json\r\nContent-Type: text/plain";
    let twice = "application/json\r\nContent-Type: application/json";
    let refuses = |name, content_type: &str| row(name, TYPE, typed(content_type), refused_json());
    let takes = |name, content_type: &str| row(name, CHARSET, typed(content_type), ours(201));
    let refuses_coding = |name, coding: &str| {
        row(name, CODING, coded(coding), refused().with("accept-encoding", "identity"))
    };
    vec![
        row(
            "content-range: of a PUT",
            PART,
            send("PUT", "/users/<id>", &format!("{JSON}{RANGE}"), USER),
            problem(400, "invalid-request").saying("Content-Range"),
        ),
        row(
            "content-range: of a PATCH",
            PART,
            send("PATCH", "/users/<id>", &format!("{JSON}{RANGE}"), USER),
            problem(400, "invalid-request"),
        ),
        row(
            "content-range: of a POST",
            "RFC 9110 section 14.4: ignored where it has no meaning",
            send("POST", "/users", &format!("{JSON}{RANGE}"), USER),
            ours(201),
        ),
        row("type: none", TYPE, no_type, refused_json()),
        refuses("type: empty", ""),
        refuses("type: text", "text/plain"),
        refuses("type: XML", "application/xml"),
        refuses("type: other JSON", "application/scim+json"),
        refuses("type: a longer name", "application/jsonx"),
        refuses("type: a part of the name", "json"),
        refuses("type: parts of a form", "multipart/form-data; boundary=x"),
        refuses("type: a sequence of JSON", "application/json-seq"),
        row(
            "type: lines of JSON for one user",
            TYPE,
            send("PUT", "/users/<id>", "Content-Type: application/x-ndjson\r\n", USER),
            refused_json(),
        ),
        row(
            "type: lines of JSON for a new user",
            "RFC 9110 section 15.5.16: the detail says what takes them",
            typed("application/x-ndjson"),
            refused_json().saying("POST /bulk/users"),
        ),
        row(
            "type: one user for the resource of many",
            TYPE,
            send("POST", "/bulk/users", JSON, USER),
            refused().with("accept", "application/x-ndjson, text/csv"),
        ),
        row(
            "type: CSV for a new user",
            "RFC 9110 section 15.5.16: the detail says what takes it",
            typed("text/csv"),
            refused_json().saying("POST /bulk/users"),
        ),
        row(
            "type: CSV in another charset",
            "RFC 7111 section 5.1: UTF-8 is the default, and the only one here",
            rows_of("text/csv; charset=iso-8859-1", "username\r\nada\r\n"),
            refused().with("accept", "application/x-ndjson, text/csv"),
        ),
        row(
            "type: CSV for a patch of many",
            "RFC 5789 section 2.2: Accept-Patch names it",
            send("PATCH", "/bulk/users?username=ada", "Content-Type: text/plain\r\n", b"{}"),
            refused().with(
                "accept-patch",
                "application/merge-patch+json, application/json, application/x-ndjson, text/csv",
            ),
        ),
        refuses("type: a patch in a POST", merge),
        refuses("type: two in one line", "application/json, text/plain"),
        row("type: two lines", ONE, typed(two), refused_json()),
        row("type: two equal lines", ONE, typed(twice), refused_json()),
        row(
            "type: what curl -d sends",
            "RFC 9110 section 15.5.16: the detail says what to do",
            typed("application/x-www-form-urlencoded"),
            refused_json().saying("--json"),
        ),
        takes("type: charset=utf-8", "application/json; charset=utf-8"),
        takes("type: charset=UTF-8", "application/json;charset=UTF-8"),
        takes("type: charset in quotes", "application/json; charset=\"utf-8\""),
        takes("type: in capitals", "APPLICATION/JSON"),
        takes("type: another parameter", "application/json; v=1"),
        row(
            "type: Latin-1",
            CHARSET,
            typed("application/json; charset=iso-8859-1"),
            refused_json(),
        ),
        row("type: UTF-16", CHARSET, typed("application/json; charset=utf-16"), refused_json()),
        row(
            "type: two charsets",
            CHARSET,
            typed("application/json; charset=utf-8; charset=utf-16"),
            refused_json(),
        ),
        row(
            "type: a patch in a PUT",
            TYPE,
            send("PUT", "/users/<id>", "Content-Type: application/merge-patch+json\r\n", b"{}"),
            refused_json(),
        ),
        row("type: a merge patch", "RFC 7396", patch(merge, b"{\"title\":\"Dr\"}"), ours(200)),
        row(
            "type: JSON in a PATCH",
            "RFC 5789: plain JSON means a merge patch here",
            patch("application/json", b"{\"title\":\"Dr\"}"),
            ours(200),
        ),
        row(
            "type: a JSON Patch",
            "RFC 5789 section 2.2: 415 with Accept-Patch",
            patch("application/json-patch+json", b"[]"),
            refused_patch(),
        ),
        row(
            "type: a form in a PATCH",
            "RFC 5789 section 2.2: 415 with Accept-Patch",
            patch("application/x-www-form-urlencoded", b"title=Dr"),
            refused_patch().saying("--json"),
        ),
        refuses_coding("content coding: gzip", "gzip"),
        refuses_coding("content coding: unknown", "zork"),
        refuses_coding("content coding: two", "identity, gzip"),
        refuses_coding(
            "content coding: gzip in a second line",
            "identity\r\nContent-Encoding: gzip",
        ),
        row(
            "content coding: identity",
            "RFC 9110 section 8.4: it says nothing",
            coded("identity"),
            ours(201),
        ),
        row(
            "content coding: Identity",
            "RFC 9110 section 8.4.1: of either case",
            coded("Identity"),
            ours(201),
        ),
    ]
}

pub(super) fn expectations() -> Vec<Row> {
    let expect = |value: &str| send("POST", "/users", &format!("{JSON}Expect: {value}\r\n"), USER);
    let head =
        |lines: &str| bytes(format!("POST /users HTTP/1.1\r\nHost: <host>\r\n{JSON}{lines}\r\n"));
    let (value, content) = ("Expect: 100-continue\r\n", "{\"username\":\"expecting-<n>\"}");
    let length = "Transfer-Encoding: chunked\r\n";
    let chunk = "19\r\n{\"username\":\"expected-1\"}\r\n0\r\n\r\n";
    vec![
        row(
            "expect: 100-continue",
            "RFC 9110 section 10.1.1: 100 as soon as we want the content",
            [head(&format!("{value}{length}")), Part::Answer, bytes(chunk)],
            go_on(),
        )
        .then(ours(201)),
        row(
            "expect: 100-Continue with its content at once",
            "RFC 9110 section 10.1.1: 100 may be left out then; hyper sends it all the same",
            send("POST", "/users", &format!("{JSON}Expect: 100-Continue\r\n"), USER),
            go_on(),
        )
        .then(ours(201)),
        row(
            "expect: refused for its type",
            EXPECT,
            [bytes(format!(
                "POST /users HTTP/1.1\r\nHost: <host>\r\n{value}Content-Length: 9\r\n\r\n"
            ))],
            refused_json(),
        )
        .closes(),
        row(
            "expect: refused for its length",
            EXPECT,
            [head(&format!("{value}Content-Length: 1048577\r\n"))],
            problem(413, "body-too-large").with("connection", "close"),
        )
        .closes(),
        row(
            "expect: without content",
            "RFC 9110 section 10.1.1: nothing to wait for",
            format!("GET /users/<id> HTTP/1.1\r\nHost: <host>\r\n{value}\r\n"),
            ours(200),
        ),
        row(
            "expect: of HTTP/1.0",
            "RFC 9110 section 10.1.1: ignored, and no 100",
            format!(
                "POST /users HTTP/1.0\r\nHost: <host>\r\n{JSON}{value}\
                 Content-Length: <len>\r\n\r\n{content}"
            ),
            problem(403, "forwarded-request"),
        )
        .closes(),
        row(
            "expect: something else",
            "RFC 9110 section 10.1.1: 417",
            expect("zork"),
            problem(417, "expectation-failed"),
        ),
        row(
            "expect: something else beside it",
            "RFC 9110 section 10.1.1: 417, for one that we do not meet",
            expect("100-continue, zork"),
            problem(417, "expectation-failed"),
        ),
    ]
}
