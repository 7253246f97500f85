//! The host guard: a request must name this service (RFC 9110 section 7.4).
//!
//! It is what stops a name that an attacker rebinds to our address: a browser sends that name.
//! Loopback names pass with any port, as do the names that the operator has listed.

use http::{HeaderMap, Uri, Version, header::HOST, uri::Authority};

use crate::problem::{Problem, ProblemCode};

/// The names that this service answers to.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// The loopback names and these, without ports.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let names = loopback.into_iter().chain(names).map(|name| name.to_ascii_lowercase());
        Self { names: names.collect() }
    }

    /// Holds `Host` and the target's own authority against the names; gives the authority that
    /// the request is for, where it has one.
    pub(crate) fn check(
        &self,
        version: Version,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<Authority>, Problem> {
        let mut lines = headers.get_all(HOST).into_iter();
        let host = lines.next();
        if lines.next().is_some() {
            return Err(invalid("send exactly one Host header"));
        }
        let host = host.map(|line| authority(line.as_bytes())).transpose()?;
        // Both must be ours: a target in absolute form overrides Host (RFC 9112 section 3.2.2).
        for named in host.iter().chain(uri.authority()) {
            if named.as_str().contains('@') {
                return Err(invalid("send Host without a user name"));
            }
            if !self.names.iter().any(|name| named.host().eq_ignore_ascii_case(name)) {
                return Err(Problem::new(ProblemCode::MisdirectedRequest));
            }
        }
        let required = version >= Version::HTTP_11;
        match uri.authority().cloned().or(host.clone()) {
            None if required => Err(invalid("send a Host header")),
            // Only HTTP/2 may leave Host out when the target has an authority.
            Some(_) if version == Version::HTTP_11 && host.is_none() => {
                Err(invalid("send a Host header"))
            }
            found => Ok(found),
        }
    }
}

fn authority(host: &[u8]) -> Result<Authority, Problem> {
    let authority = Authority::try_from(host).map_err(|_| invalid("send a valid Host header"))?;
    // `host:` and `host:70000` have a port that is none.
    let port = authority.as_str().rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
    if authority.host().is_empty() || (port.is_some() && authority.port_u16().is_none()) {
        return Err(invalid("send a valid Host header"));
    }
    Ok(authority)
}

fn invalid(detail: &'static str) -> Problem {
    Problem::saying(ProblemCode::InvalidRequest, detail)
}
