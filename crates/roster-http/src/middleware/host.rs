//! The host guard: a request must name this service (RFC 9110 section 7.4).
//!
//! It protects against DNS rebinding: the browser then sends the attacker's name. Loopback names
//! are accepted with any port, because nobody can make a browser reach another machine by them, and
//! so are listed names without a port. A name that is listed with a port is accepted with that port
//! only.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::{
    Method, Version,
    header::HOST,
    request::Parts,
    uri::{Authority, Scheme},
};

use crate::problem::{Problem, ProblemCode};

/// The names of this service.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<Authority>,
    /// Whether clients use TLS, even if it ends at a proxy of the operator.
    https: bool,
    /// The name and port of the base URL, which most clients send.
    usual: String,
}

impl Hosts {
    /// The loopback names, these names, and the name in the base URL.
    pub(crate) fn new(names: impl IntoIterator<Item = String>, base_url: &str) -> Self {
        let names = names.into_iter().flat_map(Authority::try_from);
        let usual = base_url.split('/').nth(2).unwrap_or_default().to_owned();
        Self { names: names.collect(), https: base_url.starts_with("https://"), usual }
    }

    /// Compares `Host` and the authority of the target with the names. `tls` says whether the
    /// request arrived over TLS.
    pub(crate) fn check(&self, parts: &Parts, tls: bool) -> Result<(), Problem> {
        let (version, uri) = (parts.version, &parts.uri);
        let mut lines = parts.headers.get_all(HOST).into_iter();
        let host = lines.next();
        let only = lines.next().is_none();
        let usual = host.is_some_and(|line| line.as_bytes() == self.usual.as_bytes());
        if usual && only && uri.authority().is_none() {
            return Ok(());
        }
        // The authority form is only for CONNECT (RFC 9112 section 3.2.3).
        if uri.scheme().is_none() && uri.authority().is_some() && parts.method != Method::CONNECT {
            return Err(invalid("write the target as a path that starts with a slash"));
        }
        if !only {
            return Err(invalid("send exactly one Host header"));
        }
        let host = host.map(|line| authority(line.as_bytes())).transpose()?;
        // A target in absolute form overrides Host (RFC 9112 section 3.2.2). In HTTP/2 both name
        // the same host (RFC 9113 section 8.3.1).
        let overridden = uri.authority().is_some() && version <= Version::HTTP_11;
        for named in host.iter().filter(|_| !overridden).chain(uri.authority()) {
            if named.as_str().contains('@') {
                return Err(invalid("send Host without a user name"));
            }
            if !self.serves(named, tls) {
                return Err(Problem::new(ProblemCode::MisdirectedRequest));
            }
        }
        // An https target must have arrived over TLS (RFC 9110 section 7.4).
        let https = self.https || tls;
        let served =
            |scheme: &Scheme| *scheme == Scheme::HTTP || (https && *scheme == Scheme::HTTPS);
        if !uri.scheme().is_none_or(served) {
            return Err(Problem::new(ProblemCode::MisdirectedRequest));
        }
        // HTTP/1.0 may omit Host, and so may HTTP/2 if the target has an authority.
        let left_out = host.is_none() && version >= Version::HTTP_11;
        if left_out && (version == Version::HTTP_11 || uri.authority().is_none()) {
            return Err(invalid("send a Host header"));
        }
        Ok(())
    }

    /// Whether this is a name of the service, with its port or the default port of the scheme.
    fn serves(&self, named: &Authority, tls: bool) -> bool {
        let implied = if self.https || tls { 443 } else { 80 };
        let port = named.port_u16().unwrap_or(implied);
        let is_listed = |name: &Authority| {
            named.host().eq_ignore_ascii_case(name.host())
                && name.port_u16().is_none_or(|own| own == port)
        };
        is_loopback_host(named.host()) || self.names.iter().any(is_listed)
    }
}

/// Whether a host of a URL is this machine: a loopback address, `localhost` or a name below it (RFC
/// 6761 section 6.3). An IPv6 address has brackets. An IPv4 address has four decimal numbers: a
/// browser sends no other form.
pub fn is_loopback_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse().is_ok_and(|own: Ipv6Addr| own.to_canonical().is_loopback());
    }
    let host = host.to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(|own: Ipv4Addr| own.is_loopback())
}

fn authority(host: &[u8]) -> Result<Authority, Problem> {
    let authority = Authority::try_from(host).map_err(|_| invalid("send a valid Host header"))?;
    // An empty port means the default port (RFC 3986 section 3.2.3); `host:70000` is invalid.
    let port = authority.as_str().rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| !port.is_empty() && !port.ends_with(']'));
    if authority.host().is_empty() || (port.is_some() && authority.port_u16().is_none()) {
        return Err(invalid("send a valid Host header"));
    }
    Ok(authority)
}

fn invalid(detail: &'static str) -> Problem {
    Problem::saying(ProblemCode::InvalidRequest, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_localhost_the_names_below_it_and_its_addresses() {
        for own in [
            "localhost",
            "LocalHost",
            "a.localhost",
            "a.b.LOCALHOST",
            "127.0.0.1",
            "127.9.9.9",
            "[::1]",
            "[0:0::1]",
            "[::ffff:127.0.0.2]",
        ] {
            assert!(is_loopback_host(own), "{own}");
        }
        for foreign in [
            "",
            "localhost.",
            "localhost.example",
            "evil-localhost",
            "127.0.0.1.example",
            "127.1",
            "2130706433",
            "0.0.0.0",
            "128.0.0.1",
            "::1",
            "[::]",
            "[::2]",
            "[::ffff:128.0.0.1]",
        ] {
            assert!(!is_loopback_host(foreign), "{foreign}");
        }
    }
}
