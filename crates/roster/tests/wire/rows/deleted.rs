//! Deleted users and the change log: deleting, restoring and purging users, and their events.

use crate::row::{JSON, Row, ask, get, ours, problem, row};

const BACK: &str = "a restore takes no content, and refuses what may be meant as more";
const GONE: &str = "RFC 9110 section 15.5.5";
const QUERY: &str = "what is not understood is refused, never passed over";
const PLACE: &str = "RFC 9110 section 15.5.11: the log does not reach that place, and will not";
const RESTORE: &str = "/deleted-users/<id>/restore";

/// Deletes the user.
fn leave() -> String {
    ask("DELETE", "/users/<id>", "")
}

pub(super) fn rows() -> Vec<Row> {
    let back = || ours(200).with("content-location", "/users/<id>").with("etag", "\"3\"");
    let content = |name, lines: &str, content: &[u8]| {
        let length = format!("{lines}Content-Length: {}\r\n", content.len());
        let restore = ask("POST", RESTORE, &length);
        let sent = [leave().as_bytes(), restore.as_bytes(), content].concat();
        row(name, BACK, sent, ours(204)).then(problem(400, "invalid-request")).deletes()
    };
    let refused = |name, method: &str, target: &str, lines: &str, status, code| {
        let sent = leave() + &ask(method, target, lines);
        row(name, "nothing came of it", sent, ours(204)).then(problem(status, code)).deletes()
    };
    vec![
        row(
            "restore: without content",
            "RFC 9110 section 8.7: what is sent is the user where it is now",
            leave() + &ask("POST", RESTORE, "") + &get("/deleted-users/<id>", ""),
            ours(204),
        )
        .then(back())
        .then(problem(404, "user-not-found")),
        content("restore: with JSON", JSON, b"{\"username\":\"another\"}"),
        content("restore: with half of JSON", JSON, b"{\"username\":"),
        content("restore: with text", "Content-Type: text/plain\r\n", b"restore"),
        content("restore: with content without a type", "", b"\x00\xff"),
        content("restore: with a request in its content", "", b"GET / HTTP/1.1\r\n\r\n"),
        row(
            "restore: with content in chunks",
            BACK,
            leave()
                + &ask("POST", RESTORE, "Transfer-Encoding: chunked\r\n")
                + "5\r\nhello\r\n0\r\n\r\n",
            ours(204),
        )
        .then(problem(400, "invalid-request"))
        .deletes(),
        row(
            "restore: with an empty object",
            "some clients always send one",
            leave() + &ask("POST", RESTORE, "Content-Length: 2\r\n") + "{}",
            ours(204),
        )
        .then(back().saying("Ada Lovelace")),
        row(
            "restore: minimal",
            "RFC 7240 section 4.2",
            leave() + &ask("POST", RESTORE, "Prefer: return=minimal\r\n"),
            ours(204),
        )
        .then(ours(204).with("preference-applied", "return=minimal").with("etag", "\"3\"")),
        row(
            "restore: in a form that is not acceptable",
            "RFC 9110 section 15.5.7: refused before anything is written",
            leave() + &ask("POST", RESTORE, "Accept: text/xml\r\n"),
            ours(204),
        )
        .then(problem(406, "not-acceptable"))
        .deletes(),
        row(
            "restore: of who is there",
            GONE,
            ask("POST", RESTORE, ""),
            problem(404, "user-not-found").saying("GET /deleted-users"),
        ),
        refused(
            "restore: another version",
            "POST",
            RESTORE,
            "If-Match: \"1\"\r\n",
            412,
            "version-mismatch",
        ),
        refused(
            "restore: from elsewhere",
            "POST",
            RESTORE,
            "Origin: https://evil.example\r\n",
            403,
            "foreign-origin",
        ),
        refused(
            "purge: another version",
            "DELETE",
            "/deleted-users/<id>",
            "If-Match: \"3\"\r\n",
            412,
            "version-mismatch",
        ),
        refused(
            "purge: a parameter",
            "DELETE",
            "/deleted-users/<id>?force=true",
            "",
            400,
            "invalid-query",
        ),
        row(
            "purge: of who is there",
            GONE,
            ask("DELETE", "/deleted-users/<id>", ""),
            problem(404, "user-not-found"),
        ),
        row(
            "purge: and no way back",
            GONE,
            leave()
                + &ask("DELETE", "/deleted-users/<id>", "")
                + &ask("DELETE", "/deleted-users/<id>", "")
                + &ask("POST", RESTORE, ""),
            ours(204),
        )
        .then(ours(204).without("content-length").without("content-type"))
        .then(problem(404, "user-not-found"))
        .then(problem(404, "user-not-found"))
        .deletes(),
        row(
            "deleted: a HEAD",
            "RFC 9110 section 9.3.2: what GET says, without its content",
            leave() + &get("/deleted-users/<id>", "") + &ask("HEAD", "/deleted-users/<id>", ""),
            ours(204),
        )
        .then(ours(200).with("etag", "\"2\"").saying("\"purge_at\""))
        .then(ours(200).head_of_the_one_before())
        .deletes(),
        row(
            "deleted: as it is known",
            "RFC 9110 section 15.4.5",
            leave() + &get("/deleted-users/<id>", "If-None-Match: \"2\"\r\n"),
            ours(204),
        )
        .then(ours(304).with("etag", "\"2\"").with("cache-control", "private, no-cache"))
        .deletes(),
        row(
            "deleted: an escaped slash in the id",
            "no id holds one",
            get("/deleted-users/<id>%2Frestore", ""),
            problem(404, "user-not-found"),
        ),
        row(
            "deleted: HEAD of the list",
            "RFC 9110 section 8.6: no page is read, so no length is told, not even 0",
            ask("HEAD", "/deleted-users", ""),
            ours(200).head().without("content-length").with("content-type", "application/json"),
        ),
        row(
            "deleted: the list as it is known",
            "RFC 9110 section 13.1.2",
            get("/deleted-users", "If-None-Match: *\r\n"),
            ours(304).with("cache-control", "private, no-cache").with("vary", "Accept-Encoding"),
        ),
    ]
}

pub(super) fn events() -> Vec<Row> {
    let invalid = |name, query: &str, parameter: &'static str| {
        let answer = problem(400, "invalid-query").saying(parameter);
        row(name, QUERY, get(&format!("/events?{query}"), ""), answer)
    };
    let private = "private, no-cache";
    vec![
        row(
            "events: of a user",
            "RFC 9111 section 5.2.2: personal data is nobody else's to keep",
            get("/users/<id>/events", ""),
            ours(200)
                .with("cache-control", private)
                .without("etag")
                .saying("\"subject\":\"users/<id>\"")
                .saying("\"source\":\"http://<host>\""),
        ),
        row(
            "events: HEAD of a user's",
            "RFC 9110 section 9.3.2: what GET says, without its content",
            get("/users/<id>/events", "") + &ask("HEAD", "/users/<id>/events", ""),
            ours(200),
        )
        .then(ours(200).head_of_the_one_before()),
        row("events: of nobody", GONE, get("/users/42/events", ""), problem(404, "user-not-found")),
        row(
            "events: of an id with an escaped slash",
            "no id holds one",
            get("/users/<id>%2Fevents", ""),
            problem(404, "user-not-found"),
        ),
        row(
            "events: of a user, as a list of them",
            GONE,
            get("/users/<id>/events/", ""),
            problem(404, "not-found"),
        ),
        row(
            "events: after a place of another log",
            PLACE,
            get("/events?after=0000000000000001-1", ""),
            problem(410, "position-outlived").saying("read the collection again"),
        ),
        row(
            "events: HEAD after a place of another log",
            PLACE,
            ask("HEAD", "/events?after=0000000000000001-1", ""),
            problem(410, "position-outlived").head(),
        ),
        invalid("events: after no place", "after=1", "\"after\""),
        invalid("events: after a place and more", "after=0000000000000001-1x", "\"after\""),
        invalid("events: after a place before the first", "after=0000000000000001--1", "\"after\""),
        invalid("events: of no kind", "type=user", "\"type\""),
        invalid("events: of no user", "user_id=42", "\"user_id\""),
        invalid("events: of a user in capitals", "USER_ID=42", "\"USER_ID\""),
        invalid("events: of an unknown kind", "type=user.created&type=user.gone", "\"type\""),
        row(
            "events: a foreign cursor",
            "a cursor is ours",
            get("/events?cursor=eyJhIjoxfQ", ""),
            problem(400, "invalid-cursor"),
        ),
        row(
            "events: under a tag",
            "RFC 9110 section 13.1.1: there is none that could match",
            get("/events", "If-Match: \"1\"\r\n"),
            problem(412, "version-mismatch"),
        ),
        row(
            "events: as XML",
            "RFC 9110 section 15.5.7",
            get("/events", "Accept: application/xml\r\n"),
            problem(406, "not-acceptable"),
        ),
    ]
}
