//! Merges the sources: flags over environment over file over defaults.
//!
//! Pure except for reading the settings file. Weak sources are applied first and stronger ones over
//! them, so each given value is checked even if another one replaces it.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::choice::{EmailUniqueness, LogFormat, LogLevel, TlsMin};
use super::claim::Claim;
use super::fault::{Faults, Origin};
use super::issuer::ForIssuers;
use super::table::SETTINGS;
use super::{Config, environment, file};

/// The command line.
#[derive(Debug, Default)]
pub struct Given {
    /// The values of flags, by key of the setting.
    pub flags: Vec<(&'static str, OsString)>,
    /// The file of `--config`.
    pub config_file: Option<PathBuf>,
    /// Whether `--dev` is set.
    pub dev: bool,
}

/// Each setting with its value and origin, in the order of the table.
#[derive(Debug)]
pub struct Report {
    /// One line for each setting.
    pub lines: Vec<ReportLine>,
}

/// One setting of a [`Report`].
#[derive(Debug)]
pub struct ReportLine {
    /// The key.
    pub key: &'static str,
    /// The value as TOML.
    pub value: String,
    /// The origin.
    pub origin: Origin,
}

impl Report {
    /// The origin of the value of `key`; the default for an unknown key.
    pub fn origin_of(&self, key: &str) -> Origin {
        let line = self.lines.iter().find(|line| line.key == key);
        line.map_or(Origin::Default, |line| line.origin.clone())
    }

    /// Adds a fault of the value of `key` that depends on other values.
    pub fn fault(&self, faults: &mut Faults, key: &str, detail: &str) {
        let origin = self.origin_of(key);
        let detail = named(&origin, key, detail);
        faults.push(origin, detail);
    }

    /// Records that `origin` replaces the value of `key`.
    pub fn overrule(&mut self, key: &str, origin: &Origin) {
        for line in self.lines.iter_mut().filter(|line| line.key == key) {
            line.origin = origin.clone();
        }
    }
}

/// Merges the command line and the environment.
pub(super) fn resolve(
    given: &Given,
    variables: Vec<(OsString, OsString)>,
) -> Result<(Config, Report), Faults> {
    let mut faults = Faults::default();
    let environment = environment::sort(variables, &mut faults);
    let config_file = given.config_file.clone().or(environment.config_file.map(PathBuf::from));
    let from_file = config_file.map(|path| file::read(&path, &mut faults)).unwrap_or_default();
    let from_flags = flag_claims(given, &mut faults);

    let mut config = unset();
    config.dev = given.dev;
    let mut lines = Vec::with_capacity(SETTINGS.len());
    for setting in SETTINGS {
        let given_to = |claim: &&Claim| claim.setting.key == setting.key;
        let default = Claim { setting, text: setting.default.to_owned(), origin: Origin::Default };
        let weakest_first = std::iter::once(&default)
            .chain(from_file.iter().filter(given_to))
            .chain(environment.claims.iter().filter(given_to))
            .chain(from_flags.iter().filter(given_to));
        for claim in weakest_first {
            if given.dev && setting.key == "database" && is_ambient(claim) {
                faults.push(claim.origin.clone(), named(&claim.origin, setting.key, NOT_WITH_DEV));
            }
            match setting.kind.put(&mut config, &claim.text) {
                Ok(value) => {
                    lines.retain(|line: &ReportLine| line.key != setting.key);
                    let origin = claim.origin.clone();
                    lines.push(ReportLine { key: setting.key, value, origin });
                }
                Err(detail) => {
                    let detail = named(&claim.origin, setting.key, &detail);
                    faults.push(claim.origin.clone(), detail);
                }
            }
        }
    }
    if faults.is_empty() { Ok((config, Report { lines })) } else { Err(faults) }
}

const NOT_WITH_DEV: &str = "cannot go with --dev, which runs on a temporary directory";

/// Whether a value is from the environment or from the file.
fn is_ambient(claim: &Claim) -> bool {
    matches!(claim.origin, Origin::Environment(_) | Origin::File { .. }) && !claim.text.is_empty()
}

/// The values of the command line.
fn flag_claims(given: &Given, faults: &mut Faults) -> Vec<Claim> {
    let mut claims = Vec::new();
    for setting in SETTINGS {
        let Some((_, value)) = given.flags.iter().find(|(key, _)| *key == setting.key) else {
            continue;
        };
        let origin = Origin::Flag(setting.flag);
        if given.dev && ["data", "database"].contains(&setting.key) {
            faults.push(origin.clone(), NOT_WITH_DEV);
        }
        match value.clone().into_string() {
            Ok(text) => claims.push(Claim { setting, text, origin }),
            Err(_) => faults.push(origin, "the value is not valid UTF-8"),
        }
    }
    claims
}

/// The detail of a fault, with the key if the origin does not contain it.
fn named(origin: &Origin, key: &str, detail: &str) -> String {
    match origin {
        Origin::File { .. } | Origin::Default => format!("{key}: {detail}"),
        Origin::Flag(_) | Origin::Environment(_) | Origin::Supervisor => detail.to_owned(),
    }
}

/// Settings before defaults are applied. No value of these remains: the table has a default for
/// every field except `dev`, which is set separately (a test checks this).
pub(super) fn unset() -> Config {
    Config {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        data: Path::new("").to_owned(),
        database: None,
        base_url: None,
        hosts: Vec::new(),
        trusted_proxies: Vec::new(),
        webhook_networks: Vec::new(),
        console: false,
        require_key: true,
        allow_open: true,
        first_key_file: None,
        cors_origins: Vec::new(),
        tls_certificate: None,
        tls_key: None,
        tls_min: TlsMin::V1_3,
        jwt_issuer: Vec::new(),
        jwt_audience: ForIssuers::default(),
        jwt_algorithms: Vec::new(),
        jwt_scope_claim: ForIssuers::default(),
        jwt_scope_prefix: ForIssuers::all("-"),
        jwt_tenant: ForIssuers::all("-"),
        jwt_tenant_claim: ForIssuers::all("-"),
        jwt_lifetime_max: Some(Duration::ZERO),
        dev: false,
        log: LogLevel::Error,
        log_format: LogFormat::Json,
        email_uniqueness: Some(EmailUniqueness::None),
        unique_external_id: Some(true),
        put_guard: true,
        delete_guard: true,
        scim_filter_guard: true,
        deleted_keep: None,
        events_keep: None,
        body_bytes_max: 0,
        header_timeout: Duration::ZERO,
        idle_timeout: Duration::ZERO,
        body_floor_bytes_per_s: 0,
        write_floor_bytes_per_s: 0,
        connections_max: 0,
        drain_delay: Duration::MAX,
        connections_per_address_max: 0,
        rate_limit_per_s: 0,
        rate_limit_burst: 0,
        log_bytes_per_hour: 0,
        failed_auth_per_minute: 0,
        drain_timeout: Duration::ZERO,
        cache_entries: 0,
        disk_floor_bytes: 0,
        takeover_wait: Duration::MAX,
        workers: usize::MAX,
        read_wait_max: Duration::ZERO,
        write_wait_max: Duration::ZERO,
        write_queue_max: 0,
    }
}
