//! Connecting: to whichever of the hosts takes writes.
//!
//! All hosts are tried at once, each under a deadline of its own over everything that connecting
//! takes, so that a host which accepts and then says nothing keeps nobody from the others. The
//! first one that takes writes is used; one that only reads never is, for its answers may be old.

mod connection;
mod hosts;
mod tls;

use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout;
use tokio_postgres::{Config, Error};

pub(crate) use connection::Connection;
pub use hosts::UrlError;
use tls::Tls;

use crate::failure::WithoutDetail;

/// How long one host may take until it is known that it takes writes.
const HOST_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a start waits for a server that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the tables are, unless the URL, the role or the database sets another search path.
pub(crate) const SEARCH_PATH: &str = "roster";

/// What every session is set to, where the database knows it; a role, a database or the URL may
/// say otherwise. A statement's way is fixed by its shape and these, not by statistics: no scan of
/// a table, no sort of what an index has in order, and no new plan for each set of values. A
/// session that is idle inside a transaction is ended, so that its locks are not for ever.
const SESSION: &[(&str, &str)] = &[
    ("search_path", SEARCH_PATH),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("enable_memoize", "off"),
    ("enable_sort", "off"),
    ("enable_incremental_sort", "off"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("plan_cache_mode", "force_generic_plan"),
    ("idle_in_transaction_session_timeout", "1000"),
    ("lock_timeout", "1000"),
    ("transaction_timeout", "15000"),
    ("statement_timeout", "0"),
    ("idle_session_timeout", "0"),
    ("client_connection_check_interval", "1000"),
    // A session whose process or network is gone is ended too, and its locks with it.
    ("tcp_keepalives_idle", "5"),
    ("tcp_keepalives_interval", "2"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "10000"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_deferrable", "off"),
    // A wait for a standby that ends early is known by its warning alone.
    ("client_min_messages", "warning"),
    // Statements contain '\\xff', which means one byte where this is on.
    ("standard_conforming_strings", "on"),
    // A row policy makes a statement fail. Otherwise it would hide users.
    ("row_security", "off"),
    // An answered write is on disk. Where more than that is set, it stays.
    ("synchronous_commit", "on"),
];

/// What replaces it in a session whose work grows with the data: changes of the schema, index
/// builds, loads and their digests.
const MAINTENANCE: &[(&str, &str)] = &[
    ("transaction_timeout", "0"),
    ("idle_in_transaction_session_timeout", "0"),
    ("lock_timeout", "600000"),
];

/// Sets the settings of two arrays, names and values, that the server knows.
const SET: &str = "SELECT set_config(known.name, wanted.value, false) \
     FROM unnest($1::text[], $2::text[]) AS wanted (name, value) \
     JOIN pg_catalog.pg_settings AS known ON known.name = wanted.name \
     WHERE CASE known.name WHEN 'synchronous_commit' THEN known.setting = 'off' \
     WHEN 'search_path' THEN known.source NOT IN ('client', 'user', 'database', 'database user') \
     ELSE true END";

/// Finds the server that takes writes.
#[derive(Clone)]
pub struct Connector {
    hosts: Vec<Config>,
    tls: Tls,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server refuses, or cannot be reached.
    #[error("{host}: {reason}")]
    Refused {
        /// Which one.
        host: String,
        /// Why.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("{host} does not answer")]
    Silent {
        /// Which one.
        host: String,
    },
    /// The server only reads.
    #[error("{host} takes no writes")]
    ReadOnly {
        /// Which one.
        host: String,
    },
}

impl Connector {
    /// A connector to the hosts of a URL. Reads the certificates that it names.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (hosts, tls) = hosts::parse(url).map_err(UrlError)?;
        Ok(Self { hosts, tls })
    }

    /// The hosts as a URL that can be shown.
    pub fn shown(&self) -> String {
        hosts::shown(&self.hosts)
    }

    /// Connects as [`Connector::connect`] does, and goes on for a while where a server is there
    /// but does not answer yet.
    pub(crate) async fn connect_patiently(&self) -> Result<Connection, ConnectError> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.connect().await {
                Err(ConnectError::Silent { .. }) if Instant::now() < end => {}
                outcome => return outcome,
            }
        }
    }

    /// Connects as [`Connector::connect_patiently`] does, for work that may take as long as the
    /// data is large: no timeout of the session ends it.
    pub(crate) async fn connect_for_maintenance(&self) -> Result<Connection, ConnectError> {
        let connection = self.connect_patiently().await?;
        let refused = |error| ConnectError::Refused {
            host: self.shown(),
            reason: WithoutDetail(error).to_string(),
        };
        set(&connection, MAINTENANCE).await.map_err(refused)?;
        Ok(connection)
    }

    /// Connects to the first host that takes writes.
    pub(crate) async fn connect(&self) -> Result<Connection, ConnectError> {
        let attempts = self.hosts.iter().map(|host| attempt(host, &self.tls));
        let mut attempts: FuturesUnordered<_> = attempts.collect();
        let mut errors = Vec::new();
        while let Some(attempt) = attempts.next().await {
            match attempt {
                Ok(connection) => return Ok(connection),
                Err(error) => errors.push(error),
            }
        }
        // An error that a server reports is worth more than that another one is silent. Of several,
        // the first one counts.
        let error = errors.into_iter().rev().max_by_key(ConnectError::rank);
        Err(error.unwrap_or_else(|| ConnectError::Silent { host: String::new() }))
    }
}

async fn attempt(config: &Config, tls: &Tls) -> Result<Connection, ConnectError> {
    let silent = |_| Err(ConnectError::Silent { host: hosts::name(config) });
    timeout(HOST_TIMEOUT, connect_to(config, tls)).await.unwrap_or_else(silent)
}

async fn connect_to(config: &Config, tls: &Tls) -> Result<Connection, ConnectError> {
    let because = |reason| ConnectError::Refused { host: hosts::name(config), reason };
    let refused = |error| because(WithoutDetail(error).to_string());
    let connection = tls.connect(config).await.map_err(because)?;
    let rows = connection.client().query("SHOW transaction_read_only", &[]).await;
    let row = rows.map_err(refused)?.pop();
    let state = row.and_then(|row| row.try_get::<_, String>(0).ok());
    if state.as_deref() != Some("off") {
        return Err(ConnectError::ReadOnly { host: hosts::name(config) });
    }
    set(&connection, SESSION).await.map_err(refused)?;
    Ok(connection)
}

async fn set(connection: &Connection, settings: &[(&str, &str)]) -> Result<(), Error> {
    let (names, values): (Vec<&str>, Vec<&str>) = settings.iter().copied().unzip();
    connection.client().query(SET, &[&names, &values]).await.map(drop)
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
