//! The URL that callers write before `/users`.
//!
//! It is fixed at start and never taken from a request. It is absolute, http or https, has no
//! query, fragment or user, and ends without a slash; its path is where the routes are mounted.
//! What a URL parser would silently rewrite in a path is refused, so that the mount is what the
//! operator typed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use url::Url;

use super::host_name;

/// An absolute http or https URL without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// Scheme, host and port, as in `https://directory.example.com`.
    origin: String,
    /// The host alone, an IPv6 address in brackets.
    host: String,
    /// Host and port as a caller sends them in `Host`.
    authority: String,
    /// Empty, or a path that starts with a slash and does not end with one.
    mount: String,
}

impl BaseUrl {
    /// Reads a base URL; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let no_url = "is not an absolute URL, as in https://directory.example.com/v1";
        let scheme = text.split_once("://").map(|(scheme, _)| scheme).ok_or(no_url)?;
        // The parser would drop or turn these without a word.
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
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("names no host")?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let origin = format!("{}://{authority}", url.scheme());
        Ok(Self { origin, host: host.to_owned(), authority, mount: mount_of(text)? })
    }

    /// The base URL of a service that is reached at its own address, under TLS or not.
    pub fn of_address(address: SocketAddr, tls: bool) -> Self {
        let (scheme, usual) = if tls { ("https", ":443") } else { ("http", ":80") };
        let authority = address.to_string();
        // A default port is left out of `Host` by clients, so it is left out here.
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

    /// Host and port as a caller sends them in `Host`; a scheme's default port is left out.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether it names this machine.
    pub fn is_loopback(&self) -> bool {
        host_name::is_loopback(&self.host)
    }

    /// The path that the routes are mounted at: empty, or as in `/v1`.
    pub fn mount(&self) -> &str {
        &self.mount
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.mount)
    }
}

/// The path as it was typed, without the slash at its end.
fn mount_of(text: &str) -> Result<String, String> {
    let after_scheme = text.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
    let path = after_scheme.find('/').and_then(|start| after_scheme.get(start..));
    let path = path.unwrap_or_default();
    let path = path.strip_suffix('/').unwrap_or(path);
    let plain = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    if path.is_empty() || path.split('/').skip(1).all(plain) {
        Ok(path.to_owned())
    } else {
        Err("must have a path of plain segments, as in /v1 or /directory/v1".to_owned())
    }
}
