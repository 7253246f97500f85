//! A name that callers may send in `Host`.
//!
//! Stored as it is compared: lower case, international names as A-labels (RFC 5890). A name without
//! a port matches every port. There is no wildcard: the list protects users of browsers against DNS
//! rebinding.

use std::fmt;

use roster_http::is_loopback_host;
use url::Host;

/// A host name or address, with or without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName {
    host: String,
    port: Option<u16>,
}

impl HostName {
    /// Parses `name`, `name:port`, an IPv4 address or an IPv6 address in brackets.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, port) = split_port(text)?;
        let wrong = || format!("{text:?} is not a host name, as in directory.example.com");
        // The URL standard accepts more in a host than a name may contain, such as a wildcard.
        let fits = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-._[]:".contains(c);
        if host.is_empty() || !host.chars().all(fits) {
            return Err(wrong());
        }
        let host = Host::parse(host).map_err(|_| wrong())?;
        Ok(Self { host: host.to_string(), port })
    }

    /// The name in lower case; an IPv6 address has brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is a name of this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback_host(&self.host)
    }

    /// The required port; `None` for any.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// Splits at the colon before the port; colons inside brackets belong to the address.
fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => match port.parse() {
            Ok(port) if port != 0 => Ok((host, Some(port))),
            Ok(_) | Err(_) => Err(format!("{text:?} has no valid port after the colon")),
        },
        Some(_) | None => Ok((text, None)),
    }
}
