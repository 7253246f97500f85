//! `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-08): a request with a key is
//! executed once, even if it is sent again.
//!
//! The draft defines it as a string in quotation marks (RFC 9651 section 3.3.3). A bare token,
//! which many clients send, means the same. Only a digest is stored, because a key may contain an
//! address.

use http::{
    HeaderMap, HeaderName, header::CONTENT_TYPE, header::IF_MATCH, header::IF_NONE_MATCH,
    request::Parts,
};
use roster_core::{Idempotency, limits::IDEMPOTENCY_KEY_LENGTH_MAX};
use sha2::{Digest, Sha256};

use crate::problem::{Problem, ProblemCode};

pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key of a request, if it sends one.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).into_iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let key = line.to_str().ok().filter(|_| lines.next().is_none()).and_then(read);
    key.map(Some).ok_or_else(|| Problem::new(ProblemCode::InvalidIdempotencyKey))
}

/// The key in a line: quoted, with `\\` before quotation marks and backslashes, or bare.
fn read(line: &str) -> Option<String> {
    let line = line.trim();
    let key = match line.strip_prefix('"') {
        None => line.to_owned(),
        Some(quoted) => unquoted(quoted.strip_suffix('"')?)?,
    };
    let fits = (1..=IDEMPOTENCY_KEY_LENGTH_MAX).contains(&key.len());
    let visible = |byte: u8| (0x20..0x7F).contains(&byte);
    let bare = |byte: u8| byte != b' ' && byte != b'"' && byte != b',' && byte != b';';
    let clean = key.bytes().all(|byte| visible(byte) && (line.starts_with('"') || bare(byte)));
    (fits && clean).then_some(key)
}

fn unquoted(quoted: &str) -> Option<String> {
    let mut key = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return None,
            '\\' => key.push(chars.next().filter(|next| matches!(next, '"' | '\\'))?),
            c => key.push(c),
        }
    }
    Some(key)
}

/// A fingerprint of everything that affects the result of a request.
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    /// The fingerprint of a request without its body.
    pub(crate) fn of(parts: &Parts) -> Self {
        let mut fingerprint = Self(Sha256::new());
        let mut add = |part: &[u8]| fingerprint.add(part);
        add(parts.method.as_str().as_bytes());
        add(parts.uri.path().as_bytes());
        add(parts.uri.query().unwrap_or_default().as_bytes());
        for name in [CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH] {
            let lines = parts.headers.get_all(&name);
            add(&lines.iter().count().to_be_bytes());
            lines.iter().for_each(|line| add(line.as_bytes()));
        }
        fingerprint
    }

    /// The fingerprint of a request without its body, if it has an `Idempotency-Key`.
    pub(crate) fn of_retriable(parts: &Parts) -> Option<Self> {
        parts.headers.contains_key(&IDEMPOTENCY_KEY).then(|| Self::of(parts))
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update(part.len().to_be_bytes());
        self.0.update(part);
    }

    /// The whole fingerprint.
    pub(crate) fn of_body(mut self, body: &[u8]) -> [u8; 32] {
        self.add(body);
        self.0.finalize().into()
    }
}

/// The idempotency record of a request of a caller with a key.
pub(crate) fn idempotency(caller: &str, key: &str, fingerprint: [u8; 32]) -> Idempotency {
    let key = Sha256::new().chain_update(caller).chain_update([0]).chain_update(key).finalize();
    Idempotency { key: key.into(), fingerprint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_quoted_or_bare() {
        for (line, key) in [
            ("abc-123", Some("abc-123")),
            (r#""abc 123""#, Some("abc 123")),
            (r#""a\"b\\c""#, Some(r#"a"b\c"#)),
            ("8e03978e-40d5-43dd-bc93-6894a57f9324", Some("8e03978e-40d5-43dd-bc93-6894a57f9324")),
            ("", None),
            (r#""""#, None),
            (r#""abc"#, None),
            (r#""a"b""#, None),
            (r#""a\x""#, None),
            ("two words", None),
            ("a,b", None),
        ] {
            assert_eq!(read(line).as_deref(), key, "{line}");
        }
        assert_eq!(read(&"x".repeat(255)).map(|key| key.len()), Some(255));
        assert_eq!(read(&"x".repeat(256)), None);
    }

    fn mark(caller: &str, key: &str, target: &str, headers: &[&str], body: &str) -> Idempotency {
        let mut request = http::Request::builder().method("PUT").uri(target);
        for line in headers {
            let (name, value) = line.split_once(": ").expect("a header");
            request = request.header(name, value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        idempotency(caller, key, Fingerprint::of(&parts).of_body(body.as_bytes()))
    }

    #[test]
    fn a_key_belongs_to_its_caller() {
        let of = |caller, key| mark(caller, key, "/users/1", &[], "{}").key;
        assert_eq!(of("key:1", "k"), of("key:1", "k"));
        assert_ne!(of("key:1", "k"), of("key:2", "k"));
        assert_ne!(of("key:1", "k"), of("key:1", "K"));
        assert_ne!(of("key:1", "2k"), of("key:12", "k"));
    }

    #[test]
    fn all_that_decides_what_a_request_comes_to_is_in_its_fingerprint() {
        let of = |target, headers: &[&str], body| mark("a", "k", target, headers, body).fingerprint;
        let one = of("/users/1", &["content-type: a/b", "if-match: \"1\""], "{}");
        for (target, headers, body) in [
            ("/users/2", &["content-type: a/b", "if-match: \"1\""][..], "{}"),
            ("/users/1?", &["content-type: a/b", "if-match: \"2\""], "{}"),
            ("/users/1?x=1", &["content-type: a/b", "if-match: \"1\""], "{}"),
            ("/users/1", &["content-type: a/c", "if-match: \"1\""], "{}"),
            ("/users/1", &["content-type: a/b", "if-none-match: \"1\""], "{}"),
            ("/users/1", &["content-type: a/b"], "{}"),
            ("/users/1", &["content-type: a/b", "if-match: \"1\"", "if-match: \"2\""], "{}"),
            ("/users/1", &["content-type: a/b", "if-match: \"1\""], "{ }"),
            ("/users/1", &["content-type: a/b", "if-match: \"1\""], ""),
        ] {
            assert_ne!(of(target, headers, body), one, "{target} {headers:?} {body}");
        }
        let other = &["x-request-id: 7", "if-match: \"1\"", "accept: */*", "content-type: a/b"];
        assert_eq!(of("/users/1", other, "{}"), one);
    }
}
