//! Connecting: to whichever of the hosts takes writes.
//!
//! All hosts are tried at once, each under a deadline of its own over everything that connecting
//! takes, so that a host which accepts and then says nothing keeps nobody from the others. The
//! first one that takes writes is used; one that only reads never is, for its answers may be old.

mod connection;
mod hosts;

use std::{fmt, time::Duration};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls};

use crate::failure::Told;
pub(crate) use connection::Connection;
pub use hosts::UrlError;

/// How long one host may take until it is known that it takes writes.
const HOST_TIMEOUT: Duration = Duration::from_millis(1500);

/// What every session is set to, where the database knows it. A statement's way is fixed by its
/// shape and these, not by statistics: no scan of a table, no sort of what an index has in order,
/// and no new plan for each set of values. A session that stands still inside a transaction is
/// ended, so that its locks are not for ever.
const SESSION: &[(&str, &str)] = &[
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("plan_cache_mode", "force_generic_plan"),
    ("idle_in_transaction_session_timeout", "5000"),
    ("lock_timeout", "1000"),
    ("statement_timeout", "0"),
    ("client_connection_check_interval", "1000"),
    ("default_transaction_isolation", "read committed"),
    // An answered write is on disk. Where more than that is set, it stays.
    ("synchronous_commit", "on"),
];

/// Finds the server that takes writes.
#[derive(Clone)]
pub struct Connector {
    hosts: Vec<Config>,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The server refuses, or cannot be reached.
    Refused {
        /// Which one.
        host: String,
        /// Why.
        reason: String,
    },
    /// The server did not answer in time.
    Silent {
        /// Which one.
        host: String,
    },
    /// The server only reads.
    ReadOnly {
        /// Which one.
        host: String,
    },
}

impl Connector {
    /// A connector to the hosts of a URL.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        Ok(Self { hosts: hosts::parse(url)? })
    }

    /// The hosts as a URL that can be shown.
    pub fn shown(&self) -> String {
        hosts::shown(&self.hosts)
    }

    /// Connects to the first host that takes writes.
    pub(crate) async fn connect(&self) -> Result<Connection, ConnectError> {
        let mut attempts: FuturesUnordered<_> = self.hosts.iter().map(attempt).collect();
        let mut told: Option<ConnectError> = None;
        while let Some(attempt) = attempts.next().await {
            match attempt {
                Ok(connection) => return Ok(connection),
                Err(error) => {
                    // What a server says is worth more than that another one said nothing.
                    let kept = told.take().filter(|told| told.rank() >= error.rank());
                    told = Some(kept.unwrap_or(error));
                }
            }
        }
        Err(told.unwrap_or_else(|| ConnectError::Silent { host: String::new() }))
    }
}

async fn attempt(config: &Config) -> Result<Connection, ConnectError> {
    match timeout(HOST_TIMEOUT, connect_to(config)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ConnectError::Silent { host: hosts::name(config) }),
    }
}

async fn connect_to(config: &Config) -> Result<Connection, ConnectError> {
    let refused = |error| {
        let reason = Told(error).to_string();
        ConnectError::Refused { host: hosts::name(config), reason }
    };
    let (client, wire) = config.connect(NoTls).await.map_err(refused)?;
    let connection = Connection::drive(client, wire);
    let rows = connection.client().query("SHOW transaction_read_only", &[]).await;
    let row = rows.map_err(refused)?.pop();
    let state = row.and_then(|row| row.try_get::<_, String>(0).ok());
    if state.as_deref() != Some("off") {
        return Err(ConnectError::ReadOnly { host: hosts::name(config) });
    }
    let (names, values): (Vec<&str>, Vec<&str>) = SESSION.iter().copied().unzip();
    let set = "SELECT set_config(known.name, wanted.value, false) \
         FROM unnest($1::text[], $2::text[]) AS wanted (name, value) \
         JOIN pg_catalog.pg_settings AS known ON known.name = wanted.name \
         WHERE known.name <> 'synchronous_commit' OR known.setting = 'off'";
    connection.client().query(set, &[&names, &values]).await.map_err(refused)?;
    Ok(connection)
}

impl ConnectError {
    fn rank(&self) -> u8 {
        match self {
            Self::Silent { .. } => 0,
            Self::ReadOnly { .. } => 1,
            Self::Refused { .. } => 2,
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { host, reason } => write!(f, "{host}: {reason}"),
            Self::Silent { host } => write!(f, "{host} does not answer"),
            Self::ReadOnly { host } => write!(f, "{host} takes no writes"),
        }
    }
}

impl std::error::Error for ConnectError {}
