//! The URL of an issuer and of its documents.
//!
//! TLS is required, because anyone who could change a response could create valid tokens. Only
//! loopback hosts may use plain HTTP.

use std::{fmt, net::IpAddr};

use http::{
    Uri,
    uri::{Authority, PathAndQuery},
};
use roster_outbound::Target;

/// The maximum length of a URL.
const URL_BYTES_MAX: usize = 2048;

/// A URL that may be fetched: https, or http on a loopback host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerUrl {
    text: String,
    path: String,
    target: Target,
}

impl IssuerUrl {
    /// Parses a URL. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let no_url = "is not an absolute URL, as in https://issuer.example.com";
        if text.len() > URL_BYTES_MAX || text.contains(['@', '#', '?']) {
            return Err("must be short and have no user, query or fragment".to_owned());
        }
        Self::parse_any(text).ok_or_else(|| no_url.to_owned()).and_then(|url| {
            if url.is_secure() || url.is_loopback() {
                Ok(url)
            } else {
                Err("must start with https://; http:// is for loopback hosts alone".to_owned())
            }
        })
    }

    /// Parses the URL of a document of this issuer. It needs TLS if the issuer's own URL does.
    pub(crate) fn published(&self, text: &str) -> Result<Self, String> {
        let fits = |url: &Self| url.is_secure() || (!self.is_secure() && url.is_loopback());
        let url =
            Some(text).filter(|text| text.len() <= URL_BYTES_MAX && !text.contains(['@', '#']));
        url.and_then(Self::parse_any)
            .filter(fits)
            .ok_or_else(|| "the issuer's jwks_uri is no https URL".to_owned())
    }

    /// The URL of the issuer's discovery document (OpenID Connect Discovery section 4.1).
    pub(crate) fn discovery(&self) -> Result<Self, String> {
        let base = self.text.strip_suffix('/').unwrap_or(&self.text);
        self.published(&format!("{base}/.well-known/openid-configuration"))
    }

    fn parse_any(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let is_secure = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
        let authority = uri.authority().map_or("", Authority::as_str).to_owned();
        let has_host = !host.is_empty();
        let target = Target { is_secure, host, port, authority };
        has_host.then_some(Self { text: text.to_owned(), path, target })
    }

    fn is_loopback(&self) -> bool {
        self.target.host.eq_ignore_ascii_case("localhost")
            || self.target.host.parse().is_ok_and(|host: IpAddr| host.is_loopback())
    }

    /// The URL as configured.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.target.is_secure
    }

    /// Where requests go.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Path and query.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for IssuerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_hosts_may_omit_tls() {
        for valid in [
            "https://issuer.example.com",
            "https://issuer.example.com:8443/realms/one/",
            "http://127.0.0.1:9000",
            "http://[::1]:9000/a",
            "http://localhost",
        ] {
            assert_eq!(IssuerUrl::parse(valid).map(|url| url.to_string()), Ok(valid.to_owned()));
        }
        for invalid in [
            "http://issuer.example.com",
            "http://localhost.example.com",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
            "issuer.example.com",
            "/issuer",
            "",
            "https://",
            "https://ada@issuer.example.com",
            "https://issuer.example.com?a=b",
            "https://issuer.example.com#a",
        ] {
            assert!(IssuerUrl::parse(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn documents_of_a_tls_issuer_need_tls() {
        let secure = IssuerUrl::parse("https://issuer.example.com/a/").unwrap();
        let loopback = IssuerUrl::parse("http://127.0.0.1:9000").unwrap();
        let discovery = "https://issuer.example.com/a/.well-known/openid-configuration";
        assert_eq!(secure.discovery().unwrap().as_str(), discovery);
        assert!(secure.published("https://keys.example.com/jwks?a=b").is_ok());
        assert!(loopback.published("http://localhost:9001/jwks").is_ok());
        assert!(secure.published("http://127.0.0.1/jwks").is_err());
        assert!(loopback.published("http://keys.example.com/jwks").is_err());
        assert!(secure.published("file:///etc/passwd").is_err());
    }
}
