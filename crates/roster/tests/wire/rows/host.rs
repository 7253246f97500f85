//! The host of a request: `Host`, and targets in absolute form.

use crate::row::{Row, ask, get, ours, problem, row};

const INVALID: &str = "RFC 9112 section 3.2: a Host that is missing, double or invalid is 400";
const FOREIGN: &str = "RFC 9110 section 7.4: a name that is not ours is 421; a rebound name is one";
const OURS: &str = "RFC 9110 section 4.2.3: a name of ours, in another spelling";

fn with_host(host: &str) -> String {
    format!("GET /users/<id> HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

pub(super) fn rows() -> Vec<Row> {
    let invalid =
        |name, host: &str| row(name, INVALID, with_host(host), problem(400, "invalid-request"));
    let foreign =
        |name, host: &str| row(name, FOREIGN, with_host(host), problem(421, "misdirected-request"));
    let own = |name, host: &str| row(name, OURS, with_host(host), ours(200));
    vec![
        row(
            "host: missing",
            INVALID,
            "GET /users/<id> HTTP/1.1\r\n\r\n",
            problem(400, "invalid-request"),
        ),
        invalid("host: two", "<host>\r\nHost: evil.example"),
        invalid("host: two that are equal", "<host>\r\nHost: <host>"),
        invalid("host: empty", ""),
        invalid("host: with a space", "local host"),
        invalid("host: with a comma", "localhost, localhost"),
        invalid("host: with a path", "localhost/users"),
        invalid("host: with a scheme", "http://localhost"),
        invalid("host: with a user name", "evil@localhost"),
        invalid("host: a user name that looks like ours", "localhost@evil.example"),
        invalid("host: a port that is no number", "localhost:http"),
        invalid("host: a port beyond 65,535", "localhost:70000"),
        invalid("host: a bracket that is not closed", "[::1"),
        invalid("host: two colons", "localhost:80:80"),
        invalid("host: in UTF-8", "localhos\u{165}"),
        foreign("host: foreign", "evil.example"),
        foreign("host: foreign, with our port", "evil.example:<port>"),
        foreign("host: ours as the start of another", "localhost.evil.example"),
        foreign("host: ours as the end of another", "evil-localhost"),
        foreign("host: another address that begins as ours", "127.0.0.1.evil.example"),
        foreign("host: 0.0.0.0", "0.0.0.0:<port>"),
        foreign("host: the address of any interface in IPv6", "[::]:<port>"),
        foreign("host: the address in short", "127.1:<port>"),
        foreign("host: the address as one number", "2130706433:<port>"),
        foreign("host: with a dot at its end", "localhost.:<port>"),
        own("host: localhost", "localhost:<port>"),
        own("host: in capitals", "LOCALHOST:<port>"),
        own("host: without a port", "localhost"),
        own("host: with an empty port", "localhost:"),
        own("host: with another port", "localhost:1"),
        own("host: IPv6", "[::1]:<port>"),
        own("host: a name below localhost", "a.b.localhost:<port>"),
        own("host: another address of the loopback", "127.0.0.2:<port>"),
        own("host: the address of IPv4 in IPv6", "[::ffff:127.0.0.1]:<port>"),
        own("host: white space around it", " \t<host> \t"),
        row(
            "host: foreign, asked for health",
            "health is asked by machines that do not know our name",
            "GET /livez HTTP/1.1\r\nHost: probe.internal\r\n\r\n",
            ours(200),
        ),
        row(
            "host: foreign, asked for measurements",
            FOREIGN,
            "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            problem(421, "misdirected-request"),
        ),
        row(
            "host: foreign, with a method that is unknown",
            "the guard comes before routing",
            "BREW /nowhere HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            problem(421, "misdirected-request"),
        ),
    ]
}

pub(super) fn absolute() -> Vec<Row> {
    let overrides = "RFC 9112 section 3.2.2: the target overrides Host, which is ignored";
    let scheme = "RFC 9110 section 7.4: https that did not come through TLS must be refused";
    let misdirected = || problem(421, "misdirected-request");
    vec![
        row(
            "absolute: ours",
            "RFC 9112 section 3.2.2: a server must take it",
            get("http://<host>/users/<id>", ""),
            ours(200),
        ),
        row(
            "absolute: without a path",
            "RFC 9110 section 4.2.3: an empty path is /",
            get("http://<host>", ""),
            ours(200).saying("\"links\""),
        ),
        row("absolute: foreign", FOREIGN, get("http://evil.example/users/<id>", ""), misdirected()),
        row(
            "absolute: ours, with a foreign Host",
            overrides,
            "GET http://<host>/users/<id> HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            ours(200),
        ),
        row(
            "absolute: ours, with an invalid Host",
            "RFC 9112 section 3.2: an invalid Host is 400",
            "GET http://<host>/users/<id> HTTP/1.1\r\nHost: a b\r\n\r\n",
            problem(400, "invalid-request"),
        ),
        row(
            "absolute: without Host",
            INVALID,
            "GET http://<host>/users/<id> HTTP/1.1\r\n\r\n",
            problem(400, "invalid-request"),
        ),
        row(
            "absolute: with a user name",
            "RFC 9110 section 4.2.4: a user name there is an error",
            get("http://evil@<host>/users/<id>", ""),
            problem(400, "invalid-request"),
        ),
        row("absolute: https", scheme, get("https://<host>/users/<id>", ""), misdirected()),
        row("absolute: ftp", scheme, get("ftp://<host>/users/<id>", ""), misdirected()),
        row(
            "absolute: a foreign target with OPTIONS",
            FOREIGN,
            ask("OPTIONS", "http://evil.example/users", ""),
            misdirected(),
        ),
        row(
            "absolute: HTTP/1.0 without Host",
            "RFC 9112 section 3.2: Host is asked of HTTP/1.1; before the first key it is refused",
            "GET http://<host>/users/<id> HTTP/1.0\r\n\r\n",
            problem(403, "forwarded-request"),
        )
        .closes(),
    ]
}
