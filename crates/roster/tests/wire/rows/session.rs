//! The session of the console: a request with half of one, with parts that do not belong together,
//! or with more than one credential.

use crate::row::{Answer, JSON, Row, USER, ask, get, ours, problem, row, send};

const HALF: &str =
    "docs/console.md: a cookie alone is no credential, so another site cannot use it";
const PROOF: &str = "docs/console.md: a proof asks for a session; without its cookie it has ended";
const ONE: &str = "RFC 6750 section 2: one way to authenticate in a request";
const SIGN_IN: &str = "RFC 6750 section 3: a sign-in needs a key or a token";
const OUT: &str = "a sign-out must work after the end of a session, so it needs none";

const OWN: &str = "Sec-Fetch-Site: same-origin\r\n";
const COOKIE: &str = "Cookie: roster-<port>=c2Vzc2lvbg\r\n";
const GIVEN: &str = "Roster-Console: cHJvb2Y\r\n";

pub(super) fn rows() -> Vec<Row> {
    let read = |name, why, lines: &[&str], answer: Answer| {
        row(name, why, get("/users/<id>", &lines.concat()), answer)
    };
    let session = |name, why, method: &str, lines: &[&str], answer: Answer| {
        row(name, why, ask(method, "/console/session", &lines.concat()), answer)
    };
    let ended = || {
        problem(401, "unauthenticated")
            .with("www-authenticate", "Bearer realm=\"roster\"")
            .without("set-cookie")
            .saying("the session has ended")
    };
    let refused = || problem(401, "unauthenticated").without("set-cookie");
    let two = || problem(400, "invalid-request").without("set-cookie");
    vec![
        read("session: a cookie alone", HALF, &[COOKIE, OWN], ours(200).without("set-cookie")),
        read("session: a proof alone", PROOF, &[GIVEN, OWN], ended()),
        read("session: a proof, no page", PROOF, &[GIVEN], ended()),
        read("session: a cookie that is none", PROOF, &[GIVEN, COOKIE, OWN], ended()),
        read("session: no word on the page", PROOF, &[GIVEN, COOKIE], ended()),
        read(
            "session: a cookie of another port",
            PROOF,
            &[GIVEN, "Cookie: roster-1=c2Vzc2lvbg\r\n", OWN],
            ended(),
        ),
        read("session: an empty proof", PROOF, &["Roster-Console: \r\n", COOKIE, OWN], ended()),
        read(
            "session: from another port of the host",
            "Fetch Metadata section 2.3: a page of another origin asks",
            &[GIVEN, COOKIE, "Sec-Fetch-Site: same-site\r\n"],
            problem(403, "foreign-origin").without("set-cookie"),
        ),
        read("session: two proofs", ONE, &[GIVEN, GIVEN, COOKIE, OWN], two()),
        read(
            "session: a proof and a key",
            ONE,
            &[GIVEN, COOKIE, OWN, "Authorization: Bearer rst_x\r\n"],
            two(),
        ),
        row(
            "session: a write with half of one",
            PROOF,
            send("POST", "/users", &[JSON, GIVEN, OWN].concat(), USER),
            ended(),
        ),
        session("sign-in: nothing", SIGN_IN, "POST", &[OWN], refused()),
        session(
            "sign-in: a wrong key",
            SIGN_IN,
            "POST",
            &[OWN, "Authorization: Bearer rst_x\r\n"],
            refused(),
        ),
        session(
            "sign-in: a name and a password",
            SIGN_IN,
            "POST",
            &[OWN, "Authorization: Basic eDp5\r\n"],
            refused(),
        ),
        session("sign-in: an ended session", SIGN_IN, "POST", &[GIVEN, COOKIE, OWN], ended()),
        session("renewal: an ended session", PROOF, "PUT", &[GIVEN, COOKIE, OWN], ended()),
        session("renewal: none", PROOF, "PUT", &[OWN], two()),
        session(
            "sign-out: an ended session",
            OUT,
            "DELETE",
            &[GIVEN, COOKIE, OWN],
            ours(204).with("clear-site-data", "\"cache\""),
        ),
        session("sign-out: none", OUT, "DELETE", &[OWN], ours(204)),
        session(
            "sign-out: by a page of another origin",
            "Fetch Metadata section 2.3: a page of another origin asks",
            "DELETE",
            &["Sec-Fetch-Site: cross-site\r\n"],
            problem(403, "foreign-origin").without("set-cookie"),
        ),
    ]
}
