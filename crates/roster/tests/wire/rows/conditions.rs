//! Preconditions: `If-Match`, `If-None-Match`, their order, and a version in the body.

use crate::row::{JSON, Row, ask, get, ours, problem, row, send};

const MATCH: &str = "RFC 9110 section 13.1.1: 412 unless a tag matches strongly";
const NONE: &str = "RFC 9110 section 13.1.2: 304 to a read whose tag matches weakly";
const FORM: &str =
    "RFC 9110 section 13.1.1: what is no list of tags protects nothing, so it is 400";
const DATES: &str = "RFC 9110 section 13.1: ignored where there is no date of modification";

pub(super) fn rows() -> Vec<Row> {
    let put = |lines: &str, content: &[u8]| {
        send("PUT", "/users/<id>", &format!("{JSON}{lines}"), content)
    };
    let changed: &[u8] = b"{\"name\":\"Grace\"}";
    let stale = || problem(412, "version-mismatch");
    let writes = |name, tags: &str| {
        let lines = format!("If-Match: {tags}\r\n");
        row(name, MATCH, put(&lines, changed), ours(200).with("etag", "\"2\""))
    };
    let refuses = |name, tags: &str| {
        row(name, MATCH, put(&format!("If-Match: {tags}\r\n"), changed), stale())
    };
    let malformed = |name, tags: &str| {
        let lines = format!("If-Match: {tags}\r\n");
        row(name, FORM, put(&lines, changed), problem(400, "invalid-request"))
    };
    let known = |name, path: &str, tags: &str| {
        let answer = ours(304).without("content-type").without("content-length");
        row(name, NONE, get(path, &format!("If-None-Match: {tags}\r\n")), answer)
    };
    let shows = |name, why, lines: &str| row(name, why, get("/users/<id>", lines), ours(200));
    vec![
        writes("if-match: the version", "\"1\""),
        writes("if-match: anything", "*"),
        writes("if-match: one of a list", "\"7\", \"1\""),
        writes("if-match: one of two lines", "\"7\"\r\nIf-Match: \"1\""),
        writes("if-match: a list with a comma in a tag", "\"a,b\", \"1\""),
        refuses("if-match: another version", "\"2\""),
        refuses("if-match: a weak tag", "W/\"1\""),
        refuses("if-match: another spelling", "\"01\""),
        refuses("if-match: an empty tag", "\"\""),
        malformed("if-match: without quotes", "1"),
        malformed("if-match: empty", ""),
        malformed("if-match: a quote that is not closed", "\"1"),
        malformed("if-match: tags without a comma", "\"1\" \"2\""),
        malformed("if-match: a star among tags", "*, \"1\""),
        malformed("if-match: a small w", "w/\"1\""),
        row(
            "if-match: on a DELETE",
            MATCH,
            ask("DELETE", "/users/<id>", "If-Match: \"2\"\r\n"),
            stale(),
        ),
        row("if-match: on a GET", MATCH, get("/users/<id>", "If-Match: \"2\"\r\n"), stale()),
        row(
            "if-match: on no user",
            "RFC 9110 section 13.2.1: ignored where the answer is no success without it",
            get("/users/42", "If-Match: \"1\"\r\n"),
            problem(404, "user-not-found"),
        ),
        row(
            "if-match: on a list",
            "RFC 9110 section 13.1.1: its tag is weak and matches nothing strongly",
            get("/users", "If-Match: \"1\"\r\n"),
            stale(),
        ),
        known("if-none-match: the version", "/users/<id>", "\"1\""),
        known("if-none-match: weakly", "/users/<id>", "W/\"1\""),
        known("if-none-match: anything", "/users/<id>", "*"),
        known("if-none-match: one of a list", "/users/<id>", "\"5\", W/\"1\""),
        known("if-none-match: anything of a list", "/users", "*"),
        shows("if-none-match: another version", NONE, "If-None-Match: \"2\"\r\n"),
        row(
            "if-none-match: of a HEAD",
            NONE,
            ask("HEAD", "/users/<id>", "If-None-Match: \"1\"\r\n"),
            ours(304).head().with("etag", "\"1\""),
        ),
        row(
            "if-none-match: of a write",
            "RFC 9110 section 13.1.2: 412 to other methods",
            put("If-None-Match: *\r\n", changed),
            stale(),
        ),
        row(
            "if-none-match: without quotes",
            FORM,
            get("/users/<id>", "If-None-Match: 1\r\n"),
            problem(400, "invalid-request"),
        ),
        row(
            "both: the first one fails",
            "RFC 9110 section 13.2.2: If-Match comes first",
            get("/users/<id>", "If-None-Match: \"1\"\r\nIf-Match: \"2\"\r\n"),
            stale(),
        ),
        row(
            "both: the second one matches",
            "RFC 9110 section 13.2.2: then If-None-Match",
            get("/users/<id>", "If-None-Match: \"1\"\r\nIf-Match: \"1\"\r\n"),
            ours(304),
        ),
        shows(
            "if-modified-since: now",
            DATES,
            "If-Modified-Since: Sat, 29 Oct 2033 19:43:31 GMT\r\n",
        ),
        shows(
            "if-unmodified-since: long ago",
            DATES,
            "If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT\r\n",
        ),
        row(
            "version: in the content, stale",
            "a read, an edit and a write must not lose what came between",
            put("", b"{\"version\":7,\"name\":\"Grace\"}"),
            stale(),
        ),
        row(
            "version: both must hold",
            "a read, an edit and a write must not lose what came between",
            put("If-Match: \"1\"\r\n", b"{\"version\":7,\"name\":\"Grace\"}"),
            stale(),
        ),
    ]
}
