//! The table of settings: the one place where a setting is described.
//!
//! Flags, help, environment, file, errors and `roster check-config` are made from it. The order
//! is the order of the help. `data` and the others may be given by any source; what is a matter
//! of one run only (`--dev`, `--config`) is no setting and does not stand here.

use super::choice::{EmailUniqueness, LogFormat, LogLevel, TlsMin};
use super::issuer;
use super::kind::Kind;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Its key in the settings file.
    pub key: &'static str,
    /// Its environment variable.
    pub env: &'static str,
    /// Its flag, without the dashes.
    pub flag: &'static str,
    /// The heading it stands under.
    pub group: Group,
    /// Its type, range and place.
    pub kind: Kind,
    /// The value nobody has to give, as a flag would give it; empty is none.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
}

/// A heading of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Where the service listens and where its data lies.
    Place,
    /// Who may call.
    Access,
    /// How connections are protected.
    Tls,
    /// What is logged.
    Logs,
    /// What a user may be and how it may be written.
    Rules,
    /// How long what is no longer in use is kept.
    Retention,
    /// What a caller may cost.
    Limits,
    /// What the process takes of the machine.
    Resources,
}

impl Group {
    /// The heading's words.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Place => "Place",
            Self::Access => "Access",
            Self::Tls => "TLS",
            Self::Logs => "Logs",
            Self::Rules => "Rules",
            Self::Retention => "Retention",
            Self::Limits => "Limits",
            Self::Resources => "Resources",
        }
    }
}

/// Every setting.
pub static SETTINGS: &[Setting] = &[
    Setting {
        key: "listen",
        env: "ROSTER_LISTEN",
        flag: "listen",
        group: Group::Place,
        kind: Kind::Address(|config| &mut config.listen),
        default: "127.0.0.1:8080",
        doc: "Address and port to listen on; port 0 lets the system choose one.",
    },
    Setting {
        key: "data",
        env: "ROSTER_DATA",
        flag: "data",
        group: Group::Place,
        kind: Kind::Directory(|config| &mut config.data),
        default: "./roster-data",
        doc: "Directory of the data, made at the first start for its owner alone.",
    },
    Setting {
        key: "database",
        env: "ROSTER_DATABASE",
        flag: "database",
        group: Group::Place,
        kind: Kind::Database(|config| &mut config.database),
        default: "",
        doc: "URL of the PostgreSQL database that keeps the users; none: the data directory does.",
    },
    Setting {
        key: "base_url",
        env: "ROSTER_BASE_URL",
        flag: "base-url",
        group: Group::Place,
        kind: Kind::BaseUrl(|config| &mut config.base_url),
        default: "",
        doc: "URL that callers write before /users, path included; none: the address listened on.",
    },
    Setting {
        key: "hosts",
        env: "ROSTER_HOSTS",
        flag: "hosts",
        group: Group::Place,
        kind: Kind::Hosts(|config| &mut config.hosts),
        default: "",
        doc: "Host names that requests may carry beside loopback and that of base_url.",
    },
    Setting {
        key: "first_key_file",
        env: "ROSTER_FIRST_KEY_FILE",
        flag: "first-key-file",
        group: Group::Access,
        kind: Kind::File(|config| &mut config.first_key_file),
        default: "",
        doc: "File that a start which finds no key writes the first one into; none: it makes none.",
    },
    Setting {
        key: "cors_origins",
        env: "ROSTER_CORS_ORIGINS",
        flag: "cors-origins",
        group: Group::Access,
        kind: Kind::Origins(|config| &mut config.cors_origins),
        default: "",
        doc: "Origins whose web pages may call from a browser, with a key; none: no page.",
    },
    Setting {
        key: "jwt_issuer",
        env: "ROSTER_JWT_ISSUER",
        flag: "jwt-issuer",
        group: Group::Access,
        kind: Kind::Text {
            placeholder: "URLS",
            what: "https URL, or NAME=URL, separated by commas",
            put: issuer::urls,
        },
        default: "",
        doc: "URL of each issuer whose tokens let callers in, as iss spells it; none: keys do.",
    },
    Setting {
        key: "jwt_audience",
        env: "ROSTER_JWT_AUDIENCE",
        flag: "jwt-audience",
        group: Group::Access,
        kind: Kind::Text {
            placeholder: "TEXTS",
            what: "text, or NAME=TEXT for one issuer, separated by commas",
            put: issuer::audience,
        },
        default: "",
        doc: "What must be among aud of a token; needed with jwt_issuer.",
    },
    Setting {
        key: "jwt_algorithms",
        env: "ROSTER_JWT_ALGORITHMS",
        flag: "jwt-algorithms",
        group: Group::Access,
        kind: Kind::Text {
            placeholder: "NAMES",
            what: issuer::ALGORITHMS,
            put: issuer::algorithms,
        },
        default: "RS256,PS256,ES256,EdDSA",
        doc: "Algorithms that tokens may be signed with, separated by commas.",
    },
    Setting {
        key: "jwt_scope_claim",
        env: "ROSTER_JWT_SCOPE_CLAIM",
        flag: "jwt-scope-claim",
        group: Group::Access,
        kind: Kind::Text {
            placeholder: "NAMES",
            what: "name of a claim, or NAME=CLAIM for one issuer, separated by commas",
            put: issuer::scope_claim,
        },
        default: "scope",
        doc: "Claim of a token that tells its scopes: a text with spaces between them, or a list.",
    },
    Setting {
        key: "jwt_scope_prefix",
        env: "ROSTER_JWT_SCOPE_PREFIX",
        flag: "jwt-scope-prefix",
        group: Group::Access,
        kind: Kind::Text {
            placeholder: "TEXTS",
            what: "text, or NAME=TEXT for one issuer, separated by commas",
            put: issuer::scope_prefix,
        },
        default: "",
        doc: "What stands before each scope in it, as in roster:users:read; others are ignored.",
    },
    Setting {
        key: "tls_certificate",
        env: "ROSTER_TLS_CERTIFICATE",
        flag: "tls-certificate",
        group: Group::Tls,
        kind: Kind::File(|config| &mut config.tls_certificate),
        default: "",
        doc: "PEM file of the certificate, then of those in between; the port speaks TLS then.",
    },
    Setting {
        key: "tls_key",
        env: "ROSTER_TLS_KEY",
        flag: "tls-key",
        group: Group::Tls,
        kind: Kind::File(|config| &mut config.tls_key),
        default: "",
        doc: "PEM file of the certificate's private key, without a password.",
    },
    Setting {
        key: "tls_min",
        env: "ROSTER_TLS_MIN",
        flag: "tls-min",
        group: Group::Tls,
        kind: Kind::Choice {
            words: TlsMin::WORDS,
            set: |config, word| TlsMin::from_word(word).map(|to| config.tls_min = to).is_some(),
        },
        default: "1.2",
        doc: "Least version of TLS that is spoken.",
    },
    Setting {
        key: "log",
        env: "ROSTER_LOG",
        flag: "log",
        group: Group::Logs,
        kind: Kind::Choice {
            words: LogLevel::WORDS,
            set: |config, word| LogLevel::from_word(word).map(|to| config.log = to).is_some(),
        },
        default: "info",
        doc: "Least severe level that is logged.",
    },
    Setting {
        key: "log_format",
        env: "ROSTER_LOG_FORMAT",
        flag: "log-format",
        group: Group::Logs,
        kind: Kind::Choice {
            words: LogFormat::WORDS,
            set: |config, word| {
                LogFormat::from_word(word).map(|to| config.log_format = to).is_some()
            },
        },
        default: "text",
        doc: "Log lines for people or one JSON object a line, on stderr.",
    },
    Setting {
        key: "email_uniqueness",
        env: "ROSTER_EMAIL_UNIQUENESS",
        flag: "email-uniqueness",
        group: Group::Rules,
        kind: Kind::Choice {
            words: EmailUniqueness::WORDS,
            set: |config, word| {
                EmailUniqueness::from_word(word).map(|to| config.email_uniqueness = to).is_some()
            },
        },
        default: "primary",
        doc: "Whether the primary e-mail address of a user is unique, or none is.",
    },
    Setting {
        key: "unique_external_id",
        env: "ROSTER_UNIQUE_EXTERNAL_ID",
        flag: "unique-external-id",
        group: Group::Rules,
        kind: Kind::Switch(|config| &mut config.unique_external_id),
        default: "false",
        doc: "Refuse a second user with the same external_id.",
    },
    Setting {
        key: "put_guard",
        env: "ROSTER_PUT_GUARD",
        flag: "put-guard",
        group: Group::Rules,
        kind: Kind::Switch(|config| &mut config.put_guard),
        default: "false",
        doc: "Answer 428 to a PUT without a precondition that would clear stored members.",
    },
    Setting {
        key: "delete_guard",
        env: "ROSTER_DELETE_GUARD",
        flag: "delete-guard",
        group: Group::Rules,
        kind: Kind::Switch(|config| &mut config.delete_guard),
        default: "false",
        doc: "Answer 428 to a DELETE without a precondition.",
    },
    Setting {
        key: "deleted_keep",
        env: "ROSTER_DELETED_KEEP",
        flag: "deleted-keep",
        group: Group::Retention,
        kind: Kind::Keep { min: 1, slot: |config| &mut config.deleted_keep },
        default: "30d",
        doc: "How long a deleted user is kept before it is purged, history included.",
    },
    Setting {
        key: "events_keep",
        env: "ROSTER_EVENTS_KEEP",
        flag: "events-keep",
        group: Group::Retention,
        kind: Kind::Keep { min: 86_400, slot: |config| &mut config.events_keep },
        default: "400d",
        doc: "How long an event of the change log is kept.",
    },
    Setting {
        key: "body_bytes_max",
        env: "ROSTER_BODY_BYTES_MAX",
        flag: "body-bytes-max",
        group: Group::Limits,
        kind: Kind::Bytes {
            min: 65_536,
            max: 67_108_864,
            slot: |config| &mut config.body_bytes_max,
        },
        default: "1048576",
        doc: "Largest request body; a larger one is answered 413.",
    },
    Setting {
        key: "header_timeout_ms",
        env: "ROSTER_HEADER_TIMEOUT_MS",
        flag: "header-timeout-ms",
        group: Group::Limits,
        kind: Kind::Millis { min: 100, max: 600_000, slot: |config| &mut config.header_timeout },
        default: "10000",
        doc: "Time a request's head may take to arrive before the connection is closed.",
    },
    Setting {
        key: "idle_timeout_ms",
        env: "ROSTER_IDLE_TIMEOUT_MS",
        flag: "idle-timeout-ms",
        group: Group::Limits,
        kind: Kind::Millis { min: 100, max: 3_600_000, slot: |config| &mut config.idle_timeout },
        default: "75000",
        doc: "Time a connection may stand between two requests before it is closed.",
    },
    Setting {
        key: "body_floor_bytes_per_s",
        env: "ROSTER_BODY_FLOOR_BYTES_PER_S",
        flag: "body-floor-bytes-per-s",
        group: Group::Limits,
        kind: Kind::Bytes {
            min: 0,
            max: 1_048_576,
            slot: |config| &mut config.body_floor_bytes_per_s,
        },
        default: "1024",
        doc: "Slowest request body that is waited for; a slower one is answered 408; 0: no floor.",
    },
    Setting {
        key: "write_floor_bytes_per_s",
        env: "ROSTER_WRITE_FLOOR_BYTES_PER_S",
        flag: "write-floor-bytes-per-s",
        group: Group::Limits,
        kind: Kind::Bytes {
            min: 0,
            max: 1_048_576,
            slot: |config| &mut config.write_floor_bytes_per_s,
        },
        default: "1024",
        doc: "Slowest reader of an answer before its connection is closed; 0: no floor.",
    },
    Setting {
        key: "connections_max",
        env: "ROSTER_CONNECTIONS_MAX",
        flag: "connections-max",
        group: Group::Limits,
        kind: Kind::Count { min: 1, max: 1_000_000, slot: |config| &mut config.connections_max },
        default: "10000",
        doc: "Connections that may be open at once.",
    },
    Setting {
        key: "connections_per_address_max",
        env: "ROSTER_CONNECTIONS_PER_ADDRESS_MAX",
        flag: "connections-per-address-max",
        group: Group::Limits,
        kind: Kind::Count {
            min: 0,
            max: 1_000_000,
            slot: |config| &mut config.connections_per_address_max,
        },
        default: "1000",
        doc: "Connections that one address (or IPv6 /64) but loopback may have open; 0: no limit.",
    },
    Setting {
        key: "rate_limit_per_s",
        env: "ROSTER_RATE_LIMIT_PER_S",
        flag: "rate-limit-per-s",
        group: Group::Limits,
        kind: Kind::Count { min: 0, max: 1_000_000, slot: |config| &mut config.rate_limit_per_s },
        default: "0",
        doc: "Requests a second that a caller may keep up; more are answered 429; 0: no limit.",
    },
    Setting {
        key: "rate_limit_burst",
        env: "ROSTER_RATE_LIMIT_BURST",
        flag: "rate-limit-burst",
        group: Group::Limits,
        kind: Kind::Count { min: 1, max: 10_000_000, slot: |config| &mut config.rate_limit_burst },
        default: "1000",
        doc: "Requests that a caller may make at once after a rest, where there is a rate limit.",
    },
    Setting {
        key: "failed_auth_per_minute",
        env: "ROSTER_FAILED_AUTH_PER_MINUTE",
        flag: "failed-auth-per-minute",
        group: Group::Limits,
        kind: Kind::Count {
            min: 0,
            max: 1_000_000,
            slot: |config| &mut config.failed_auth_per_minute,
        },
        default: "30",
        doc: "Failed attempts to authenticate that an address may make before 429; 0: no limit.",
    },
    Setting {
        key: "drain_delay_ms",
        env: "ROSTER_DRAIN_DELAY_MS",
        flag: "drain-delay-ms",
        group: Group::Limits,
        kind: Kind::Millis { min: 0, max: 600_000, slot: |config| &mut config.drain_delay },
        default: "0",
        doc: "Time after a stop signal in which /readyz says no and connections are still taken.",
    },
    Setting {
        key: "drain_timeout_ms",
        env: "ROSTER_DRAIN_TIMEOUT_MS",
        flag: "drain-timeout-ms",
        group: Group::Limits,
        kind: Kind::Millis { min: 0, max: 3_600_000, slot: |config| &mut config.drain_timeout },
        default: "25000",
        doc: "Time that requests under way may take to finish once no connection is taken.",
    },
    Setting {
        key: "cache_entries",
        env: "ROSTER_CACHE_ENTRIES",
        flag: "cache-entries",
        group: Group::Resources,
        kind: Kind::Count { min: 0, max: 100_000_000, slot: |config| &mut config.cache_entries },
        default: "100000",
        doc: "Users that are kept in memory; 0 turns the cache off.",
    },
    Setting {
        key: "disk_floor_bytes",
        env: "ROSTER_DISK_FLOOR_BYTES",
        flag: "disk-floor-bytes",
        group: Group::Resources,
        kind: Kind::Bytes {
            min: 0,
            max: 1_099_511_627_776,
            slot: |config| &mut config.disk_floor_bytes,
        },
        default: "67108864",
        doc: "Free disk space below which /readyz reports that the service is not ready.",
    },
    Setting {
        key: "takeover_wait_ms",
        env: "ROSTER_TAKEOVER_WAIT_MS",
        flag: "takeover-wait-ms",
        group: Group::Resources,
        kind: Kind::Millis { min: 0, max: 3_600_000, slot: |config| &mut config.takeover_wait },
        default: "0",
        doc: "Time that a start waits for another process to leave its data directory and port.",
    },
    Setting {
        key: "workers",
        env: "ROSTER_WORKERS",
        flag: "workers",
        group: Group::Resources,
        kind: Kind::Count { min: 0, max: 1_024, slot: |config| &mut config.workers },
        default: "0",
        doc: "Threads that serve requests; 0 is one for each core.",
    },
    Setting {
        key: "read_wait_max_ms",
        env: "ROSTER_READ_WAIT_MAX_MS",
        flag: "read-wait-max-ms",
        group: Group::Resources,
        kind: Kind::Millis { min: 100, max: 600_000, slot: |config| &mut config.read_wait_max },
        default: "30000",
        doc: "Time that a reading may take; afterwards it is given up. Callers may ask for less.",
    },
    Setting {
        key: "write_wait_max_ms",
        env: "ROSTER_WRITE_WAIT_MAX_MS",
        flag: "write-wait-max-ms",
        group: Group::Resources,
        kind: Kind::Millis { min: 100, max: 600_000, slot: |config| &mut config.write_wait_max },
        default: "5000",
        doc: "Time that a write may wait for the writer; afterwards it is refused and not begun.",
    },
    Setting {
        key: "write_queue_max",
        env: "ROSTER_WRITE_QUEUE_MAX",
        flag: "write-queue-max",
        group: Group::Resources,
        kind: Kind::Count { min: 1, max: 1_000_000, slot: |config| &mut config.write_queue_max },
        default: "4096",
        doc: "Writes that may wait for the writer before more are answered 503.",
    },
];
