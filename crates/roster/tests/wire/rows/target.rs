//! Paths and queries. A path is compared byte for byte; a query is decoded strictly.

use crate::row::{Row, ask, get, ours, parser, problem, row};

const EXACT: &str = "RFC 3986 section 6.2.1: one resource has one spelling, and no redirect";
const ESCAPE: &str = "RFC 3986 section 2.2: an escape is never decoded into a path; no id has one";
const QUERY: &str = "what cannot mean what was meant is refused, not guessed";

pub(super) fn rows() -> Vec<Row> {
    let nowhere = |name, path: &str| row(name, EXACT, get(path, ""), problem(404, "not-found"));
    let nobody =
        |name, path: &str| row(name, ESCAPE, get(path, ""), problem(404, "user-not-found"));
    vec![
        nowhere("path: a slash at the end", "/users/"),
        nowhere("path: a slash behind a user", "/users/<id>/"),
        nowhere("path: two slashes", "//users"),
        nowhere("path: two slashes before a user", "/users//<id>"),
        nowhere("path: in capitals", "/USERS"),
        nowhere("path: one dot", "/./users"),
        nowhere("path: two dots", "/users/../users"),
        nowhere("path: two dots at the end", "/users/<id>/.."),
        nowhere("path: escaped letters", "/%75sers"),
        nowhere("path: an escaped slash for a slash", "/users%2F<id>"),
        nowhere("path: a parameter", "/users;v=1"),
        nowhere("path: a suffix", "/users.json"),
        nowhere("path: further on", "/users/<id>/x"),
        nowhere("path: a backslash", "/users\\<id>"),
        nobody("user: of another form", "/users/42"),
        nobody("user: two dots", "/users/.."),
        nobody("user: an escaped slash", "/users/<id>%2Fx"),
        nobody("user: an escaped NUL", "/users/<id>%00"),
        nobody("user: a broken escape", "/users/%zz"),
        nobody("user: half an escape", "/users/<id>%2"),
        nobody("user: escaped bytes that are no UTF-8", "/users/%ff%fe"),
        nobody("user: an escaped line break", "/users/<id>%0d%0a"),
        nobody("user: an escaped digit", "/users/%30<id>"),
        nobody("user: a parameter", "/users/<id>;v=1"),
        nobody("user: in braces", "/users/{<id>}"),
        nobody("user: that never was", "/users/0190b000-0000-7000-8000-000000000000"),
        nobody("user: of the nil id", "/users/00000000-0000-0000-0000-000000000000"),
        row(
            "user: in UTF-8",
            "RFC 9112 section 3.2: bytes above 127 are none; hyper hands them on, no id has one",
            get("/users/\u{e9}", ""),
            problem(404, "user-not-found"),
        ),
        row(
            "user: bytes that are no UTF-8",
            "RFC 9112 section 3.2: they are no target, and hyper refuses them",
            b"GET /users/\xff HTTP/1.1\r\nHost: <host>\r\n\r\n".to_vec(),
            parser(400),
        )
        .closes(),
        row(
            "user: a fragment",
            "RFC 9112 section 3.2: a client sends none; hyper drops it, and no id had one",
            get("/users/<id>#x", ""),
            ours(200),
        ),
        row(
            "user: deleting none",
            "RFC 9110 section 15.5.5",
            ask("DELETE", "/users/42", ""),
            problem(404, "user-not-found"),
        ),
        row(
            "user: deleted",
            "RFC 9110 section 9.3.5",
            ask("DELETE", "/users/<id>", "") + &get("/users/<id>", ""),
            ours(204).without("content-length").without("content-type"),
        )
        .then(problem(404, "user-not-found"))
        .deletes(),
    ]
}

pub(super) fn queries() -> Vec<Row> {
    let invalid = |name, query: &str, parameter: &'static str| {
        let answer = problem(400, "invalid-query").saying(parameter);
        row(name, QUERY, get(&format!("/users?{query}"), ""), answer)
    };
    let takes =
        |name, why, query: &str| row(name, why, get(&format!("/users?{query}"), ""), ours(200));
    vec![
        invalid("query: unknown", "zork=1", "\"zork\""),
        invalid("query: in capitals", "LIMIT=1", "\"LIMIT\""),
        invalid("query: twice", "limit=1&limit=2", "\"limit\""),
        invalid("query: twice the same", "limit=1&limit=1", "\"limit\""),
        invalid("query: twice, once escaped", "limit=1&%6cimit=2", "\"limit\""),
        invalid("query: two faults", "limit=0&sort=zork", "\"sort\""),
        invalid("query: a broken escape", "username=%zz", "escape"),
        invalid("query: half an escape", "username=%4", "escape"),
        invalid("query: no UTF-8", "username=%ff", "UTF-8"),
        invalid("query: a surrogate", "username=%ed%a0%80", "UTF-8"),
        invalid("query: an overlong form", "username=%c0%af", "UTF-8"),
        invalid("query: in plain UTF-8", "username=\u{e9}", "UTF-8"),
        invalid("query: a limit of 0", "limit=0", "\"limit\""),
        invalid("query: a limit of 1001", "limit=1001", "\"limit\""),
        invalid("query: a negative limit", "limit=-1", "\"limit\""),
        invalid("query: a limit with a sign", "limit=%2B5", "\"limit\""),
        invalid("query: a limit with a fraction", "limit=1.5", "\"limit\""),
        invalid("query: a limit of 30 digits", "limit=111111111111111111111111111111", "\"limit\""),
        invalid("query: an empty limit", "limit=", "\"limit\""),
        invalid("query: a name without a value", "limit", "\"limit\""),
        invalid("query: an unknown order", "sort=password", "\"sort\""),
        invalid("query: an unknown member", "fields=id,zork", "\"fields\""),
        invalid("query: an unknown status", "status=deleted", "\"status\""),
        invalid("query: no truth value", "count=yes", "\"count\""),
        invalid("query: an id of another form", "id=42", "\"id\""),
        invalid("query: an offset", "offset=10", "\"offset\""),
        row(
            "query: a foreign cursor",
            "a cursor is ours and sealed",
            get("/users?cursor=eyJhIjoxfQ", ""),
            problem(400, "invalid-cursor"),
        ),
        row(
            "query: on a user",
            QUERY,
            get("/users/<id>?expand=all", ""),
            problem(400, "invalid-query").saying("\"expand\""),
        ),
        row(
            "query: on a DELETE",
            QUERY,
            ask("DELETE", "/users/<id>?force=true", ""),
            problem(400, "invalid-query").saying("\"force\""),
        ),
        takes("query: empty", "RFC 3986 section 3.4: nothing is asked", ""),
        takes("query: empty pairs", "RFC 3986 section 3.4: nothing is asked", "&&limit=1&"),
        takes("query: a limit of 1000", "the largest", "limit=1000"),
        takes("query: a question mark in a value", "RFC 3986 section 3.4", "username=a?b"),
        takes("query: an escaped name", "RFC 3986 section 2.4", "%6cimit=1"),
        takes("query: an escaped NUL in a value", "a text that no user has", "username=a%00b"),
    ]
}
