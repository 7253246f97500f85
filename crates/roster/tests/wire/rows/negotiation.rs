//! Content negotiation: `Accept` and related headers, and ranges.

use crate::row::{JSON, Row, USER, ask, get, ours, problem, row, send};

const NONE: &str = "RFC 9110 section 15.5.7: no form that we have is acceptable";
const SOME: &str = "RFC 9110 section 12.5.1: the most specific range counts";
const RANGE: &str = "RFC 9110 section 14.2: a range may be ignored";
const CODING: &str = "RFC 9110 section 12.5.3: without a coding, whatever the caller takes";

pub(super) fn rows() -> Vec<Row> {
    let accept = |path: &str, value: &str| get(path, &format!("Accept: {value}\r\n"));
    let takes = |name, value: &str| {
        let answer = ours(200).with("content-type", "application/json");
        row(name, SOME, accept("/users/<id>", value), answer)
    };
    let refused = |name, path: &str, value: &str| {
        row(name, NONE, accept(path, value), problem(406, "not-acceptable"))
    };
    let with = |name, why, lines: &str| {
        let answer = ours(200).without("content-encoding").without("accept-ranges");
        row(name, why, get("/users/<id>", lines), answer.with("etag", "\"1\""))
    };
    vec![
        takes("accept: anything", "*/*"),
        takes("accept: any application", "application/*"),
        takes("accept: empty", ""),
        takes("accept: in capitals", "APPLICATION/JSON"),
        takes("accept: as browsers do", "text/html,application/xhtml+xml,*/*;q=0.8"),
        takes("accept: hardly", "application/json;q=0.001"),
        takes("accept: in the second line", "text/html\r\nAccept: application/json"),
        takes("accept: a broken weight", "application/json;q=zork"),
        takes("accept: everything but HTML", "text/html;q=0, */*"),
        refused("accept: XML", "/users/<id>", "text/xml"),
        refused("accept: JSON with q=0", "/users/<id>", "application/json;q=0"),
        refused("accept: JSON with q=0.000", "/users/<id>", "application/json;q=0.000, text/*"),
        refused("accept: anything but JSON", "/users/<id>", "application/json;q=0, */*"),
        refused("accept: nothing", "/users/<id>", "*/*;q=0"),
        refused("accept: no range at all", "/users/<id>", "json"),
        refused("accept: problems alone", "/users/<id>", "application/problem+json"),
        refused("accept: XML of a list", "/users", "application/xml"),
        row(
            "accept: lines of JSON of a list",
            "RFC 9110 section 15.5.7: the detail says what has them",
            accept("/users", "application/x-ndjson"),
            problem(406, "not-acceptable").saying("/bulk/users"),
        ),
        refused("accept: JSON of an export", "/bulk/users", "application/json"),
        row(
            "accept: nothing said of an export",
            "RFC 9110 section 12.5.1: without Accept, whatever there is",
            ask("HEAD", "/bulk/users", ""),
            ours(200)
                .head()
                .with("content-type", "application/x-ndjson")
                .with("vary", "Accept, Accept-Encoding"),
        ),
        row(
            "accept: rows of CSV of an export",
            "RFC 9110 section 12.5.5: what was chosen by Accept says so in Vary",
            ask("HEAD", "/bulk/users", "Accept: application/json, text/*\r\n"),
            ours(200)
                .head()
                .with("content-type", "text/csv; charset=utf-8; header=present")
                .with("vary", "Accept, Accept-Encoding"),
        ),
        refused("accept: CSV of a list", "/users", "text/csv"),
        refused("accept: CSV of an export of groups", "/bulk/groups", "text/csv"),
        refused("accept: JSON of a page", "/docs", "application/json"),
        refused("accept: HTML of the description", "/openapi.json", "text/html"),
        row(
            "accept: XML from a write",
            "RFC 9110 section 15.5.7: refused before anything is written",
            send("PUT", "/users/<id>", &format!("{JSON}Accept: text/xml\r\n"), USER),
            problem(406, "not-acceptable"),
        ),
        row(
            "accept: XML from a DELETE",
            "RFC 9110 section 12.5.1: an answer without content has no form",
            ask("DELETE", "/users/<id>", "Accept: text/xml\r\n"),
            ours(204),
        )
        .deletes(),
        row(
            "accept: XML from what is not there",
            "RFC 9110 section 12.5.1: an error may come in a form of its own",
            accept("/nowhere", "text/xml"),
            problem(404, "not-found"),
        ),
        row(
            "accept: a problem as HTML",
            "RFC 9110 section 12.5.5: what was chosen by Accept says so in Vary",
            accept("/problems/not-found", "text/html"),
            ours(200)
                .with("content-type", "text/html; charset=utf-8")
                .with("vary", "Accept, Accept-Encoding"),
        ),
        row(
            "accept: a problem as JSON",
            "RFC 9110 section 12.5.5",
            get("/problems/not-found", ""),
            ours(200)
                .with("content-type", "application/json")
                .with("vary", "Accept, Accept-Encoding"),
        ),
        with("accept coding: gzip is taken", CODING, "Accept-Encoding: gzip, br\r\n"),
        with(
            "accept coding: none but gzip is taken",
            CODING,
            "Accept-Encoding: gzip, identity;q=0\r\n",
        ),
        with("accept coding: nothing is taken", CODING, "Accept-Encoding: *;q=0\r\n"),
        with("accept coding: empty", CODING, "Accept-Encoding:\r\n"),
        with(
            "accept charset: another",
            "RFC 9110 section 12.5.2: to be ignored",
            "Accept-Charset: x\r\n",
        ),
        with(
            "accept language: another",
            "RFC 9110 section 12.5.4: may be ignored",
            "Accept-Language: x\r\n",
        ),
        with("range: of bytes", RANGE, "Range: bytes=0-3\r\n"),
        with("range: that cannot be", RANGE, "Range: bytes=9999-\r\n"),
        with("range: of an unknown unit", RANGE, "Range: users=0-3\r\n"),
        with("range: under a condition", RANGE, "Range: bytes=0-3\r\nIf-Range: \"1\"\r\n"),
    ]
}
