//! The settings of `roster serve`, and the only place that reads the environment or a file for
//! them.
//!
//! One static table ([`SETTINGS`]) drives everything: flags and their help, environment names,
//! keys of the file, ranges, defaults and `roster check-config`. The order is always flag, then
//! environment, then file, then default. Every value that was given is checked, also one that a
//! stronger source overrides, and all faults are reported at once.
//! It must not know what a setting does to the service.

mod base_url;
mod choice;
mod database;
mod environment;
mod fault;
mod file;
mod group;
mod host_name;
mod issuer;
mod keep;
mod kind;
mod markdown;
mod nearest;
mod network;
mod resolve;
mod table;
#[cfg(test)]
mod tests;
mod web_origin;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use roster_http::TokenAlgorithm;

pub use base_url::BaseUrl;
pub use choice::{EmailUniqueness, LogFormat, LogLevel, TlsMin};
pub use database::DatabaseUrl;
pub use fault::{Fault, Faults, Origin};
pub use group::Group;
pub use host_name::HostName;
pub use issuer::{ForIssuers, NamedIssuer};
pub use kind::{Kind, Slot};
pub use markdown::settings_as_markdown;
pub use resolve::{Given, Report, ReportLine};
pub use table::{SETTINGS, Setting};
pub use web_origin::WebOrigin;

/// Exit status of a process whose settings are wrong (`EX_CONFIG` of `sysexits.h`).
pub const EXIT_CONFIG: u8 = 78;

/// Name of the environment variable that names the settings file.
pub const CONFIG_FILE_ENV: &str = "ROSTER_CONFIG";

/// The settings of one run, typed and in range.
///
/// Units stand in the documentation of each field; sources and ranges in [`SETTINGS`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each switch is a setting of its own")]
pub struct Config {
    /// Address and port to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Where the data lies, as it was given (a relative path counts from the working directory).
    pub data: PathBuf,
    /// The PostgreSQL database that keeps the users; none: the data directory does.
    pub database: Option<DatabaseUrl>,
    /// What callers write before `/users`; none means the address that is listened on.
    pub base_url: Option<BaseUrl>,
    /// Names that callers may send in `Host` besides the loopback names and that of `base_url`.
    pub hosts: Vec<HostName>,
    /// Proxies whose word on the client's address is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether nobody is admitted without a credential, also before the first key.
    pub require_key: bool,
    /// Where a start that finds no key writes the first one; none: it makes none.
    pub first_key_file: Option<PathBuf>,
    /// Origins whose web pages may call, once there is a key.
    pub cors_origins: Vec<WebOrigin>,
    /// The file of the certificate; none: connections are plain.
    pub tls_certificate: Option<PathBuf>,
    /// The file of its private key.
    pub tls_key: Option<PathBuf>,
    /// The least version of TLS that is spoken.
    pub tls_min: TlsMin,
    /// Whose tokens let callers in; none: nobody's do.
    pub jwt_issuer: Vec<NamedIssuer>,
    /// For whom those tokens must be made.
    pub jwt_audience: ForIssuers,
    /// What they may be signed with.
    pub jwt_algorithms: Vec<TokenAlgorithm>,
    /// The claim that tells their scopes.
    pub jwt_scope_claim: ForIssuers,
    /// What stands before a scope of ours in it.
    pub jwt_scope_prefix: ForIssuers,
    /// Run on a temporary directory with sample users; `data` is not touched then.
    pub dev: bool,
    /// The least severe level that is logged.
    pub log: LogLevel,
    /// How a log line is written.
    pub log_format: LogFormat,
    /// The policy on shared primary e-mail addresses that the store must have; none: any.
    pub email_uniqueness: Option<EmailUniqueness>,
    /// Whether `external_id` must be unique by the policy of the store; none: either.
    pub unique_external_id: Option<bool>,
    /// Whether a PUT without precondition that would clear members is answered 428.
    pub put_guard: bool,
    /// Whether a DELETE without precondition is answered 428.
    pub delete_guard: bool,
    /// Whether a filter of SCIM in a URL is answered 403.
    pub scim_filter_guard: bool,
    /// How long a deleted user is kept before it is purged; none: until somebody purges it.
    pub deleted_keep: Option<Duration>,
    /// How long an event is kept; none: for good.
    pub events_keep: Option<Duration>,
    /// The largest request body, in bytes.
    pub body_bytes_max: u64,
    /// How long a request head may take to arrive.
    pub header_timeout: Duration,
    /// How long a connection may stand without a request.
    pub idle_timeout: Duration,
    /// The slowest request body that is still waited for, in bytes a second; 0 is no floor.
    pub body_floor_bytes_per_s: u64,
    /// The slowest reader of an answer that is still served, in bytes a second; 0 is no floor.
    pub write_floor_bytes_per_s: u64,
    /// How many connections may be open at once.
    pub connections_max: usize,
    /// How many of these one address may have, but for loopback; 0 is no limit.
    pub connections_per_address_max: usize,
    /// Requests a second that a caller may keep up; 0 is no limit.
    pub rate_limit_per_s: usize,
    /// Requests that a caller may make at once after a rest.
    pub rate_limit_burst: usize,
    /// Failed attempts to authenticate a minute that an address may make; 0 is no limit.
    pub failed_auth_per_minute: usize,
    /// How long connections are still taken after a stop signal.
    pub drain_delay: Duration,
    /// How long requests under way may then take to finish.
    pub drain_timeout: Duration,
    /// How many users are kept in memory; 0 turns the cache off.
    pub cache_entries: usize,
    /// Free bytes on the disk below which `/readyz` says no.
    pub disk_floor_bytes: u64,
    /// How long a start waits for another process to leave its data directory or port.
    pub takeover_wait: Duration,
    /// Threads that serve requests; 0 is one per core.
    pub workers: usize,
    /// How long a reading may take; afterwards it is given up.
    pub read_wait_max: Duration,
    /// How long a write may wait for the writer; afterwards it is not begun.
    pub write_wait_max: Duration,
    /// Writes that may wait for the writer; more are answered 503.
    pub write_queue_max: usize,
}

impl Config {
    /// Reads flags, environment and file, and checks every value.
    ///
    /// Besides the settings it tells each value's origin, for `roster check-config`.
    pub fn load(given: &Given) -> Result<(Self, Report), Faults> {
        resolve::resolve(given, environment::read())
    }

    /// The settings of these flags alone.
    #[cfg(test)]
    pub(crate) fn of_flags(flags: &[(&'static str, &str)]) -> (Self, Report) {
        let flags = flags.iter().map(|(key, value)| (*key, (*value).into())).collect();
        let given = Given { flags, ..Given::default() };
        resolve::resolve(&given, Vec::new()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// The URL that callers reach the service by, once it listens on `local`.
    pub fn effective_base_url(&self, local: SocketAddr) -> BaseUrl {
        let tls = self.tls_certificate.is_some();
        self.base_url.clone().unwrap_or_else(|| BaseUrl::of_address(local, tls))
    }
}
