//! Parses a token, strictly in compact form (RFC 7515 section 7.1), before it is verified.
//!
//! Ambiguous tokens are rejected: padding, unused bits that are set, a repeated member, a header
//! with its own key or with unknown critical extensions.

use data_encoding::BASE64URL_NOPAD;
use roster_core::{Json, json};

use crate::{algorithm::TokenAlgorithm, limits::TOKEN_BYTES_MAX};

/// Rejected headers: those that contain a key or certificate, that require extensions, or that
/// belong to encrypted tokens (RFC 8725 sections 3.5 and 3.10).
const REFUSED_HEADERS: [&str; 8] = ["jku", "jwk", "x5u", "x5c", "crit", "b64", "enc", "zip"];

/// The accepted values of `typ`, if present, without `application/` (RFC 9068, RFC 7519).
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// A parsed token that is not yet verified.
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) algorithm: TokenAlgorithm,
    pub(crate) key_id: Option<String>,
    pub(crate) claims: Json,
}

impl<'a> Token<'a> {
    /// Parses a token. The error is a text for its sender.
    pub(crate) fn read(text: &'a str) -> Result<Self, &'static str> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err("the token is longer than 8192 bytes");
        }
        let mut parts = text.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("the token has not three parts");
        };
        let header = object(header).ok_or("the token's header is not base64url of JSON")?;
        let claims = object(claims).ok_or(
            "the token's claims are not base64url of JSON, or repeat a member, or have a number \
             out of range",
        )?;
        let signed = BASE64URL_NOPAD.decode(signature.as_bytes());
        if !signed.is_ok_and(|signature| !signature.is_empty()) {
            return Err("the token has no signature in base64url without padding");
        }
        if REFUSED_HEADERS.iter().any(|name| header.member(name).is_some()) {
            return Err("the token's header has a member that is not taken here");
        }
        if !is_of_known_type(&header) {
            return Err("the token is of another type than JWT or at+jwt");
        }
        let key_id = match header.member("kid") {
            None => None,
            Some(Json::Text(id)) => Some(id.clone()),
            Some(_) => return Err("the token's kid is no string"),
        };
        let algorithm = text_of(&header, "alg").and_then(TokenAlgorithm::parse);
        let algorithm = algorithm.ok_or(NOT_ALLOWED)?;
        Ok(Self { text, algorithm, key_id, claims })
    }

    /// The issuer that the token names.
    pub(crate) fn issuer(&self) -> Option<&str> {
        text_of(&self.claims, "iss")
    }
}

/// The error for an algorithm that is not accepted.
pub(crate) const NOT_ALLOWED: &str = "the token is not signed by an algorithm that is allowed here";

fn object(part: &str) -> Option<Json> {
    let text = BASE64URL_NOPAD.decode(part.as_bytes()).ok()?;
    json::read(&text).ok().filter(|read| matches!(read, Json::Object(_)))
}

fn is_of_known_type(header: &Json) -> bool {
    let known = match header.member("typ") {
        None => true,
        Some(Json::Text(name)) => {
            let name = name.to_ascii_lowercase();
            TYPES.contains(&name.strip_prefix("application/").unwrap_or(&name))
        }
        Some(_) => false,
    };
    // A nested token, which has no claims of its own.
    known && header.member("cty").is_none()
}

/// The text of a member; `None` if it is missing or not a text.
pub(crate) fn text_of<'a>(object: &'a Json, name: &str) -> Option<&'a str> {
    as_text(object.member(name)?)
}

/// The value, if it is a text.
pub(crate) fn as_text(value: &Json) -> Option<&str> {
    if let Json::Text(text) = value { Some(text) } else { None }
}
