//! An origin whose web pages may call.
//!
//! Kept exactly as a browser writes it in `Origin` (RFC 6454 section 6.2), since that is what it is
//! compared with: lower case, international names as A-labels, no default port. There is no
//! wildcard and no `null`: every origin that may call is named.

use std::fmt;

use url::Url;

use super::HostName;

/// Scheme, host and, unless it is the scheme's own, port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebOrigin(String);

impl WebOrigin {
    /// Reads an origin of http or https; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not an origin, as in https://admin.example.com");
        if text == "*" || text == "null" {
            return Err(format!("{text} stands for anybody: name each origin"));
        }
        let (scheme, authority) = text.split_once("://").ok_or_else(wrong)?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(wrong());
        }
        if authority.contains('/') {
            return Err(format!("{text:?} must end after host and port: an origin has no path"));
        }
        // What the URL standard would turn or take in silence, a wildcard for one, is refused.
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
