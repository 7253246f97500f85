//! The bind check: which callers can reach the service, and whether it may start.
//!
//! Until the first key exists, or a token issuer is set, every caller can read and change every
//! user. This is only safe for programs on this machine. If a setting admits other machines (an
//! address, base URL or host that is not loopback, or a trusted proxy), the service does not start
//! without a credential to require.

use std::net::SocketAddr;

use crate::config::{Config, Faults, Report};

/// Which callers can call, for the banner and the log.
#[derive(Debug)]
pub(super) struct Callers {
    /// One line of text.
    pub(super) line: String,
    /// Whether a caller needs a key or a token.
    pub(super) needs_credential: bool,
}

/// A setting that admits other machines.
struct Exposure {
    key: &'static str,
    detail: String,
    remedy: String,
}

/// Whether a setting or the listening address admits other machines.
pub(super) fn is_exposed(config: &Config, local: SocketAddr) -> bool {
    !exposures(config, local).is_empty()
}

/// Fails if other machines are admitted and no credential is required.
pub(super) fn check(
    config: &Config,
    report: &Report,
    local: SocketAddr,
    has_key: bool,
) -> Result<(), Faults> {
    let mut faults = Faults::default();
    if !has_key && config.jwt_issuer.is_empty() && !config.requires_key() {
        for Exposure { key, detail, remedy } in exposures(config, local) {
            let detail = format!(
                "{detail}, and no key exists: anyone could read and change every user. Create a \
                 key first (roster keys create admin --scope all, or the setting first_key_file), \
                 set a token issuer (jwt_issuer), reject all callers until a key exists \
                 (require_key), or {remedy}."
            );
            report.fault(&mut faults, key, &detail);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn exposures(config: &Config, local: SocketAddr) -> Vec<Exposure> {
    let mut exposures = Vec::new();
    if !is_loopback(local) {
        // The configured port, which may be 0.
        let detail = format!("{} can be reached from other machines", config.listen);
        let remedy = format!("listen on loopback (--listen 127.0.0.1:{})", config.listen.port());
        exposures.push(Exposure { key: "listen", detail, remedy });
    }
    if let Some(url) = config.base_url.as_ref().filter(|url| !url.is_loopback()) {
        let detail = format!("{url} is a URL for callers on other machines");
        exposures.push(Exposure { key: "base_url", detail, remedy: "leave it out".to_owned() });
    }
    for host in config.hosts.iter().filter(|host| !host.is_loopback()) {
        let detail = format!("{host} is a name for callers on other machines");
        exposures.push(Exposure { key: "hosts", detail, remedy: "leave it out".to_owned() });
    }
    if !config.trusted_proxies.is_empty() {
        let detail = "a proxy forwards requests of other machines".to_owned();
        exposures.push(Exposure {
            key: "trusted_proxies",
            detail,
            remedy: "leave it out".to_owned(),
        });
    }
    exposures
}

/// Describes which callers can call.
pub(super) fn callers(config: &Config, local: SocketAddr, has_key: bool) -> Callers {
    let by_token = !config.jwt_issuer.is_empty();
    if !has_key && !by_token && !config.requires_key() {
        let line = "Anyone on this machine can read and change every user: no key exists.";
        return Callers { line: line.to_owned(), needs_credential: false };
    }
    let machines = if !is_loopback(local) {
        "from any machine"
    } else if is_exposed(config, local) {
        "from this machine, or through a proxy on it"
    } else {
        "from this machine"
    };
    let line = match (has_key, by_token) {
        (true, true) => format!("Callers with a key or a token, {machines}."),
        (true, false) => format!("Callers with a key, {machines}."),
        (false, true) => format!("Callers with a token, {machines}."),
        (false, false) if config.require_key => {
            "No one: no key exists, and require_key is set.".to_owned()
        }
        (false, false) => "No one: no key exists. Create one with `roster keys create`, or set \
                           allow_open."
            .to_owned(),
    };
    Callers { line, needs_credential: true }
}

/// Warns about settings that have no effect before the first key.
pub(super) fn warn(config: &Config, has_key: bool) {
    let is_open = !has_key && config.jwt_issuer.is_empty() && !config.requires_key();
    if is_open && !config.cors_origins.is_empty() {
        tracing::warn!("cors_origins has no effect until the first key is created");
    }
}

/// Whether only programs on this machine can connect. An IPv6 address may contain an IPv4 one.
fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: &str = "127.0.0.1:8080";

    fn starts(flags: &[(&'static str, &str)], local: &str, has_key: bool) -> bool {
        let (config, report) = Config::of_flags(flags);
        check(&config, &report, local.parse().unwrap(), has_key).is_ok()
    }

    #[test]
    fn only_loopback_addresses_need_no_key() {
        for open in ["127.0.0.1:1", "127.8.9.1:0", "[::1]:80", "[::ffff:127.0.0.1]:8080"] {
            assert!(starts(&[], open, false), "{open}");
        }
        for closed in ["0.0.0.0:80", "[::]:80", "192.168.1.2:1", "[::ffff:10.0.0.1]:1"] {
            assert!(!starts(&[], closed, false), "{closed}");
            assert!(starts(&[], closed, true), "{closed}");
        }
    }

    #[test]
    fn every_setting_that_admits_other_machines_needs_a_credential() {
        for setting in [
            ("base_url", "https://directory.example.com"),
            ("base_url", "http://192.0.2.1:8080"),
            ("base_url", "http://localhost.example.com"),
            ("hosts", "localhost,directory.example.com"),
            ("hosts", "10.0.0.1:8080"),
            ("trusted_proxies", "127.0.0.1"),
        ] {
            assert!(!starts(&[setting], LOOPBACK, false), "{setting:?}");
            assert!(starts(&[setting], LOOPBACK, true), "{setting:?}");
            assert!(starts(&[setting, ("require_key", "true")], LOOPBACK, false), "{setting:?}");
            let issuer = ("jwt_issuer", "https://issuer.example.com");
            let audience = ("jwt_audience", "roster");
            assert!(starts(&[setting, issuer, audience], LOOPBACK, false), "{setting:?}");
        }
        for loopback in [
            ("base_url", "http://localhost:9000/v1"),
            ("base_url", "http://roster.localhost"),
            ("base_url", "http://127.0.0.2"),
            ("base_url", "http://[::1]:80"),
            ("hosts", "roster.localhost,127.0.0.9,[::1]:8080"),
        ] {
            assert!(starts(&[loopback], LOOPBACK, false), "{loopback:?}");
        }
    }

    #[test]
    fn a_fault_names_its_setting_and_the_remedies() {
        let (config, report) = Config::of_flags(&[("hosts", "a.example,b.example")]);
        let faults = check(&config, &report, LOOPBACK.parse().unwrap(), false).unwrap_err();
        let text: Vec<String> = faults.as_slice().iter().map(ToString::to_string).collect();
        assert_eq!(text.len(), 2);
        for words in ["flag --hosts: a.example", "roster keys create", "jwt_issuer", "require_key"]
        {
            assert!(text[0].contains(words), "{words}: {}", text[0]);
        }
    }

    #[test]
    fn the_line_says_who_can_call() {
        let line = |flags: &[(&'static str, &str)], local: &str, has_key| {
            let (config, _) = Config::of_flags(flags);
            callers(&config, local.parse().unwrap(), has_key).line
        };
        let token = [("jwt_issuer", "https://a.example"), ("jwt_audience", "roster")];
        let database = ("database", "postgres://a@b/c");
        let any = "0.0.0.0:80";
        for (found, expected) in [
            (line(&[], LOOPBACK, false), "Anyone on this machine can read and change every user"),
            (line(&[], LOOPBACK, true), "Callers with a key, from this machine."),
            (line(&[], any, true), "Callers with a key, from any machine."),
            (line(&token, any, false), "Callers with a token, from any machine."),
            (line(&token, any, true), "Callers with a key or a token, from any machine."),
            (line(&[("require_key", "true")], LOOPBACK, false), "No one: no key exists"),
            (line(&[database], LOOPBACK, false), "No one: no key exists. Create one"),
            (line(&[database, ("allow_open", "true")], LOOPBACK, false), "Anyone on this machine"),
            (
                line(&[("base_url", "https://a.example")], LOOPBACK, true),
                "Callers with a key, from this machine, or through a proxy on it.",
            ),
        ] {
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
