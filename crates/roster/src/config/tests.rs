//! Tests of the table and its sources: precedence, and every kind of fault, all reported at once.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use roster_jwt::IssuerUrl;

use super::resolve::{resolve, unset};
use super::*;

mod addresses;

/// The values of each source in a test.
#[derive(Default)]
struct Sources {
    given: Given,
    variables: Vec<(OsString, OsString)>,
    file: Option<tempfile::NamedTempFile>,
}

impl Sources {
    fn flag(mut self, key: &'static str, value: &str) -> Self {
        self.given.flags.push((key, value.into()));
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    fn file(mut self, text: &str) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        self.given.config_file = Some(file.path().to_owned());
        self.file = Some(file);
        self
    }

    fn resolve(self) -> Result<(Config, Report), Faults> {
        resolve(&self.given, self.variables)
    }

    fn config(self) -> Config {
        self.resolve().unwrap().0
    }

    /// The displayed faults, with FILE for the path of the file.
    fn faults(self) -> Vec<String> {
        let path = self.given.config_file.clone().unwrap_or_default();
        let faults = self.resolve().unwrap_err();
        let path = path.display().to_string();
        faults
            .as_slice()
            .iter()
            .map(|fault| {
                let fault = fault.to_string();
                if path.is_empty() { fault } else { fault.replace(&path, "FILE") }
            })
            .collect()
    }
}

fn none() -> Sources {
    Sources::default()
}

#[test]
fn the_defaults_are_those_that_the_documentation_promises() {
    let config = none().config();
    assert_eq!(config.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(config.data, Path::new("./roster-data"));
    assert_eq!(config.base_url, None);
    assert_eq!(config.hosts, []);
    assert_eq!(config.cors_origins, []);
    assert_eq!((config.tls_certificate, config.tls_key), (None, None));
    assert_eq!(config.tls_min, TlsMin::V1_2);
    assert!(config.jwt_issuer.is_empty() && config.jwt_audience.is_empty());
    assert_eq!(config.jwt_scope_claim.of("jwt"), Some("scope"));
    let algorithms: Vec<_> = config.jwt_algorithms.iter().map(|one| one.as_str()).collect();
    assert_eq!(algorithms, ["RS256", "PS256", "ES256", "EdDSA"]);
    assert!(!config.require_key && !config.allow_open && config.trusted_proxies.is_empty());
    assert!(!config.dev && !config.put_guard && !config.delete_guard);
    assert!(!config.scim_filter_guard);
    assert_eq!((config.email_uniqueness, config.unique_external_id), (None, None));
    assert_eq!((config.log, config.log_format), (LogLevel::Info, LogFormat::Text));
    let days = |days: u64| Some(Duration::from_secs(days * 24 * 60 * 60));
    assert_eq!((config.deleted_keep, config.events_keep), (days(30), days(400)));
    assert_eq!(config.body_bytes_max, 1024 * 1024);
    assert_eq!(config.header_timeout, Duration::from_secs(10));
    assert_eq!(config.cache_entries, 100_000);
    assert_eq!(config.disk_floor_bytes, 64 * 1024 * 1024);
    assert_eq!((config.workers, config.write_queue_max), (0, 4096));
}

#[test]
fn the_table_covers_every_field() {
    // Two configurations that differ in every field. A field that the table does not set would
    // still differ.
    let one = unset();
    let mut other = Config {
        listen: "[::1]:9".parse().unwrap(),
        data: "elsewhere".into(),
        database: Some(DatabaseUrl::parse("postgres://a@b/c").unwrap()),
        base_url: Some(BaseUrl::parse("http://a.example").unwrap()),
        hosts: vec![HostName::parse("a.example").unwrap()],
        webhook_networks: vec!["10.2.0.0/16".parse().unwrap()],
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        console: true,
        require_key: false,
        allow_open: false,
        first_key_file: Some("key".into()),
        cors_origins: vec![WebOrigin::parse("https://a.example").unwrap()],
        tls_certificate: Some("a.pem".into()),
        tls_key: Some("a.key".into()),
        tls_min: TlsMin::V1_2,
        jwt_issuer: vec![NamedIssuer {
            name: "jwt".to_owned(),
            url: IssuerUrl::parse("https://a.example").unwrap(),
        }],
        jwt_audience: ForIssuers::all("a"),
        jwt_algorithms: vec![TokenAlgorithm::Es384],
        jwt_scope_claim: ForIssuers::all("a"),
        jwt_scope_prefix: ForIssuers::all("a"),
        jwt_tenant: ForIssuers::all("a"),
        jwt_tenant_claim: ForIssuers::all("a"),
        jwt_lifetime_max: Some(Duration::from_secs(1)),
        dev: one.dev,
        log: LogLevel::Debug,
        log_format: LogFormat::Text,
        email_uniqueness: Some(EmailUniqueness::Primary),
        unique_external_id: Some(false),
        put_guard: false,
        delete_guard: false,
        scim_filter_guard: false,
        deleted_keep: Some(Duration::from_secs(1)),
        events_keep: Some(Duration::from_secs(1)),
        body_bytes_max: 1,
        header_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(1),
        body_floor_bytes_per_s: 1,
        write_floor_bytes_per_s: 1,
        connections_max: 1,
        drain_delay: Duration::from_secs(1),
        connections_per_address_max: 1,
        rate_limit_per_s: 1,
        rate_limit_burst: 1,
        log_bytes_per_hour: 1,
        failed_auth_per_minute: 1,
        drain_timeout: Duration::from_secs(1),
        cache_entries: 1,
        disk_floor_bytes: 1,
        takeover_wait: Duration::from_secs(1),
        workers: 1,
        read_wait_max: Duration::from_secs(1),
        write_wait_max: Duration::from_secs(1),
        write_queue_max: 1,
    };
    let mut config = one;
    for setting in SETTINGS {
        assert_ne!(config, other, "{} is the last field, yet all are equal", setting.key);
        setting.kind.put(&mut config, setting.default).unwrap();
        setting.kind.put(&mut other, setting.default).unwrap();
    }
    assert_eq!(config, other);
}

#[test]
fn flag_and_variable_follow_from_the_key() {
    let mut keys = HashSet::new();
    for setting in SETTINGS {
        assert!(keys.insert(setting.key), "{} occurs twice", setting.key);
        assert_eq!(setting.flag, setting.key.replace('_', "-"));
        assert_eq!(setting.env, format!("ROSTER_{}", setting.key.to_uppercase()));
        assert!(setting.doc.ends_with('.') && setting.doc.len() > 20, "{}", setting.key);
    }
}

#[test]
fn a_stronger_source_wins() {
    let file = "cache_entries = 1\nworkers = 1\nwrite_queue_max = 1\n";
    let (config, report) = none()
        .file(file)
        .env("ROSTER_CACHE_ENTRIES", "2")
        .env("ROSTER_WORKERS", "2")
        .flag("cache_entries", "3")
        .resolve()
        .unwrap();
    assert_eq!((config.cache_entries, config.workers, config.write_queue_max), (3, 2, 1));
    assert_eq!(report.origin_of("cache_entries").to_string(), "flag --cache-entries");
    assert_eq!(report.origin_of("workers").to_string(), "environment ROSTER_WORKERS");
    assert!(report.origin_of("write_queue_max").to_string().ends_with(":3"));
    assert_eq!(report.origin_of("listen"), Origin::Default);
    assert_eq!(report.lines.len(), SETTINGS.len());
}

#[test]
fn the_flag_for_the_file_wins_over_its_variable() {
    let config = none().file("workers = 7").env("ROSTER_CONFIG", "/nonexistent").config();
    assert_eq!(config.workers, 7);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "workers = 8").unwrap();
    let config = none().env("ROSTER_CONFIG", file.path().to_str().unwrap()).config();
    assert_eq!(config.workers, 8);
    assert_eq!(none().env("ROSTER_CONFIG", "").config().workers, 0, "empty names no file");
}

#[test]
fn every_setting_is_read_from_every_source() {
    for setting in SETTINGS {
        let sample = sample(setting);
        let by_flag = none().flag(setting.key, sample).resolve().unwrap().1;
        let by_env = none().env(setting.env, sample).resolve().unwrap().1;
        let flag_line = by_flag.lines.iter().find(|line| line.key == setting.key).unwrap();
        let env_line = by_env.lines.iter().find(|line| line.key == setting.key).unwrap();
        // The printed value is valid in a file.
        let text = format!("{} = {}\n", setting.key, flag_line.value);
        let (config, by_file) = none().file(&text).resolve().unwrap();
        let file_line = by_file.lines.iter().find(|line| line.key == setting.key).unwrap();
        assert_eq!(flag_line.value, env_line.value);
        assert_eq!(flag_line.value, file_line.value);
        assert_ne!(config, none().config(), "{} has no effect", setting.key);
    }
}

/// A value that is not the default of the setting.
fn sample(setting: &Setting) -> &'static str {
    match &setting.kind {
        Kind::Address(_) => "[::1]:9000",
        Kind::File(_) => "/etc/roster/tls.pem",
        Kind::Directory(_) => "/srv/roster \"data\"",
        Kind::BaseUrl(_) => "https://directory.example.com/v1",
        Kind::Database(_) => "postgres://roster@a.example:5433,b.example:5433/users",
        Kind::Hosts(_) => "directory.example.com,b.example:8443",
        Kind::Text { .. } => match setting.key {
            "jwt_issuer" => "https://issuer.example.com/realms/one/",
            "jwt_algorithms" => "ES256, EdDSA",
            "jwt_tenant" => "acme",
            _ => "roster:",
        },
        Kind::Switch(_) if setting.default == "true" => "false",
        Kind::Switch(_) | Kind::OptionalSwitch(_) => "true",
        Kind::Choice { words, .. } => words.iter().find(|word| **word != setting.default).unwrap(),
        Kind::Count { .. } => "17",
        Kind::Bytes { .. } => "65537",
        Kind::Millis { .. } => "1234",
        Kind::Retention { .. } => "36h",
        Kind::Networks(_) => "10.0.0.0/8,127.0.0.1/32,2001:db8::/32",
        Kind::Origins(_) => "https://a.example,http://localhost:3000",
    }
}

#[test]
fn all_faults_are_reported_at_once_with_their_origins() {
    let file = "# ours\nlisten = 8080\nlisen = \"x\"\nput_guard = \"yes\"\nworkers = 1025\n\
                log = \"loud\"\nhosts = \"a.example\"\ncache_entries = 0x10\n";
    let faults = none()
        .file(file)
        .env("ROSTER_CACHE_ENTRIES", "many")
        .env("ROSTER_CACHE_ENTRYS", "1")
        .env("ROSTER_ZZZZZZZZ", "1")
        .flag("listen", "8080")
        .flag("header_timeout_ms", "-1")
        .flag("events_keep", "23h")
        .faults();
    assert_eq!(
        faults,
        [
            "environment ROSTER_CACHE_ENTRYS: no setting has this name; did you mean \
             ROSTER_CACHE_ENTRIES?",
            "environment ROSTER_ZZZZZZZZ: no setting has this name",
            "file FILE:2: listen must be a string in quotes",
            "file FILE:3: there is no setting \"lisen\"; did you mean listen?",
            "file FILE:4: put_guard must be true or false",
            "file FILE:7: hosts must be a list, as in [\"directory.example.com\"]",
            "file FILE:8: cache_entries must be a decimal number",
            "flag --listen: \"8080\" is not an address with a port, as in 127.0.0.1:8080 or \
             [::1]:8080",
            "file FILE:6: log: \"loud\" is not one of error, warn, info, debug",
            "flag --events-keep: \"23h\" is not within 1d to 36500d, or never",
            "flag --header-timeout-ms: \"-1\" is not a whole number within 100 to 600000",
            "environment ROSTER_CACHE_ENTRIES: \"many\" is not a whole number within 0 to \
             100000000",
            "file FILE:5: workers: 1025 is not within 0 to 1024",
        ]
    );
}

#[test]
fn never_is_a_retention_time_and_zero_is_not() {
    let (config, report) = none().file("deleted_keep = \"never\"").resolve().unwrap();
    assert_eq!(config.deleted_keep, None);
    let line = report.lines.iter().find(|line| line.key == "deleted_keep").unwrap();
    assert_eq!(line.value, "\"never\"");
    let faults = none().file("deleted_keep = 0\nevents_keep = \"0\"").faults();
    assert_eq!(
        faults,
        [
            "file FILE:1: deleted_keep must be a string in quotes",
            "file FILE:2: events_keep: \"0\" is not a time such as 30d, 12h, 90m or 45s, nor \
             \"never\"",
        ]
    );
}

#[test]
fn a_fault_that_another_source_overrides_is_reported() {
    let faults = none().file("workers = 9999").flag("workers", "2").faults();
    assert_eq!(faults, ["file FILE:1: workers: 9999 is not within 0 to 1024"]);
}

#[test]
fn an_unreadable_file_is_reported() {
    let faults = none().env("ROSTER_CONFIG", "/nonexistent/roster.toml").faults();
    assert_eq!(faults.len(), 1);
    let fault = faults.first().unwrap();
    assert!(fault.starts_with("file /nonexistent/roster.toml: cannot be read"), "{fault}");
}

#[test]
fn a_file_that_is_not_toml_is_reported_with_its_line() {
    for (text, line) in [("workers = 1\nlog = loud\n", 2), ("workers = 1\nworkers = 2\n", 2)] {
        let faults = none().file(text).faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        let start = format!("file FILE:{line}: is not TOML: ");
        assert!(faults.iter().all(|fault| fault.starts_with(&start)), "{faults:?}");
    }
}

#[test]
fn flags_of_one_run_are_not_settings() {
    let faults = none().file("dev = true\nconfig = \"x\"\n").env("ROSTER_DEV", "1").faults();
    assert_eq!(faults.len(), 3, "{faults:?}");
}

#[test]
fn the_limits_of_each_range_are_accepted_and_values_beyond_are_not() {
    for setting in SETTINGS {
        let (Kind::Count { min, max, .. }
        | Kind::Bytes { min, max, .. }
        | Kind::Millis { min, max, .. }) = &setting.kind
        else {
            continue;
        };
        for inside in [*min, *max] {
            assert!(none().flag(setting.key, &inside.to_string()).resolve().is_ok());
        }
        let above = (max + 1).to_string();
        assert_eq!(none().flag(setting.key, &above).faults().len(), 1, "{}", setting.key);
        if let Some(below) = min.checked_sub(1) {
            let faults = none().flag(setting.key, &below.to_string()).faults();
            assert_eq!(faults.len(), 1, "{}", setting.key);
        }
    }
}

#[test]
fn variables_that_kubernetes_sets_for_a_service_are_ignored() {
    let linked = none()
        .env("ROSTER_SERVICE_HOST", "10.0.0.1")
        .env("ROSTER_SERVICE_PORT", "80")
        .env("ROSTER_SERVICE_PORT_HTTP", "80")
        .env("ROSTER_PORT", "tcp://10.0.0.1:80")
        .env("ROSTER_PORT_80_TCP_ADDR", "10.0.0.1")
        .env("ROSTER_POSTGRESQL_SERVICE_HOST", "fd00::7")
        .env("ROSTER_POSTGRESQL_SERVICE_PORT_TCP_POSTGRESQL", "5432")
        .env("ROSTER_POSTGRESQL_PORT", "tcp://[fd00::7]:5432")
        .env("ROSTER_POSTGRESQL_PORT_5432_TCP", "tcp://[fd00::7]:5432")
        .env("ROSTER_POSTGRESQL_PORT_5432_TCP_PROTO", "tcp");
    assert_eq!(linked.config(), none().config());
    for name in ["ROSTER_PORT_HTTP", "ROSTER_PORT", "ROSTER_API_PORT", "ROSTER_SERVICE_HOST"] {
        assert_eq!(none().env(name, "8080").faults().len(), 1, "{name}");
    }
}

#[test]
fn a_variable_that_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStringExt;
    let mut sources = none().env("OTHER", "x");
    sources.variables.push(("ROSTER_DATA".into(), OsString::from_vec(vec![b'a', 0xff])));
    assert_eq!(sources.faults(), ["environment ROSTER_DATA: the value is not valid UTF-8"]);
}

#[test]
fn dev_and_a_data_flag_are_a_fault() {
    let mut sources = none().flag("data", "/srv/roster");
    sources.given.dev = true;
    assert_eq!(
        sources.faults(),
        ["flag --data: cannot go with --dev, which runs on a temporary directory"]
    );
    let mut sources = none().env("ROSTER_DATA", "/srv/roster");
    sources.given.dev = true;
    assert!(sources.config().dev);
    let database = "postgres://roster@db.example/roster";
    let of_the_file = none().file(&format!("database = \"{database}\"\n"));
    for mut sources in [none().env("ROSTER_DATABASE", database), of_the_file] {
        sources.given.dev = true;
        let faults = sources.faults();
        assert!(faults.len() == 1 && faults[0].contains("cannot go with --dev"), "{faults:?}");
    }
}

#[test]
fn a_base_url_is_not_at_the_path_of_a_probe() {
    for path in ["livez", "readyz", "metrics", "metrics/"] {
        assert!(BaseUrl::parse(&format!("http://a.example/{path}")).is_err(), "{path}");
    }
    assert!(BaseUrl::parse("http://a.example/v1/metrics").is_ok());
}
