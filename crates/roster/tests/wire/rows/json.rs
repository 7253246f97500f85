//! Bodies that are not JSON, or not the JSON that the service accepts. A body that cannot be parsed
//! gets 400; one that is parsed but is not a valid user gets 422 (RFC 9110 section 15.5.21).

use crate::row::{Answer, Row, ours, post, problem, row};

const GRAMMAR: &str = "RFC 8259 section 2: it is not the grammar of JSON";
const NUMBER: &str = "RFC 8259 section 6: it is not the grammar of a number";
const NAMES: &str = "RFC 7493 section 2.3: which of two equal names counts, nobody can say";
const UTF8: &str = "RFC 8259 section 8.1: JSON is UTF-8";
const SURROGATE: &str = "RFC 7493 section 2.1: a surrogate alone is no character";
const DIGITS: &str = "RFC 7493 section 2.2: it would lose digits";
const DEPTH: &str = "RFC 8259 section 9: a parser may limit the depth; ours is 64";
const CONTROL: &str = "RFC 8264 section 9.11: control characters have no place in text";
const SHAPE: &str = "RFC 9110 section 15.5.21: it can be read but is no user";

fn malformed() -> Answer {
    problem(400, "malformed-json")
}

fn invalid() -> Answer {
    problem(422, "invalid-user")
}

fn nested(open: &str, count: usize, close: &str) -> Vec<u8> {
    post(format!("{}{}", open.repeat(count), close.repeat(count)).as_bytes())
}

pub(super) fn rows() -> Vec<Row> {
    let refused = |name, why, content: &[u8]| row(name, why, post(content), malformed());
    let invalid_as = |name, why, content: &[u8], says: &'static str| {
        row(name, why, post(content), invalid().saying(says))
    };
    vec![
        refused("json: no content", GRAMMAR, b""),
        refused("json: white space alone", GRAMMAR, b" \r\n\t "),
        refused("json: a member without a value", GRAMMAR, br#"{"username":}"#),
        refused("json: broken off in a string", GRAMMAR, br#"{"username":"wire-<n>"#),
        refused("json: broken off in an object", GRAMMAR, br#"{"username":"wire-<n>","#),
        refused("json: words behind the value", GRAMMAR, br#"{"username":"wire-<n>"} x"#),
        refused("json: a second value", GRAMMAR, br#"{"username":"wire-<n>"}{}"#),
        refused("json: a NUL behind the value", GRAMMAR, b"{\"username\":\"wire-<n>\"}\0"),
        refused("json: a comma at the end", GRAMMAR, br#"{"username":"wire-<n>",}"#),
        refused("json: a comment", GRAMMAR, br#"{"username":"wire-<n>"/*x*/}"#),
        refused("json: single quotes", GRAMMAR, b"{'username':'wire-<n>'}"),
        refused("json: a name without quotes", GRAMMAR, br#"{username:"wire-<n>"}"#),
        refused("json: a form", GRAMMAR, b"username=wire-<n>"),
        refused("json: True", GRAMMAR, br#"{"username":"wire-<n>","email_verified":True}"#),
        refused("json: an unknown escape", GRAMMAR, br#"{"username":"wire-<n>\x41"}"#),
        refused("json: a line break in a string", GRAMMAR, b"{\"username\":\"wire-<n>\n\"}"),
        refused("json: a NUL in a string", GRAMMAR, b"{\"username\":\"wire-<n>\0\"}"),
        refused("json: NaN", NUMBER, br#"{"username":"wire-<n>","attributes":{"x":NaN}}"#),
        refused(
            "json: Infinity",
            NUMBER,
            br#"{"username":"wire-<n>","attributes":{"x":Infinity}}"#,
        ),
        refused(
            "json: -Infinity",
            NUMBER,
            br#"{"username":"wire-<n>","attributes":{"x":-Infinity}}"#,
        ),
        refused(
            "json: a leading zero",
            NUMBER,
            br#"{"username":"wire-<n>","attributes":{"x":01}}"#,
        ),
        refused("json: a plus sign", NUMBER, br#"{"username":"wire-<n>","attributes":{"x":+1}}"#),
        refused("json: hexadecimal", NUMBER, br#"{"username":"wire-<n>","attributes":{"x":0x1}}"#),
        refused("json: 1e999", DIGITS, br#"{"username":"wire-<n>","attributes":{"x":1e999}}"#),
        refused(
            "json: a whole number of 64 unsigned bits",
            DIGITS,
            br#"{"username":"wire-<n>","attributes":{"x":9223372036854775808}}"#,
        ),
        refused(
            "json: a whole number of 24 digits",
            DIGITS,
            br#"{"username":"wire-<n>","attributes":{"x":123456789012345678901234}}"#,
        ),
        row(
            "json: a whole number that a double would round",
            "RFC 7493 section 2.2: 64 bits are kept exactly",
            post(br#"{"username":"wire-<n>","attributes":{"x":9007199254740993}}"#),
            ours(201).saying("9007199254740993"),
        ),
        refused("json: a name twice", NAMES, br#"{"username":"wire-<n>","username":"b"}"#),
        refused("json: a name twice in depth", NAMES, br#"{"attributes":{"a":[{"b":1,"b":1}]}}"#),
        refused("json: a name twice, once escaped", NAMES, br#"{"attributes":{"a":1,"\u0061":2}}"#),
        refused("json: a name twice, unknown", NAMES, br#"{"__proto__":1,"__proto__":2}"#),
        refused("json: a byte that is no UTF-8", UTF8, b"{\"username\":\"wire-\xff\"}"),
        refused("json: Latin-1", UTF8, b"{\"username\":\"wire-\xe9\"}"),
        refused("json: an overlong form", UTF8, b"{\"username\":\"wire-\xc0\xaf\"}"),
        refused("json: a surrogate in UTF-8", UTF8, b"{\"username\":\"wire-\xed\xa0\x80\"}"),
        refused("json: beyond U+10FFFF", UTF8, b"{\"username\":\"wire-\xf4\x90\x80\x80\"}"),
        refused("json: UTF-16", UTF8, b"\xff\xfe{\0}\0"),
        refused("json: a byte order mark", UTF8, b"\xef\xbb\xbf{\"username\":\"wire-<n>\"}"),
        refused("json: a high surrogate alone", SURROGATE, br#"{"username":"wire-\ud800"}"#),
        refused("json: a low surrogate alone", SURROGATE, br#"{"username":"wire-\udc00"}"#),
        refused("json: surrogates in the wrong order", SURROGATE, br#"{"name":"\udc00\ud800"}"#),
        row(
            "json: a pair of surrogates",
            "RFC 8259 section 7: together they are one character",
            post(br#"{"username":"wire-<n>","name":"\ud83d\ude00"}"#),
            ours(201).saying("\u{1f600}"),
        ),
        row("json: 64 levels of arrays", SHAPE, nested("[", 64, "]"), invalid()),
        row("json: 65 levels of arrays", DEPTH, nested("[", 65, "]"), malformed()),
        row("json: 65 levels of objects", DEPTH, nested("{\"a\":", 65, "}"), malformed()),
        row("json: 100,000 arrays", DEPTH, nested("[", 100_000, ""), malformed()),
        row("json: 100,000 objects", DEPTH, nested("{\"a\":", 100_000, ""), malformed()),
        invalid_as(
            "json: U+0000 in a name",
            CONTROL,
            br#"{"username":"wire-<n>","name":"a\u0000"}"#,
            "/name",
        ),
        invalid_as(
            "json: U+0000 in attributes",
            CONTROL,
            br#"{"username":"wire-<n>","attributes":{"a":"\u0000"}}"#,
            "/attributes/a",
        ),
        invalid_as(
            "json: U+0085 in a name",
            CONTROL,
            br#"{"username":"wire-<n>","name":"a\u0085"}"#,
            "/name",
        ),
        invalid_as(
            "json: a line break in a name",
            CONTROL,
            br#"{"username":"wire-<n>","name":"a\nb"}"#,
            "/name",
        ),
        row(
            "json: a line break in an address",
            "contract of the record: addresses have lines",
            post(br#"{"username":"wire-<n>","addresses":[{"formatted":"1 Way\r\nTown"}]}"#),
            ours(201),
        ),
        invalid_as("json: an array", SHAPE, b"[]", ""),
        invalid_as("json: a text", SHAPE, b"\"ada\"", ""),
        invalid_as("json: null", SHAPE, b"null", ""),
        invalid_as("json: an empty object", SHAPE, b"{}", ""),
        invalid_as("json: a member of another type", SHAPE, br#"{"username":7}"#, "/username"),
        invalid_as(
            "json: a member that is unknown",
            SHAPE,
            br#"{"username":"wire-<n>","nmae":"a"}"#,
            "/nmae",
        ),
        invalid_as(
            "json: a password",
            SHAPE,
            br#"{"username":"wire-<n>","password":"a"}"#,
            "/password",
        ),
    ]
}
