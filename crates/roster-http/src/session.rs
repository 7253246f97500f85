//! Sessions of the console. A browser keeps a session in two halves, and each request needs both: a
//! cookie that no script can read, with the encrypted credential, and a proof that only scripts of
//! the console's own origin can send. The service stores nothing, and a request with a session is
//! authorized as one with the credential is.
//!
//! The cookie is base64url without padding (RFC 4648 section 5) of a random nonce of 24 bytes and
//! XChaCha20-Poly1305 of these bytes, integers in big-endian order:
//!
//! | Bytes | Field | Value |
//! |---|---|---|
//! | 8 | start | milliseconds since 1970 |
//! | 8 | last use | milliseconds since 1970 |
//! | 32 | digest | SHA-256 of the proof |
//! | rest | credential | the key or token |

use std::{net::IpAddr, time::Duration};

use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce, aead::Aead};
use data_encoding::BASE64URL_NOPAD;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE},
    request::Parts,
};
use roster_core::{Timestamp, store::Secret};
use sha2::{Digest as _, Sha256};

use crate::{
    access::session_ended,
    middleware::is_loopback_host,
    problem::{Problem, ProblemCode},
};

/// The header with the proof.
pub(crate) const ROSTER_CONSOLE: HeaderName = HeaderName::from_static("roster-console");

/// A session ends this long after it was last renewed.
pub(crate) const SESSION_IDLE: Duration = Duration::from_mins(30);

/// A session ends this long after the sign-in.
pub(crate) const SESSION_MAX: Duration = Duration::from_hours(12);

/// How far the clock may be behind that of the process that renewed a session.
const SESSION_AHEAD_MAX: Duration = Duration::from_mins(5);

/// The maximum length of a credential, so that its cookie has less than 4,096 bytes.
pub(crate) const SESSION_CREDENTIAL_BYTES_MAX: usize = 2800;

const NONCE_BYTES: usize = 24;
const PROOF_BYTES: usize = 16;

/// A session that a request has shown. It is among the extensions of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    began: Timestamp,
    renewed: Timestamp,
    proof: [u8; 32],
}

impl Session {
    /// When it ends, if it is renewed until then.
    pub(crate) fn end(&self) -> Timestamp {
        after(self.began, SESSION_MAX)
    }

    /// Whether it has not ended. One that was renewed in the future would last longer than it may.
    fn lasts(&self, now: Timestamp) -> bool {
        let is_of_the_past = self.renewed <= after(now, SESSION_AHEAD_MAX);
        is_of_the_past && now < self.end() && now < after(self.renewed, SESSION_IDLE)
    }
}

fn after(time: Timestamp, duration: Duration) -> Timestamp {
    let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(time.as_millis().saturating_add(millis))
}

/// Makes and opens the cookies of a store's sessions.
pub(crate) struct Sessions(XChaCha20Poly1305);

impl Sessions {
    pub(crate) fn new(secret: &Secret) -> Self {
        let own = Sha256::new().chain_update(b"sessions of the console").chain_update(secret.0);
        Self(XChaCha20Poly1305::new(&Key::from(<[u8; 32]>::from(own.finalize()))))
    }

    /// Begins a session: the content of its cookie, its proof, and the session.
    pub(crate) fn begin(
        &self,
        credential: &str,
        now: Timestamp,
    ) -> Result<(String, String, Session), Problem> {
        if credential.len() > SESSION_CREDENTIAL_BYTES_MAX {
            let most = SESSION_CREDENTIAL_BYTES_MAX;
            let detail = format!("a session takes a credential of at most {most} bytes");
            return Err(Problem::saying(ProblemCode::InvalidRequest, detail));
        }
        let mut proof = [0; PROOF_BYTES];
        getrandom::fill(&mut proof).map_err(|_| internal())?;
        let proof = BASE64URL_NOPAD.encode(&proof);
        let digest = Sha256::digest(proof.as_bytes()).into();
        let session = Session { began: now, renewed: now, proof: digest };
        Ok((self.seal(&session, credential)?, proof, session))
    }

    /// The content of the cookie of a session that was used now.
    pub(crate) fn renew(
        &self,
        session: Session,
        credential: &str,
        now: Timestamp,
    ) -> Result<String, Problem> {
        self.seal(&Session { renewed: now, ..session }, credential)
    }

    fn seal(&self, session: &Session, credential: &str) -> Result<String, Problem> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| internal())?;
        let times = [session.began, session.renewed].map(|time| time.as_millis().to_be_bytes());
        let content = [&times.concat()[..], &session.proof, credential.as_bytes()].concat();
        let sealed = self.0.encrypt(&XNonce::from(nonce), &content[..]).map_err(|_| internal())?;
        Ok(BASE64URL_NOPAD.encode(&[&nonce[..], &sealed].concat()))
    }

    /// The session and the credential in a cookie, if it is this service's.
    fn open(&self, cookie: &str) -> Option<(Session, String)> {
        let bytes = BASE64URL_NOPAD.decode(cookie.as_bytes()).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let content = self.0.decrypt(&XNonce::from(*nonce), sealed).ok()?;
        let (began, rest) = content.split_first_chunk::<8>()?;
        let (renewed, rest) = rest.split_first_chunk::<8>()?;
        let (proof, credential) = rest.split_first_chunk::<32>()?;
        let time = |bytes: &[u8; 8]| Timestamp::from_millis(i64::from_be_bytes(*bytes));
        let session = Session { began: time(began), renewed: time(renewed), proof: *proof };
        Some((session, String::from_utf8(credential.to_vec()).ok()?))
    }

    /// Replaces the session of a request by its credential. A request without a proof has no
    /// session, whatever cookies it has.
    pub(crate) fn admit(&self, parts: &mut Parts, now: Timestamp) -> Result<(), Problem> {
        let mut proofs = parts.headers.get_all(ROSTER_CONSOLE).into_iter();
        let Some(proof) = proofs.next() else { return Ok(()) };
        if proofs.next().is_some() || parts.headers.contains_key(AUTHORIZATION) {
            let detail = "send exactly one Authorization or one Roster-Console header";
            return Err(Problem::saying(ProblemCode::InvalidRequest, detail));
        }
        let digest: [u8; 32] = Sha256::digest(proof.as_bytes()).into();
        let is_own_page = |site: &HeaderValue| site == "same-origin";
        let found = cookies(&parts.headers)
            .find_map(|cookie| self.open(cookie).filter(|(session, _)| session.proof == digest))
            .filter(|(session, _)| session.lasts(now))
            .filter(|_| parts.headers.get("sec-fetch-site").is_some_and(is_own_page));
        let (session, credential) = found.ok_or_else(session_ended)?;
        let value = HeaderValue::try_from(format!("Bearer {credential}"));
        let mut value = value.map_err(|_| internal())?;
        value.set_sensitive(true);
        parts.headers.insert(AUTHORIZATION, value);
        parts.extensions.insert(session);
        Ok(())
    }
}

/// The contents of the cookies that may be a session's.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    // Others may have values that are no text.
    let lines = headers.get_all(COOKIE).into_iter().map(HeaderValue::as_bytes);
    let texts = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    let pairs = texts.filter_map(|pair| str::from_utf8(pair).ok()?.split_once('='));
    pairs.filter(|(name, _)| is_name(name.trim())).map(|(_, value)| value.trim())
}

/// Whether a cookie may be a session's: a service on another port of the host, or below another
/// path, has its own.
fn is_name(name: &str) -> bool {
    name.starts_with("__Host-roster-") || name.starts_with("roster-")
}

/// The cookie of a session at the service with this base URL: with its content, or with no content
/// the cookie that ends it. `None` if the browser of this client would send it in clear text over a
/// network.
pub(crate) fn set_cookie(
    content: &str,
    base_url: &str,
    has_tls: bool,
    client: IpAddr,
) -> Option<HeaderValue> {
    let (scheme, rest) = base_url.split_once("://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (authority, if scheme == "https" { "443" } else { "80" }),
    };
    let (prefix, secure) = if scheme == "https" || has_tls {
        ("__Host-", "Secure; ")
    } else if is_loopback_host(host) && client.is_loopback() {
        ("", "")
    } else {
        return None;
    };
    // Characters of a path that a name of a cookie cannot have.
    let place: String = format!("{port}/{path}")
        .trim_end_matches('/')
        .chars()
        .map(|one| if one.is_ascii_alphanumeric() || one == '.' { one } else { '-' })
        .collect();
    let age = if content.is_empty() { "; Max-Age=0" } else { "" };
    let cookie =
        format!("{prefix}roster-{place}={content}; {secure}HttpOnly; SameSite=Strict; Path=/{age}");
    let mut value = HeaderValue::try_from(cookie).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn internal() -> Problem {
    Problem::new(ProblemCode::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_sent_over_tls_or_stays_on_the_machine() {
        let start = |base_url, has_tls, client: &str| {
            let cookie = set_cookie("x", base_url, has_tls, client.parse().unwrap())?;
            let cookie = cookie.to_str().unwrap().to_owned();
            assert_eq!(cookie.starts_with("__Host-"), cookie.contains("; Secure;"), "{cookie}");
            Some(cookie.split_once('=').unwrap().0.to_owned())
        };
        let name = |name: &str| Some(name.to_owned());
        let (here, away) = ("127.0.0.1", "192.0.2.7");
        assert_eq!(start("https://a.example", false, away), name("__Host-roster-443"));
        assert_eq!(start("https://a.example:8443/v1", true, away), name("__Host-roster-8443-v1"));
        assert_eq!(start("http://a.example", true, away), name("__Host-roster-80"));
        assert_eq!(start("http://127.0.0.1:8080", false, here), name("roster-8080"));
        assert_eq!(start("http://[::1]:8080", false, "::1"), name("roster-8080"));
        assert_eq!(start("http://localhost/v1/a_b", false, here), name("roster-80-v1-a-b"));
        assert_eq!(start("http://127.0.0.1:8080", false, away), None);
        assert_eq!(start("http://a.example", false, here), None);
        assert_eq!(start("http://0.0.0.0:8080", false, here), None);
    }

    #[test]
    fn a_session_lasts_twelve_hours_and_not_longer_because_the_clock_was_wrong() {
        let began = Timestamp::from_millis(0);
        let session = Session { began, renewed: began, proof: [0; 32] };
        let lasts = |minutes: i64| session.lasts(Timestamp::from_millis(minutes * 60_000));
        assert_eq!([-6, -5, 0, 29, 30].map(lasts), [false, true, true, true, false]);
        let end = Session { renewed: after(began, SESSION_MAX), ..session };
        assert!(!end.lasts(session.end()));
    }

    #[test]
    fn only_the_service_that_made_a_cookie_opens_it() {
        let (own, other) = (Sessions::new(&Secret([1; 32])), Sessions::new(&Secret([2; 32])));
        let now = Timestamp::from_millis(5);
        let (cookie, _, session) = own.begin("rst_x", now).unwrap();
        assert_eq!(own.open(&cookie), Some((session, "rst_x".to_owned())));
        assert_eq!(other.open(&cookie), None);
        assert!(own.begin(&"x".repeat(SESSION_CREDENTIAL_BYTES_MAX + 1), now).is_err());
        let (longest, ..) = own.begin(&"x".repeat(SESSION_CREDENTIAL_BYTES_MAX), now).unwrap();
        let cookie = set_cookie(&longest, "https://a.example:65535", true, [192, 0, 2, 1].into());
        assert!(cookie.unwrap().len() < 4096);
    }
}
