//! The settings of `roster serve`. Only this module reads the environment or a file for them.
//!
//! One table ([`SETTINGS`]) defines the flags and their help, environment variables, keys of the
//! file, ranges, defaults and `roster check-config`. The order is flag, environment, file, default.
//! Every given value is checked, even if another source overrides it, and all faults are reported
//! at once. This module does not know what a setting does.

mod base_url;
mod choice;
mod claim;
mod database;
mod environment;
mod fault;
mod file;
mod group;
mod host_name;
mod issuer;
mod kind;
mod markdown;
mod nearest;
mod network;
mod resolve;
mod retention;
mod setting;
mod table;
#[cfg(test)]
mod tests;
mod web_origin;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use roster_jwt::TokenAlgorithm;

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

/// Exit status for invalid settings (`EX_CONFIG` of `sysexits.h`).
pub const EXIT_CONFIG: u8 = 78;

/// The environment variable that names the settings file.
pub const CONFIG_FILE_ENV: &str = "ROSTER_CONFIG";

/// The checked settings of one run.
///
/// The field documentation has the units; [`SETTINGS`] has sources and ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each switch is a setting of its own")]
pub struct Config {
    /// Address and port to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The data directory as given; a relative path starts at the working directory.
    pub data: PathBuf,
    /// The PostgreSQL database; `None` to use the data directory.
    pub database: Option<DatabaseUrl>,
    /// The URL before `/users`; `None` for the listening address.
    pub base_url: Option<BaseUrl>,
    /// Accepted names in `Host`, in addition to loopback names and the host of `base_url`.
    pub hosts: Vec<HostName>,
    /// Proxies that may supply the client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// Networks besides the public Internet to which webhooks may send.
    pub webhook_networks: Vec<IpNet>,
    /// Whether the console is served.
    pub console: bool,
    /// Whether every request needs a credential, even before the first key.
    pub require_key: bool,
    /// Whether a service over PostgreSQL needs no credential before the first key.
    pub allow_open: bool,
    /// The file to which a start without keys writes the first key; `None` to create none.
    pub first_key_file: Option<PathBuf>,
    /// Origins whose web pages may call, once a key exists.
    pub cors_origins: Vec<WebOrigin>,
    /// The certificate file; `None` for plain connections.
    pub tls_certificate: Option<PathBuf>,
    /// The file of its private key.
    pub tls_key: Option<PathBuf>,
    /// The minimum version of TLS.
    pub tls_min: TlsMin,
    /// Issuers of accepted tokens; empty to accept none.
    pub jwt_issuer: Vec<NamedIssuer>,
    /// The required audience of tokens.
    pub jwt_audience: ForIssuers,
    /// Accepted signature algorithms of tokens.
    pub jwt_algorithms: Vec<TokenAlgorithm>,
    /// The claim with the scopes of a token.
    pub jwt_scope_claim: ForIssuers,
    /// The prefix of scopes in that claim.
    pub jwt_scope_prefix: ForIssuers,
    /// The tenant of tokens.
    pub jwt_tenant: ForIssuers,
    /// The claim with the tenant of a token.
    pub jwt_tenant_claim: ForIssuers,
    /// The longest time for which a token may be valid; `None` for any time.
    pub jwt_lifetime_max: Option<Duration>,
    /// Run on a temporary directory with sample users; `data` is not used.
    pub dev: bool,
    /// The minimum level of log lines.
    pub log: LogLevel,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The required policy of the store on shared primary e-mail addresses; `None` for any.
    pub email_uniqueness: Option<EmailUniqueness>,
    /// Whether the store's policy must make `external_id` unique; `None` for any.
    pub unique_external_id: Option<bool>,
    /// Whether a PUT without a precondition that would clear members returns 428.
    pub put_guard: bool,
    /// Whether a DELETE without a precondition returns 428.
    pub delete_guard: bool,
    /// Whether a SCIM filter in a URL returns 403.
    pub scim_filter_guard: bool,
    /// Time after which a deleted user is purged; `None` for never.
    pub deleted_keep: Option<Duration>,
    /// Time after which an event is deleted; `None` for never.
    pub events_keep: Option<Duration>,
    /// Maximum size of a request body, in bytes.
    pub body_bytes_max: u64,
    /// Time limit for a request head.
    pub header_timeout: Duration,
    /// Time after which an idle connection is closed.
    pub idle_timeout: Duration,
    /// Minimum speed of a request body, in bytes per second; 0 for no minimum.
    pub body_floor_bytes_per_s: u64,
    /// Minimum speed of a reader of a response, in bytes per second; 0 for no minimum.
    pub write_floor_bytes_per_s: u64,
    /// Maximum number of open connections.
    pub connections_max: usize,
    /// Maximum number of open connections per address, except loopback; 0 for no limit.
    pub connections_per_address_max: usize,
    /// Continuous requests per second of a caller; 0 for no limit.
    pub rate_limit_per_s: usize,
    /// Requests that a caller may send at once after a pause.
    pub rate_limit_burst: usize,
    /// Bytes that a caller may add to the change log in an hour, beyond a multiple of what it
    /// sends; 0 for no limit.
    pub log_bytes_per_hour: u64,
    /// Failed authentications per minute of an address; 0 for no limit.
    pub failed_auth_per_minute: usize,
    /// Time after a stop signal in which connections are still accepted.
    pub drain_delay: Duration,
    /// Time limit for running requests after that.
    pub drain_timeout: Duration,
    /// Number of users in the byte cache; 0 for no cache.
    pub cache_entries: usize,
    /// Free bytes on the disk below which `/readyz` returns 503.
    pub disk_floor_bytes: u64,
    /// Time to wait at a start until another process releases its data directory or port.
    pub takeover_wait: Duration,
    /// Number of threads that serve requests; 0 for one per core.
    pub workers: usize,
    /// Time limit for a read.
    pub read_wait_max: Duration,
    /// Time limit in the writer's queue; then the write is rejected and not begun.
    pub write_wait_max: Duration,
    /// Maximum number of writes in the writer's queue; more return 503.
    pub write_queue_max: usize,
}

impl Config {
    /// Whether every request needs a credential, even before the first key. A database may be that
    /// of another machine, and its users those of other processes.
    pub fn requires_key(&self) -> bool {
        self.require_key || (self.database.is_some() && !self.allow_open)
    }

    /// Reads flags, environment and file, and checks every value.
    ///
    /// The report has the origin of each value, for `roster check-config`.
    pub fn load(given: &Given) -> Result<(Self, Report), Faults> {
        resolve::resolve(given, environment::read())
    }

    /// Whether the environment names a tenant for requests to a service.
    pub fn environment_names_tenant() -> bool {
        environment::names_tenant()
    }

    /// Fails if the environment has a variable that starts with `ROSTER_` and is unknown.
    pub fn check_environment() -> Result<(), Faults> {
        environment::check_names()
    }

    /// The settings of these flags only.
    #[cfg(test)]
    pub(crate) fn of_flags(flags: &[(&'static str, &str)]) -> (Self, Report) {
        let flags = flags.iter().map(|(key, value)| (*key, (*value).into())).collect();
        let given = Given { flags, ..Given::default() };
        resolve::resolve(&given, Vec::new()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// The settings without those of the environment.
    #[cfg(test)]
    pub(crate) fn without_environment(given: &Given) -> Self {
        resolve::resolve(given, Vec::new()).unwrap_or_else(|faults| panic!("{faults}")).0
    }

    /// The base URL of a service that listens on `local`.
    pub fn effective_base_url(&self, local: SocketAddr) -> BaseUrl {
        let tls = self.tls_certificate.is_some();
        self.base_url.clone().unwrap_or_else(|| BaseUrl::of_address(local, tls))
    }
}
