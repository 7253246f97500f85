//! Trusted proxies, and the address of the client behind them.
//!
//! `Forwarded` (RFC 7239) and `X-Forwarded-For` are used only if the peer is one of the configured
//! proxies. The addresses are read from right to left: each proxy appends the address that called
//! it, so the first address that is not a trusted proxy is the client. The addresses to its left
//! were written by the client and are ignored.
//!
//! Most proxies write one of the two headers and pass the other one on as the client sent it. So if
//! both are sent, they must name the same client. If the client is ambiguous, the request is
//! rejected, so that it is never charged to another client.

use std::{borrow::Cow, net::IpAddr, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue, header::FORWARDED};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies whose headers are used to find the client.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

/// The address that called a proxy; `None` if the proxy does not name it.
type Hop = Option<IpAddr>;

/// A header that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Malformed;

impl TrustedProxies {
    /// The proxies of these networks.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks.into())
    }

    /// Whether this is the address of a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client that sends a request through a peer: the address of the peer,
    /// unless the peer is a trusted proxy that names another address. The error says why the
    /// headers name no client.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Result<IpAddr, &'static str> {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return Ok(peer);
        }
        let told = self.told(peer, headers, &FORWARDED, forwarded);
        let also_told = self.told(peer, headers, &X_FORWARDED_FOR, x_forwarded_for);
        match (told, also_told) {
            (Ok(Some(one)), Ok(Some(other))) if one != other => Err(
                "Forwarded and X-Forwarded-For, as the proxy sends them, name different clients",
            ),
            (Ok(one), Ok(other)) => Ok(one.or(other).unwrap_or(peer)),
            (Err(Malformed), _) => Err("the proxy sends a malformed Forwarded header"),
            (Ok(_), Err(Malformed)) => Err("the proxy sends a malformed X-Forwarded-For header"),
        }
    }

    /// The client that one header names; `None` if the header is not sent.
    fn told(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        name: &HeaderName,
        read: fn(&str) -> Vec<Result<Hop, Malformed>>,
    ) -> Result<Option<IpAddr>, Malformed> {
        let text = |line: &HeaderValue| String::from_utf8_lossy(line.as_bytes()).into_owned();
        let lines = headers.get_all(name).iter().rev();
        let mut client = None;
        for hop in lines.flat_map(|line| read(&text(line)).into_iter().rev()) {
            if !self.contains(client.unwrap_or(peer)) {
                break;
            }
            match hop? {
                Some(address) => client = Some(address),
                None => return Ok(client.or(Some(peer))),
            }
        }
        Ok(client)
    }
}

/// The hops of a line of `X-Forwarded-For`, the last one added by the nearest proxy.
fn x_forwarded_for(line: &str) -> Vec<Result<Hop, Malformed>> {
    line.split(',').map(str::trim).filter(|node| !node.is_empty()).map(node).collect()
}

/// The hops of a line of `Forwarded` (RFC 7239 section 4), in the same order.
fn forwarded(line: &str) -> Vec<Result<Hop, Malformed>> {
    let Ok(elements) = split_unquoted(line, ',') else { return vec![Err(Malformed)] };
    elements.into_iter().map(for_of).collect()
}

/// The parameter `for` of an element.
fn for_of(element: &str) -> Result<Hop, Malformed> {
    let mut found = None;
    for pair in split_unquoted(element, ';')? {
        let (name, value) = pair.split_once('=').ok_or(Malformed)?;
        let value = unquote(value)?;
        if name.eq_ignore_ascii_case("for") && found.replace(node(&value)?).is_some() {
            return Err(Malformed);
        }
    }
    Ok(found.flatten())
}

/// The parts between separators outside of quotes, without empty parts.
fn split_unquoted(text: &str, separator: char) -> Result<Vec<&str>, Malformed> {
    let (mut quoted, mut escaped) = (false, false);
    let parts: Vec<&str> = text
        .split(|c: char| {
            let was_escaped = std::mem::take(&mut escaped);
            match c {
                '\\' if quoted => escaped = !was_escaped,
                '"' if !was_escaped => quoted = !quoted,
                _ => {}
            }
            c == separator && !quoted
        })
        .collect();
    if quoted {
        return Err(Malformed);
    }
    Ok(parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect())
}

/// A value without its quotes, if it has any.
fn unquote(value: &str) -> Result<Cow<'_, str>, Malformed> {
    let Some(rest) = value.strip_prefix('"') else {
        return if value.contains('"') { Err(Malformed) } else { Ok(value.into()) };
    };
    let quoted = rest.strip_suffix('"').ok_or(Malformed)?;
    let (mut plain, mut escaped) = (String::with_capacity(quoted.len()), false);
    for c in quoted.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return Err(Malformed),
            c => {
                plain.push(c);
                escaped = false;
            }
        }
    }
    if escaped { Err(Malformed) } else { Ok(plain.into()) }
}

/// A node (RFC 7239 section 6): an address with or without a port, `unknown`, or an arbitrary name
/// that a proxy uses.
fn node(text: &str) -> Result<Hop, Malformed> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Some(address.to_canonical()));
    }
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, "")) => (name, None),
        Some((name, rest)) => (name, Some(rest.strip_prefix(':').ok_or(Malformed)?)),
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    if port.is_some_and(|port| !is_word(port)) {
        return Err(Malformed);
    }
    if name.eq_ignore_ascii_case("unknown") || name.strip_prefix('_').is_some_and(is_word) {
        return Ok(None);
    }
    name.parse::<IpAddr>().map(|address| Some(address.to_canonical())).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "127.0.0.1";

    /// The client of a request from this peer with these header lines (`Name: value`). 127.0.0.1,
    /// 10.0.0.0/8 and 2001:db8:1::/48 are trusted.
    fn client(peer: &str, lines: &[&str]) -> Result<String, &'static str> {
        let networks = ["127.0.0.1/32", "10.0.0.0/8", "2001:db8:1::/48"];
        let networks = networks.map(|network| network.parse().unwrap());
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            headers.append(
                name.parse::<HeaderName>().unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            );
        }
        let found = TrustedProxies::new(networks.to_vec()).client(peer.parse().unwrap(), &headers);
        found.map(|client| client.to_string())
    }

    fn must_be(lines: &[&str], expected: &str) {
        assert_eq!(client(PROXY, lines).as_deref(), Ok(expected), "{lines:?}");
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        for line in ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1"] {
            must_be(&[line], "192.0.2.1");
            assert_eq!(client("::ffff:10.1.2.3", &[line]).as_deref(), Ok("192.0.2.1"));
            for peer in ["203.0.113.9", "127.0.0.2", "::1", "2001:db8:2::1"] {
                assert_eq!(client(peer, &[line]).as_deref(), Ok(peer), "{line}");
            }
        }
        must_be(&[], PROXY);
    }

    #[test]
    fn the_client_is_the_first_address_from_the_right_that_is_no_trusted_proxy() {
        must_be(&["X-Forwarded-For: 203.0.113.9, 192.0.2.1"], "192.0.2.1");
        must_be(&["X-Forwarded-For: 203.0.113.9, 192.0.2.1, 10.9.9.9,10.0.0.1"], "192.0.2.1");
        must_be(&["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 192.0.2.1"], "192.0.2.1");
        must_be(&["X-Forwarded-For: 203.0.113.9, ", "X-Forwarded-For: "], "203.0.113.9");
        must_be(&["X-Forwarded-For: 10.0.0.7, 10.0.0.8"], "10.0.0.7");
        must_be(&["X-Forwarded-For: garbage, \u{e9}, 192.0.2.1"], "192.0.2.1");
        must_be(&["Forwarded: for=203.0.113.9, for=192.0.2.1;proto=https"], "192.0.2.1");
        must_be(
            &["Forwarded: for=\"x,y\";by=10.0.0.1, For=\"192.0.2.1\", for=10.0.0.1"],
            "192.0.2.1",
        );
        must_be(&["Forwarded: for=203.0.113.9", "Forwarded: for=192.0.2.1"], "192.0.2.1");
        must_be(&["Forwarded: for=garbage!, for=192.0.2.1"], "192.0.2.1");
    }

    #[test]
    fn addresses_are_read_in_every_usual_form() {
        for (node, address) in [
            ("192.0.2.1:4711", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("[2001:db8::1]:_port", "2001:db8::1"),
        ] {
            must_be(&[&format!("X-Forwarded-For: {node}")], address);
            must_be(&[&format!("Forwarded: for=\"{node}\"")], address);
        }
        must_be(&["Forwarded: proto=http;for=\"\\1\\92.0.2.1\""], "192.0.2.1");
    }

    #[test]
    fn a_client_that_the_proxy_hides_is_charged_to_the_proxy() {
        for node in ["unknown", "Unknown", "_hidden", "_SEVKISEK", "unknown:80"] {
            must_be(&[&format!("Forwarded: for=203.0.113.9, for=\"{node}\"")], PROXY);
            must_be(&[&format!("X-Forwarded-For: 203.0.113.9, {node}, 10.0.0.1")], "10.0.0.1");
        }
        must_be(&["Forwarded: for=203.0.113.9, proto=https"], PROXY);
    }

    #[test]
    fn a_header_that_leaves_the_client_in_doubt_is_refused() {
        for line in [
            "X-Forwarded-For: 192.0.2.1, garbage",
            "X-Forwarded-For: 192.0.2",
            "X-Forwarded-For: 192.0.2.1:",
            "X-Forwarded-For: [::1",
            "X-Forwarded-For: [::1]x",
            "X-Forwarded-For: fe80::1%eth0",
            "X-Forwarded-For: \"192.0.2.1\"",
            "X-Forwarded-For: \u{e9}",
            "X-Forwarded-For: _",
            "Forwarded: for=\"203.0.113.9, for=192.0.2.1",
            "Forwarded: for=\"203.0.113.9\\\", for=192.0.2.1",
            "Forwarded: for=203.0.113.9\", for=192.0.2.1",
            "Forwarded: 192.0.2.1",
            "Forwarded: for=",
            "Forwarded: for=192.0.2.1;for=192.0.2.2",
            "Forwarded: for=192.0.2.1;by=\"x\"y",
        ] {
            assert!(client(PROXY, &[line]).is_err(), "{line}");
            assert_eq!(client("192.0.2.7", &[line]).as_deref(), Ok("192.0.2.7"), "{line}");
        }
    }

    #[test]
    fn two_headers_must_name_the_same_client() {
        let one = "Forwarded: for=192.0.2.1";
        must_be(&[one, "X-Forwarded-For: 203.0.113.9, 192.0.2.1"], "192.0.2.1");
        let other = "X-Forwarded-For: 192.0.2.2";
        assert!(client(PROXY, &[one, other]).is_err());
        assert_eq!(client("192.0.2.7", &[one, other]).as_deref(), Ok("192.0.2.7"));
    }
}
