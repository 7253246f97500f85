//! The URL of a webhook.

use std::{fmt, net::IpAddr};

use url::{Host, Url};

/// The maximum length of a URL, in bytes.
const URL_BYTES_MAX: usize = 2048;

/// The ports below this one belong to services of a machine, except that of https.
const USER_PORTS: u16 = 1024;

/// A URL to which a webhook may send: https, or http, which only some networks may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// Parses a URL. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let too_long = "at most 2,048 bytes once percent-encoded";
        if text.len() > URL_BYTES_MAX {
            return Err(too_long);
        }
        // The parser mends these, so that one would be sent to a URL that nobody wrote.
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        let is_mended = |character: char| character.is_whitespace() || character.is_control();
        if rest.starts_with(['/', '\\']) || text.contains(is_mended) || text.contains('\\') {
            return Err("an absolute URL, as in https://h.example.com/r");
        }
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.is_empty() {
            return Err("a URL that begins with https://");
        }
        if host.contains('@') {
            return Err("a URL without a user and a password: the signature shows who sends");
        }
        let url = Url::parse(text).map_err(|_| "an absolute URL, as in https://h.example.com/r")?;
        // It is stored as it is sent, and read again by these rules.
        if url.as_str().len() > URL_BYTES_MAX {
            return Err(too_long);
        }
        if !["https", "http"].contains(&url.scheme()) || url.host().is_none() {
            return Err("a URL that begins with https://");
        }
        if url.fragment().is_some() {
            return Err("a URL without a fragment, which is never sent");
        }
        let port = url.port_or_known_default().unwrap_or_default();
        let is_usual = port == 443 || (url.scheme() == "http" && port == 80);
        if !is_usual && port < USER_PORTS {
            return Err("a URL with port 443, or one from 1024");
        }
        Ok(Self(url))
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether requests go over TLS.
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The name or address, without brackets.
    pub fn host(&self) -> String {
        match self.0.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => String::new(),
        }
    }

    /// The address, if the URL has one in place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(443)
    }

    /// Host and port, as `Host` names them (RFC 9110 section 7.2).
    pub fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Path and query.
    pub fn target(&self) -> String {
        let query = self.0.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.0.path())
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_https_or_http_on_a_usual_port() {
        for (text, host, authority, target) in [
            ("https://h.example.com/r?a=b", "h.example.com", "h.example.com", "/r?a=b"),
            ("https://h.example.com:8443", "h.example.com", "h.example.com:8443", "/"),
            ("http://10.2.0.7/r", "10.2.0.7", "10.2.0.7", "/r"),
            ("https://[2001:4860::1]/", "2001:4860::1", "[2001:4860::1]", "/"),
            // Other ways to write an address mean the same one.
            ("https://0x7f.1/", "127.0.0.1", "127.0.0.1", "/"),
            ("https://2130706433/", "127.0.0.1", "127.0.0.1", "/"),
            ("https://0177.0.0.1/", "127.0.0.1", "127.0.0.1", "/"),
            ("https://BÜCHER.example/", "xn--bcher-kva.example", "xn--bcher-kva.example", "/"),
        ] {
            let url = WebhookUrl::parse(text).unwrap();
            assert_eq!(
                (url.host(), url.authority(), url.target().as_str()),
                (host.to_owned(), authority.to_owned(), target),
                "{text}"
            );
        }
        for text in [
            "",
            "/r",
            "h.example.com",
            "ftp://h.example.com",
            "file:///etc/passwd",
            "https://",
            "https://ada@h.example.com",
            "https://ada:s@h.example.com",
            "https://h.example.com#a",
            "https://h.example.com:22",
            "https://h.example.com:0",
            "http://h.example.com:25",
            "https://h.example.com:80",
            "javascript:alert(1)",
            "https://h example.com",
            "https://[::1",
            "https:///h.example.com",
            "https:h.example.com",
            "https://@h.example.com",
            "https:\\\\h.example.com",
            "https://h.exam\r\nple.com",
            " https://h.example.com",
            "https://h.example.com:99999",
        ] {
            assert!(WebhookUrl::parse(text).is_err(), "{text}");
        }
        for long in ["x".repeat(2048), "\"".repeat(700), "é".repeat(400)] {
            assert!(WebhookUrl::parse(&format!("https://h.example.com/{long}")).is_err());
        }
        let longest = format!("https://h.example.com/{}", "é".repeat(337));
        let stored = WebhookUrl::parse(&longest).unwrap().to_string();
        assert_eq!(stored.len(), 2044);
        assert_eq!(WebhookUrl::parse(&stored).unwrap().as_str(), stored);
    }
}
