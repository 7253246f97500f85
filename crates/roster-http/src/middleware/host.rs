//! The host guard: a request must name this service (RFC 9110 section 7.4).
//!
//! It is what stops a name that an attacker rebinds to our address: a browser sends that name.
//! Loopback names pass with any port, as do the names that the operator has listed without one. A
//! name that is listed with a port passes with that port alone.

use http::{
    Method, Version,
    header::HOST,
    request::Parts,
    uri::{Authority, Scheme},
};

use crate::problem::{Problem, ProblemCode};

/// The names that this service answers to.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<Authority>,
    /// Whether callers come through TLS, also where it ends before us, at a proxy that the operator
    /// has set up.
    https: bool,
    /// The name and port of the base URL, as nearly every caller sends them.
    usual: String,
}

impl Hosts {
    /// The loopback names and these; and the URL that the service is known by.
    pub(crate) fn new(names: impl IntoIterator<Item = String>, base_url: &str) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let names = loopback.into_iter().chain(names).flat_map(Authority::try_from);
        let usual = base_url.split('/').nth(2).unwrap_or_default().to_owned();
        Self { names: names.collect(), https: base_url.starts_with("https://"), usual }
    }

    /// Holds `Host` and the target's own authority against the names; `tls` tells whether the
    /// request has come in under TLS.
    pub(crate) fn check(&self, parts: &Parts, tls: bool) -> Result<(), Problem> {
        let (version, uri) = (parts.version, &parts.uri);
        let mut lines = parts.headers.get_all(HOST).into_iter();
        let host = lines.next();
        let only = lines.next().is_none();
        let usual = host.is_some_and(|line| line.as_bytes() == self.usual.as_bytes());
        if usual && only && uri.authority().is_none() {
            return Ok(());
        }
        // The form without a scheme goes with CONNECT alone (RFC 9112 section 3.2.3).
        if uri.scheme().is_none() && uri.authority().is_some() && parts.method != Method::CONNECT {
            return Err(invalid("write the target as a path that starts with a slash"));
        }
        if !only {
            return Err(invalid("send exactly one Host header"));
        }
        let host = host.map(|line| authority(line.as_bytes())).transpose()?;
        // Both must be ours: a target in absolute form overrides Host (RFC 9112 section 3.2.2).
        for named in host.iter().chain(uri.authority()) {
            if named.as_str().contains('@') {
                return Err(invalid("send Host without a user name"));
            }
            if !self.serves(named, tls) {
                return Err(Problem::new(ProblemCode::MisdirectedRequest));
            }
        }
        // What is asked for under https must have come through TLS (RFC 9110 section 7.4).
        let https = self.https || tls;
        let served =
            |scheme: &Scheme| *scheme == Scheme::HTTP || (https && *scheme == Scheme::HTTPS);
        if !uri.scheme().is_none_or(served) {
            return Err(Problem::new(ProblemCode::MisdirectedRequest));
        }
        // HTTP/1.0 may leave Host out, HTTP/2 where the target has an authority.
        let left_out = host.is_none() && version >= Version::HTTP_11;
        if left_out && (version == Version::HTTP_11 || uri.authority().is_none()) {
            return Err(invalid("send a Host header"));
        }
        Ok(())
    }

    /// Whether a name, with the port that its scheme implies where it has none, is one of ours.
    fn serves(&self, named: &Authority, tls: bool) -> bool {
        let implied = if self.https || tls { 443 } else { 80 };
        let port = named.port_u16().unwrap_or(implied);
        self.names.iter().any(|name| {
            named.host().eq_ignore_ascii_case(name.host())
                && name.port_u16().is_none_or(|own| own == port)
        })
    }
}

fn authority(host: &[u8]) -> Result<Authority, Problem> {
    let authority = Authority::try_from(host).map_err(|_| invalid("send a valid Host header"))?;
    // An empty port is the default one (RFC 3986 section 3.2.3); `host:70000` has none at all.
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
