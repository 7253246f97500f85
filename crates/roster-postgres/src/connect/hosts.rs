//! The hosts of a URL: one configuration for each, so that each is tried by itself.

use std::{error::Error as _, time::Duration};

use tokio_postgres::{
    Config,
    config::{Host, SslNegotiation, TargetSessionAttrs},
};

use super::tls::{self, Tls};

/// Why a URL names no database.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UrlError(pub(super) String);

/// The cause of an error of the driver, or the error itself if it has none.
fn reason(error: &tokio_postgres::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// What is wrong with a second `@`. It contains no part of the URL.
const SECOND_AT: &str =
    "it has more than one @: write an @ of the user name, of the password or of a parameter as %40";

/// What is wrong with an `@` after a parameter.
const AT_IN_PARAMETER: &str = "an @ follows its parameters: write an @ of a parameter as %40, and \
                               a question mark of a password as %3F";

/// The configurations of the hosts of a URL, and their TLS.
pub(super) fn parse(url: &str) -> Result<(Vec<Config>, Tls), String> {
    // For the driver a password ends at the first `@`. It would take the rest of the password for a
    // host, which is looked up in the network and shown.
    if url.matches('@').count() > 1 {
        return Err(SECOND_AT.to_owned());
    }
    // So it would with an `@` in a parameter of a URL without a user before the host.
    let credentials = url.split_once('@').map_or("", |(credentials, _)| credentials);
    if credentials.split_once('?').is_some_and(|(_, query)| query.contains('=')) {
        return Err(AT_IN_PARAMETER.to_owned());
    }
    let (rest, parameters) = tls::take_parameters(url)?;
    let whole: Config = rest.parse().map_err(|error| reason(&error))?;
    if whole.get_hosts().is_empty() || whole.get_hosts().iter().any(is_empty) {
        return Err("it names no host, or one without a name".to_owned());
    }
    if whole.get_hosts().iter().any(has_at) {
        return Err("it names a host with an @, which no host has".to_owned());
    }
    if !whole.get_hostaddrs().is_empty() {
        return Err("hostaddr is not supported: write it as the host".to_owned());
    }
    if whole.get_user().is_none() {
        return Err("it names no user: postgres://USER@HOST/DATABASE".to_owned());
    }
    if whole.get_ssl_negotiation() == SslNegotiation::Direct {
        return Err("sslnegotiation=direct is not supported".to_owned());
    }
    if whole.get_target_session_attrs() == TargetSessionAttrs::ReadOnly {
        return Err("target_session_attrs=read-only is not supported: Roster uses the host that \
                    takes writes"
            .to_owned());
    }
    let ports = whole.get_ports();
    let port = |index: usize| match ports {
        [] => Some(5432),
        [one] => Some(*one),
        many => many.get(index).copied(),
    };
    let hosts = whole.get_hosts().iter().enumerate();
    let host = |(index, host)| {
        Ok(of(&whole, host, port(index).ok_or("give each host a port, or all of them one")?))
    };
    let hosts = hosts.map(host).collect::<Result<_, String>>()?;
    Ok((hosts, Tls::of(&parameters)?))
}

/// A URL of the hosts that may be shown: without the password and all other parts of the original.
pub(super) fn shown(hosts: &[Config]) -> String {
    let names: Vec<String> = hosts.iter().map(name).collect();
    let first = hosts.first();
    let user = first.and_then(Config::get_user).unwrap_or_default();
    let database = first.and_then(Config::get_dbname).unwrap_or(user);
    format!("postgres://{user}@{}/{database}", names.join(","))
}

pub(super) fn name(config: &Config) -> String {
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => format!("{host}:{port}"),
        Some(Host::Unix(path)) => format!("{} (port {port})", path.display()),
        None => String::new(),
    }
}

fn is_empty(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name.is_empty(),
        Host::Unix(path) => path.as_os_str().is_empty(),
    }
}

fn has_at(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name.contains('@'),
        Host::Unix(_) => false,
    }
}

fn of(whole: &Config, host: &Host, port: u16) -> Config {
    let mut config = Config::new();
    match host {
        Host::Tcp(host) => config.host(host),
        Host::Unix(path) => config.host_path(path),
    };
    config.port(port).application_name(whole.get_application_name().unwrap_or("roster"));
    if let Some(user) = whole.get_user() {
        config.user(user);
    }
    if let Some(password) = whole.get_password() {
        config.password(password);
    }
    if let Some(name) = whole.get_dbname() {
        config.dbname(name);
    }
    if let Some(options) = whole.get_options() {
        config.options(options);
    }
    config.channel_binding(whole.get_channel_binding());
    // Detects a dead connection, even if no request waits for a response.
    config.keepalives_idle(Duration::from_secs(10)).tcp_user_timeout(Duration::from_secs(10));
    config
}
