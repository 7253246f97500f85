//! Methods: supported, known but not supported by the path, and unknown.

use crate::row::{Answer, Row, ask, get, ours, problem, row};

const NOT_HERE: &str = "RFC 9110 section 15.5.6: 405 with what the path offers";
const UNKNOWN: &str = "RFC 9110 section 15.6.2: a method that we do not know is 501";
const OPTIONS: &str = "RFC 9110 section 9.3.7: what the path offers, all of it";

const USERS: &str = "GET, HEAD, POST, OPTIONS";
const MANY: &str = "GET, HEAD, POST, PATCH, DELETE, OPTIONS";
const USER: &str = "GET, HEAD, PUT, PATCH, DELETE, OPTIONS";
const DELETED: &str = "GET, HEAD, DELETE, OPTIONS";
const RESTORE: &str = "POST, OPTIONS";
const READS: &str = "GET, HEAD, OPTIONS";
const EVERY: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

fn unknown() -> Answer {
    problem(501, "method-not-implemented")
}

fn not_allowed(allow: &'static str) -> Answer {
    problem(405, "method-not-allowed").with("allow", allow)
}

pub(super) fn rows() -> Vec<Row> {
    let unknown_as = |name, method: &str| row(name, UNKNOWN, ask(method, "/users", ""), unknown());
    vec![
        unknown_as("method: BREW", "BREW"),
        unknown_as("method: get", "get"),
        unknown_as("method: Get", "Get"),
        unknown_as("method: PROPFIND", "PROPFIND"),
        unknown_as("method: one that begins like POST", "POSTS"),
        unknown_as("method: of every sign of a token", "!#$%&'*+-.^_`|~09Az"),
        row("method: of 1,000 letters", UNKNOWN, ask(&"X".repeat(1_000), "/users", ""), unknown()),
        row(
            "method: unknown, on no path",
            "an unknown method is unknown everywhere",
            ask("BREW", "/nowhere", ""),
            unknown(),
        ),
        row(
            "method: known, on no path",
            "RFC 9110 section 15.5.5",
            ask("DELETE", "/nowhere", ""),
            problem(404, "not-found"),
        ),
        row(
            "method: CONNECT to us",
            "RFC 9110 section 9.3.6: we are no tunnel; known, and offered nowhere",
            ask("CONNECT", "<host>", ""),
            not_allowed(EVERY),
        ),
        row(
            "method: CONNECT to another",
            "RFC 9110 section 7.4",
            ask("CONNECT", "evil.example:443", ""),
            problem(421, "misdirected-request"),
        ),
        row(
            "method: OPTIONS *",
            "RFC 9110 section 9.3.7: the server as a whole",
            ask("OPTIONS", "*", ""),
            ours(204).with("allow", EVERY),
        ),
        row(
            "method: GET *",
            "RFC 9112 section 3.2.4: the star goes with OPTIONS alone",
            ask("GET", "*", ""),
            problem(400, "invalid-request"),
        ),
        row(
            "method: OPTIONS on no path",
            "RFC 9110 section 15.5.5",
            ask("OPTIONS", "/nowhere", ""),
            problem(404, "not-found"),
        ),
        row(
            "method: one that would override",
            "no field changes the method: the guards have seen GET",
            get("/users/<id>", "X-HTTP-Method-Override: DELETE\r\nX-Method-Override: DELETE\r\n"),
            ours(200),
        ),
        row(
            "method: OPTIONS as a browser asks before it calls",
            "no CORS: nothing allows another origin",
            ask("OPTIONS", "/users", "Access-Control-Request-Method: POST\r\n"),
            ours(204)
                .without("access-control-allow-origin")
                .without("access-control-allow-methods"),
        ),
        row(
            "method: HEAD of a user",
            "RFC 9110 section 9.3.2: what GET says, without its content",
            get("/users/<id>", "") + &ask("HEAD", "/users/<id>", ""),
            ours(200).with("etag", "\"1\""),
        )
        .then(ours(200).head_of_the_one_before()),
        row(
            "method: HEAD of the description",
            "RFC 9110 section 9.3.2",
            get("/openapi.json", "") + &ask("HEAD", "/openapi.json", ""),
            ours(200),
        )
        .then(ours(200).head_of_the_one_before()),
        row(
            "method: HEAD of no user",
            "RFC 9110 section 9.3.2: an error has the length of that of GET, ids of requests apart",
            get("/users/nobody", "X-Request-Id: a\r\n")
                + &ask("HEAD", "/users/nobody", "X-Request-Id: a\r\n"),
            problem(404, "user-not-found"),
        )
        .then(problem(404, "user-not-found").head_of_the_one_before()),
        row(
            "method: HEAD of what offers none",
            "RFC 9110 section 9.3.2",
            ask("HEAD", "/nowhere", ""),
            problem(404, "not-found").head(),
        ),
        row(
            "method: HEAD of a list",
            "RFC 9110 section 8.6: no page is read, so no length is told, not even 0",
            ask("HEAD", "/users", ""),
            ours(200).head().without("content-length").with("content-type", "application/json"),
        ),
        row(
            "method: HEAD of an export",
            "RFC 9110 section 8.6: no record is read, so no length is told",
            ask("HEAD", "/bulk/users", ""),
            ours(200).head().without("content-length").with("content-type", "application/x-ndjson"),
        ),
        row(
            "method: HEAD of a list with a fault in its query",
            "RFC 9110 section 9.3.2: everything is checked",
            ask("HEAD", "/users?limit=0", ""),
            problem(400, "invalid-query").head(),
        ),
    ]
}

pub(super) fn allowed() -> Vec<Row> {
    let options = |name, path: &str, allow: &'static str| {
        row(name, OPTIONS, ask("OPTIONS", path, ""), ours(204).with("allow", allow))
    };
    let refused = |name, method: &str, path: &str, allow: &'static str| {
        row(name, NOT_HERE, ask(method, path, ""), not_allowed(allow))
    };
    vec![
        options("allow: users", "/users", USERS),
        options("allow: a user", "/users/<id>", USER),
        options("allow: events of a user", "/users/<id>/events", READS),
        options("allow: deleted users", "/deleted-users", READS),
        options("allow: groups", "/groups", USERS),
        options("allow: many users", "/bulk/users", MANY),
        options("allow: all groups", "/bulk/groups", USERS),
        options("allow: all deleted users", "/bulk/deleted-users", READS),
        options("allow: a deleted user", "/deleted-users/<id>", DELETED),
        options("allow: a restore", "/deleted-users/<id>/restore", RESTORE),
        options("allow: events", "/events", READS),
        options("allow: the service", "/", READS),
        options("allow: the description", "/openapi.json", READS),
        options("allow: the reference", "/docs", READS),
        options("allow: problems", "/problems", READS),
        options("allow: a problem", "/problems/not-found", READS),
        options("allow: liveness", "/livez", READS),
        options("allow: readiness", "/readyz", READS),
        options("allow: measurements", "/metrics", READS),
        refused("not here: PUT on users", "PUT", "/users", USERS),
        refused("not here: TRACE on users", "TRACE", "/users", USERS),
        refused("not here: QUERY on users", "QUERY", "/users", USERS),
        refused("not here: PATCH on users", "PATCH", "/users", USERS),
        refused("not here: DELETE on users", "DELETE", "/users", USERS),
        refused("not here: PATCH on groups", "PATCH", "/groups", USERS),
        refused("not here: PUT on many users", "PUT", "/bulk/users", MANY),
        refused("not here: PATCH on all groups", "PATCH", "/bulk/groups", USERS),
        refused("not here: DELETE on all deleted users", "DELETE", "/bulk/deleted-users", READS),
        refused("not here: POST on a user", "POST", "/users/<id>", USER),
        refused("not here: TRACE on a user", "TRACE", "/users/<id>", USER),
        refused("not here: CONNECT on a path", "CONNECT", "/users", USERS),
        refused("not here: POST on events of a user", "POST", "/users/<id>/events", READS),
        refused("not here: POST on deleted users", "POST", "/deleted-users", READS),
        refused("not here: DELETE on deleted users", "DELETE", "/deleted-users", READS),
        refused("not here: POST on a deleted user", "POST", "/deleted-users/<id>", DELETED),
        refused("not here: PUT on a deleted user", "PUT", "/deleted-users/<id>", DELETED),
        refused("not here: PATCH on a deleted user", "PATCH", "/deleted-users/<id>", DELETED),
        refused("not here: GET on a restore", "GET", "/deleted-users/<id>/restore", RESTORE),
        row(
            "not here: HEAD on a restore",
            NOT_HERE,
            ask("HEAD", "/deleted-users/<id>/restore", ""),
            not_allowed(RESTORE).head(),
        ),
        refused("not here: PUT on a restore", "PUT", "/deleted-users/<id>/restore", RESTORE),
        refused("not here: POST on events", "POST", "/events", READS),
        refused("not here: DELETE on events", "DELETE", "/events", READS),
        refused("not here: POST on the service", "POST", "/", READS),
        refused("not here: PUT on the description", "PUT", "/openapi.json", READS),
        refused("not here: DELETE on the reference", "DELETE", "/docs", READS),
        refused("not here: POST on problems", "POST", "/problems", READS),
        refused("not here: PATCH on a problem", "PATCH", "/problems/not-found", READS),
        refused("not here: POST on liveness", "POST", "/livez", READS),
        refused("not here: PUT on readiness", "PUT", "/readyz", READS),
        refused("not here: DELETE on measurements", "DELETE", "/metrics", READS),
    ]
}
