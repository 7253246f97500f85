//! Requests that a web page makes a browser send, and requests that came through a proxy.

use crate::row::{Answer, JSON, Row, USER, ask, get, ours, problem, row, send};

const ORIGIN: &str = "RFC 6454 section 7: a page of another origin asks; null is one too";
const SITE: &str = "Fetch Metadata section 2.3: another site asks, be it by a read";
const NAVIGATION: &str = "Fetch Metadata section 2.2: a person goes to a page of ours";
const PROXY: &str = "RFC 7239: a proxy brings strangers to a service that trusts this machine";

fn foreign() -> Answer {
    problem(403, "foreign-origin").without("access-control-allow-origin")
}

pub(super) fn rows() -> Vec<Row> {
    let origin = |name, value: &str, answer: Answer| {
        row(name, ORIGIN, get("/users/<id>", &format!("Origin: {value}\r\n")), answer)
    };
    let write = |name, lines: &str, answer: Answer| {
        row(name, ORIGIN, send("POST", "/users", &format!("{JSON}{lines}"), USER), answer)
    };
    let site = |name, path: &str, value: &str, answer: Answer| {
        let lines = format!("Sec-Fetch-Site: {value}\r\n");
        row(name, SITE, get(path, &lines), answer)
    };
    let comes = |name, path: &str, lines: &str, answer: Answer| {
        let lines = format!("Sec-Fetch-Site: cross-site\r\n{lines}Accept: text/html, */*\r\n");
        row(name, NAVIGATION, get(path, &lines), answer)
    };
    let navigate = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    let proxied = |name, line: &str| {
        row(name, PROXY, get("/users/<id>", line), problem(403, "forwarded-request"))
    };
    let own = || ours(200).without("access-control-allow-origin");
    vec![
        origin("origin: foreign", "http://evil.example", foreign()),
        origin("origin: null", "null", foreign()),
        origin("origin: empty", "", foreign()),
        origin("origin: ours", "http://<host>", own()),
        origin("origin: ours, in capitals", "HTTP://<host>", foreign()),
        origin("origin: our name with another port", "http://127.0.0.1:1", foreign()),
        origin("origin: our name without a port", "http://127.0.0.1", foreign()),
        origin("origin: our name with TLS", "https://<host>", foreign()),
        origin("origin: another name of this machine", "http://localhost:<port>", foreign()),
        origin("origin: ours as a part of another", "http://<host>.evil.example", foreign()),
        origin("origin: ours as a user name", "http://<host>@evil.example", foreign()),
        origin(
            "origin: ours, then another",
            "http://<host>\r\nOrigin: http://evil.example",
            foreign(),
        ),
        origin("origin: two in one line", "http://<host> http://evil.example", foreign()),
        origin("origin: of a file", "file://", foreign()),
        origin("origin: bytes above 127", "http://evil\u{e9}", foreign()),
        write("origin: a foreign write", "Origin: http://evil.example\r\n", foreign()),
        write("origin: a write of ours", "Origin: http://<host>\r\n", ours(201)),
        row(
            "origin: a foreign page asks before it calls",
            "no CORS: the browser's question is refused like the call",
            ask(
                "OPTIONS",
                "/users",
                "Origin: http://evil.example\r\nAccess-Control-Request-Method: PUT\r\n",
            ),
            foreign(),
        ),
        row(
            "origin: a foreign page asks for health",
            "health is asked by machines that do not know our guards; it tells nothing",
            get("/livez", "Origin: http://evil.example\r\n"),
            own(),
        ),
        site("site: cross-site", "/users", "cross-site", foreign()),
        site("site: same-site", "/users", "same-site", foreign()),
        site("site: something new", "/users", "zork", foreign()),
        site("site: same-origin", "/users", "same-origin", own()),
        site("site: none", "/users", "none", own()),
        site("site: cross-site, without navigation to a page", "/docs", "cross-site", foreign()),
        site(
            "site: cross-site, asked for the description",
            "/openapi.json",
            "cross-site",
            foreign(),
        ),
        site("site: cross-site, asked for measurements", "/metrics", "cross-site", foreign()),
        comes("navigation: to the service", "/", navigate, own()),
        comes("navigation: to the reference", "/docs", navigate, own()),
        comes("navigation: to the problems", "/problems", navigate, own()),
        comes("navigation: to a problem", "/problems/not-found", navigate, own()),
        comes("navigation: to the users", "/users", navigate, foreign()),
        comes("navigation: to a user", "/users/<id>", navigate, foreign()),
        comes("navigation: to the description", "/openapi.json", navigate, foreign()),
        comes(
            "navigation: in a frame",
            "/docs",
            "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
            foreign(),
        ),
        comes(
            "navigation: of a script",
            "/docs",
            "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n",
            foreign(),
        ),
        comes(
            "navigation: with a foreign origin",
            "/docs",
            "Sec-Fetch-Mode: navigate\r\nOrigin: null\r\n",
            foreign(),
        ),
        row(
            "navigation: by a form",
            NAVIGATION,
            send(
                "POST",
                "/users",
                "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\
                 Content-Type: text/plain\r\n",
                USER,
            ),
            foreign(),
        ),
        proxied("proxy: Forwarded", "Forwarded: for=10.0.0.1\r\n"),
        proxied("proxy: X-Forwarded-For", "X-Forwarded-For: 10.0.0.1\r\n"),
        proxied("proxy: X-Forwarded-Host", "X-Forwarded-Host: localhost\r\n"),
        proxied("proxy: X-Forwarded-Proto", "X-FORWARDED-PROTO: https\r\n"),
        proxied("proxy: X-Forwarded-Anything", "X-Forwarded-Zork: 1\r\n"),
        proxied("proxy: X-Forwarded", "X-Forwarded: for=10.0.0.1\r\n"),
        proxied("proxy: Via", "Via: 1.1 proxy\r\n"),
        proxied("proxy: CF-Connecting-IP", "CF-Connecting-IP: 10.0.0.1\r\n"),
        proxied("proxy: X-Client-IP", "X-Client-IP: 10.0.0.1\r\n"),
        proxied("proxy: True-Client-IP", "True-Client-IP: 10.0.0.1\r\n"),
        proxied("proxy: X-Envoy-External-Address", "X-Envoy-External-Address: 10.0.0.1\r\n"),
        proxied("proxy: X-Real-IP", "X-Real-IP: 10.0.0.1\r\n"),
        row(
            "proxy: asked for health",
            "health is asked by machines that do not know our guards",
            get("/readyz", "X-Forwarded-For: 10.0.0.1\r\n"),
            ours(200),
        ),
    ]
}
