//! Headers of every response of a kind: whether it may be cached, and which names it reveals.

use crate::row::{JSON, Row, USER, ask, get, ours, post, problem, row, send};

const CACHE: &str = "RFC 9111 section 5.2.2: personal data is nobody else's to keep";
const PAGE: &str = "RFC 9111 section 5.2.2: asked for again each time";
const HEALTH: &str = "RFC 9111 section 5.2.2: true now, and not kept";
const NAME: &str = "RFC 9110 section 7.2: Host is the caller's word; our own name is a setting";

pub(super) fn rows() -> Vec<Row> {
    let cached = |name, why, path: &str, value: &'static str| {
        row(name, why, get(path, ""), ours(200).with("cache-control", value))
    };
    let private = "private, no-cache";
    vec![
        cached("cache: a user", CACHE, "/users/<id>", private),
        cached("cache: a list", CACHE, "/users", private),
        row(
            "cache: a user who was made",
            CACHE,
            post(USER),
            ours(201).with("cache-control", private),
        ),
        row(
            "cache: a user who was changed",
            CACHE,
            send("PATCH", "/users/<id>", JSON, b"{\"title\":\"Dr\"}"),
            ours(200).with("cache-control", private).with("etag", "\"2\""),
        ),
        row(
            "cache: a user who was not",
            CACHE,
            send("PATCH", "/users/<id>", JSON, b"{}"),
            ours(200).with("cache-control", private).with("etag", "\"1\""),
        ),
        row(
            "cache: not modified",
            "RFC 9110 section 15.4.5: what a 200 would say of the cache, and the tag",
            get("/users/<id>", "If-None-Match: *\r\n"),
            ours(304).with("cache-control", private).with("etag", "\"1\""),
        ),
        row(
            "cache: a list not modified",
            "RFC 9110 section 15.4.5: what a 200 would say of the cache, and Vary",
            get("/users", "If-None-Match: *\r\n"),
            ours(304).with("cache-control", private).with("vary", "Accept-Encoding"),
        ),
        cached("cache: the service", PAGE, "/", "no-cache"),
        cached("cache: the description", PAGE, "/openapi.json", "no-cache"),
        cached("cache: the reference", PAGE, "/docs", "no-cache"),
        cached("cache: liveness", HEALTH, "/livez", "no-store"),
        cached("cache: readiness", HEALTH, "/readyz", "no-store"),
        cached("cache: measurements", HEALTH, "/metrics", "no-store"),
        row(
            "name: in the service document",
            NAME,
            "GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
            ours(200).saying("\"http://<host>/users\""),
        ),
        row(
            "name: in a problem",
            NAME,
            "GET /nowhere HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
            problem(404, "not-found").saying("\"http://<host>/problems/not-found\""),
        ),
        row(
            "server: nothing tells what we are made of",
            "RFC 9110 section 10.2.4: Server may be left out",
            ask("OPTIONS", "/users", ""),
            ours(204).without("server").without("via").without("x-powered-by"),
        ),
    ]
}
