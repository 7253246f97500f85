//! The base URL: what callers write before `/users`.
//!
//! It is fixed at start and never taken from a request. It is an absolute http or https URL without
//! query, fragment or user, and ends without a slash. The routes are mounted at its path. A path
//! that a URL parser would change is rejected, so the mount is exactly what the operator typed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use roster_http::is_loopback_host;
use url::Url;

/// An absolute http or https URL without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// Scheme, host and port, as in `https://directory.example.com`.
    origin: String,
    /// The host; an IPv6 address has brackets.
    host: String,
    /// Host and port as a caller sends them in `Host`.
    authority: String,
    /// Empty, or a path that starts with a slash and does not end with one.
    mount: String,
}

impl BaseUrl {
    /// Parses a base URL; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let no_url = "is not an absolute URL, as in https://directory.example.com/v1";
        let scheme = text.split_once("://").map(|(scheme, _)| scheme).ok_or(no_url)?;
        // The parser would silently drop or replace these.
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err("must not have spaces or backslashes".to_owned());
        }
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err("must start with http:// or https://".to_owned());
        }
        let url = Url::parse(text).map_err(|_| no_url)?;
        if !url.username().is_empty() || url.password().is_some() || text.contains('@') {
            return Err("must not name a user or password".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must not have a query (?) or a fragment (#)".to_owned());
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("must have a host")?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let origin = format!("{}://{authority}", url.scheme());
        Ok(Self { origin, host: host.to_owned(), authority, mount: mount_of(text)? })
    }

    /// The base URL of a service without a configured one.
    pub fn of_address(address: SocketAddr, tls: bool) -> Self {
        let (scheme, usual) = if tls { ("https", ":443") } else { ("http", ":80") };
        let authority = address.to_string();
        // Clients leave the default port out of `Host`.
        let authority = authority.strip_suffix(usual).unwrap_or(&authority).to_owned();
        let host = match address.ip() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        Self { origin: format!("{scheme}://{authority}"), host, authority, mount: String::new() }
    }

    /// Scheme, host and port, as in `https://directory.example.com`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Host and port as in `Host`, without the scheme's default port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether it is a URL of this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback_host(&self.host)
    }

    /// The path of the routes: empty, or for example `/v1`.
    pub fn mount(&self) -> &str {
        &self.mount
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.mount)
    }
}

/// The path as typed, without a slash at its end.
fn mount_of(text: &str) -> Result<String, String> {
    let after_scheme = text.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
    let path = after_scheme.find('/').and_then(|start| after_scheme.get(start..));
    let path = path.unwrap_or_default();
    let path = path.strip_suffix('/').unwrap_or(path);
    let plain = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    if ["/livez", "/readyz", "/metrics"].contains(&path) {
        Err("must have another path: this one is that of a probe".to_owned())
    } else if path.is_empty() || path.split('/').skip(1).all(plain) {
        Ok(path.to_owned())
    } else {
        Err("must have a path of plain segments, as in /v1 or /directory/v1".to_owned())
    }
}
