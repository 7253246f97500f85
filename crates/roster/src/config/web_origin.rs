//! An origin whose web pages may call.
//!
//! Stored as browsers write it in `Origin` (RFC 6454 section 6.2), because it is compared with
//! that: lower case, international names as A-labels, no default port. There is no wildcard and no
//! `null`: every origin is named.

use std::fmt;

use url::Url;

use super::HostName;

/// Scheme, host and, unless it is the default, port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebOrigin(String);

impl WebOrigin {
    /// Parses an http or https origin; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not an origin, as in https://admin.example.com");
        if text == "*" || text == "null" {
            return Err(format!("{text} would admit all origins: name each origin"));
        }
        let (scheme, authority) = text.split_once("://").ok_or_else(wrong)?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(wrong());
        }
        if authority.contains('/') {
            return Err(format!("{text:?} must end after host and port: an origin has no path"));
        }
        // Reject what the URL standard would silently change or accept, such as a wildcard.
        HostName::parse(authority).map_err(|_| wrong())?;
        let url = Url::parse(text).map_err(|_| wrong())?;
        Ok(Self(url.origin().ascii_serialization()))
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
