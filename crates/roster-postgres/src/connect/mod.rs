//! Connects to the host that accepts writes.
//!
//! All hosts are tried at once, each with its own deadline for the whole connection, so that a host
//! that accepts and then does not respond does not delay the others. The first connection waits for
//! all of them, and uses the host of the latest timeline. Later ones use the first host that
//! accepts writes and continues the log of this process. A read-only host is never used, because
//! its data may be old.

mod hosts;
mod lineage;
mod tls;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout;
use tokio_postgres::{Config, Error};

pub use hosts::UrlError;
use lineage::{Lineage, SERVER, Server, Superseded};
use roster_core::{Position, StoreError};
use tls::Tls;

use crate::{
    connection::Connection,
    failure::{QueryResult, WithoutDetail, superseded, too_slow},
};

/// The time limit for a host to connect and to show that it accepts writes.
const HOST_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum time that a start waits for a server that does not respond.
const PATIENCE: Duration = Duration::from_secs(10);

/// The search path, unless the URL, the role or the database sets another one.
pub(crate) const SEARCH_PATH: &str = "roster";

/// The settings of every session, as far as the database knows them. A role, a database or the URL
/// may override them. They make the plan of a statement depend on its shape, not on statistics: no
/// scan of a table, no sort of rows that an index has in order, and no new plan for each set of
/// values. A session that is idle in a transaction is ended, so that its locks are released.
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
    // A session whose process or network is gone is ended too, which releases its locks.
    ("tcp_keepalives_idle", "5"),
    ("tcp_keepalives_interval", "2"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "10000"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_deferrable", "off"),
    // Only a warning shows that a wait for a standby ended early.
    ("client_min_messages", "warning"),
    // Statements contain '\\xff', which means one byte where this is on.
    ("standard_conforming_strings", "on"),
    // A row policy makes a statement fail. Otherwise it would hide users.
    ("row_security", "off"),
    // A successful write is on disk. A stronger setting is kept.
    ("synchronous_commit", "on"),
];

/// Overrides for a session that writes: its timeout for locks is longer than the default of
/// `deadlock_timeout`, so that PostgreSQL finds a deadlock and ends one of its transactions.
const WRITES: &[(&str, &str)] = &[("lock_timeout", "1500")];

/// Overrides for a session whose work grows with the data: changes of the schema, index builds,
/// loads and their digests.
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

/// Connects to the server that accepts writes.
#[derive(Clone)]
pub struct Connector {
    hosts: Arc<[Config]>,
    tls: Tls,
    /// All connectors of a store share it.
    lineage: Arc<Lineage>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server refuses, or cannot be reached.
    #[error("{host}: {reason}")]
    Refused {
        /// The name of the host.
        host: String,
        /// Why.
        reason: String,
    },
    /// The server did not respond in time.
    #[error("{0} does not respond")]
    Silent(String),
    /// The server is read-only.
    #[error("{0} takes no writes")]
    ReadOnly(String),
    /// Another server was promoted after this one.
    #[error("{0} was left behind: another server was promoted after it")]
    EarlierTimeline(String),
    /// The log of the server does not continue the one of this process.
    #[error("{0} has another log than this process has read: restart the process to use it")]
    OtherLog(String),
    /// The hosts belong to different clusters.
    #[error("{0} and another host belong to different clusters: name the hosts of one cluster")]
    OtherCluster(String),
}

impl Connector {
    /// A connector to the hosts of a URL. Reads the certificates that it names.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (hosts, tls) = hosts::parse(url).map_err(UrlError)?;
        Ok(Self { hosts: hosts.into(), tls, lineage: Arc::default() })
    }

    /// The hosts as a URL that can be shown.
    pub fn shown(&self) -> String {
        hosts::shown(&self.hosts)
    }

    /// Like [`Connector::connect`], but repeats the attempts for a limited time if a server exists
    /// but does not respond yet.
    pub(crate) async fn connect_patiently(&self) -> Result<Connection, ConnectError> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.connect().await {
                Err(ConnectError::Silent { .. }) if Instant::now() < end => {}
                outcome => return outcome,
            }
        }
    }

    /// Like [`Connector::connect_patiently`], for work whose time depends on the amount of data:
    /// the session has no timeouts.
    pub(crate) async fn connect_for_maintenance(&self) -> Result<Connection, ConnectError> {
        self.set(self.connect_patiently().await?, MAINTENANCE).await
    }

    /// Like [`Connector::connect`], for a session that writes users.
    pub(crate) async fn connect_for_writes(&self) -> Result<Connection, ConnectError> {
        self.set(self.connect().await?, WRITES).await
    }

    async fn set(
        &self,
        connection: Connection,
        settings: &[(&str, &str)],
    ) -> Result<Connection, ConnectError> {
        let refused = |error| ConnectError::Refused {
            host: self.shown(),
            reason: WithoutDetail(error).to_string(),
        };
        set(&connection, settings).await.map_err(refused)?;
        Ok(connection)
    }

    /// Connects to the host that accepts writes.
    pub(crate) async fn connect(&self) -> Result<Connection, ConnectError> {
        let attempts = self.hosts.iter().map(|host| self.attempt(host));
        let mut attempts: FuturesUnordered<_> = attempts.collect();
        let (mut found, mut errors): (Vec<Found>, _) = (Vec::new(), Vec::new());
        while let Some(attempt) = attempts.next().await {
            match attempt {
                Ok(first) if self.lineage.has_server() => return Ok(self.choose(first)),
                Ok(one) => found.push(one),
                Err(error) => errors.push(error),
            }
        }
        let system = |found: &Found| found.server.system.clone();
        if let Some(one) = found.iter().find(|one| found.first().map(system) != Some(system(one))) {
            return Err(ConnectError::OtherCluster(one.host.clone()));
        }
        // The hosts of an earlier timeline were left behind.
        let latest = found.into_iter().max_by(|a, b| a.server.timeline.cmp(&b.server.timeline));
        if let Some(latest) = latest {
            return Ok(self.choose(latest));
        }
        // An error reported by a server is preferred to a timeout of another one. Of several, the
        // first is used.
        let error = errors.into_iter().rev().max_by_key(ConnectError::rank);
        Err(error.unwrap_or_else(|| ConnectError::Silent(String::new())))
    }

    fn choose(&self, found: Found) -> Connection {
        self.lineage.use_server(found.server);
        found.connection
    }

    async fn attempt(&self, config: &Config) -> Result<Found, ConnectError> {
        let silent = |_| Err(ConnectError::Silent(hosts::name(config)));
        timeout(HOST_TIMEOUT, self.connect_to(config)).await.unwrap_or_else(silent)
    }

    async fn connect_to(&self, config: &Config) -> Result<Found, ConnectError> {
        let host = hosts::name(config);
        let because = |reason| ConnectError::Refused { host: host.clone(), reason };
        let refused = |error| because(WithoutDetail(error).to_string());
        let mut connection = self.tls.connect(config).await.map_err(because)?;
        let row = connection.client().query_one(SERVER, &[]).await.map_err(refused)?;
        let [read_only, system, timeline] = [0, 1, 2].map(|index| row.try_get(index));
        let server =
            Server { system: system.map_err(refused)?, timeline: timeline.map_err(refused)? };
        if read_only.map_err(refused)? != "off" {
            return Err(ConnectError::ReadOnly(host));
        }
        if self.lineage.is_earlier(&server) {
            return Err(self.refuse(Superseded::EarlierTimeline, host));
        }
        set(&connection, SESSION).await.map_err(refused)?;
        if self.lineage.log().is_some() {
            let followed = self.lineage.follow(&mut connection).await;
            let followed = followed.map_err(|error| because(error.to_string()))?;
            followed.map_err(|superseded| self.refuse(superseded, host.clone()))?;
        }
        Ok(Found { connection, server, host })
    }

    fn refuse(&self, superseded: Superseded, host: String) -> ConnectError {
        self.lineage.count_refusal();
        match superseded {
            Superseded::EarlierTimeline => ConnectError::EarlierTimeline(host),
            Superseded::OtherLog => ConnectError::OtherLog(host),
        }
    }

    /// Makes the log of the server the one that this process follows: later connections are only to
    /// servers that continue it. Begins a new log if events may be lost.
    pub(crate) async fn follow_log(&self, connection: &mut Connection) -> QueryResult<()> {
        let other = |_| StoreError::from(ConnectError::OtherLog(self.shown()));
        Ok(self.lineage.follow(connection).await?.map_err(other)?)
    }

    /// The log that this process follows, once the store is open.
    pub(crate) fn log(&self) -> Option<Position> {
        self.lineage.log()
    }

    /// Notes a position of the log that was read. If a server is found whose log ends before it,
    /// events are lost.
    pub(crate) fn note_position(&self, read: Position) {
        self.lineage.note(read);
    }

    /// Closes all connections of the store, and checks again which log their server has.
    pub(crate) fn doubt_connections(&self) {
        self.lineage.doubt();
    }

    /// The error if there was no connection in time.
    pub(crate) fn too_slow(&self) -> StoreError {
        if self.lineage.is_superseded() { superseded() } else { too_slow() }
    }

    /// How many connections were refused because their server is superseded.
    pub(crate) fn superseded(&self) -> u64 {
        self.lineage.refused()
    }
}

/// A connection that can be used, and its server.
struct Found {
    connection: Connection,
    server: Server,
    host: String,
}

async fn set(connection: &Connection, settings: &[(&str, &str)]) -> Result<(), Error> {
    let (names, values): (Vec<&str>, Vec<&str>) = settings.iter().copied().unzip();
    connection.client().query(SET, &[&names, &values]).await.map(drop)
}

impl ConnectError {
    fn rank(&self) -> u8 {
        match self {
            Self::Silent(_) => 0,
            Self::ReadOnly(_) => 1,
            Self::Refused { .. } => 2,
            // A superseded server is the reason why nothing works, whatever the others say.
            Self::EarlierTimeline(_) | Self::OtherLog(_) | Self::OtherCluster(_) => 3,
        }
    }
}

impl From<ConnectError> for StoreError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::EarlierTimeline(_)
            | ConnectError::OtherLog(_)
            | ConnectError::OtherCluster(_) => Self::Superseded(Box::new(error)),
            ConnectError::Refused { .. } | ConnectError::Silent(_) | ConnectError::ReadOnly(_) => {
                Self::Unavailable(Box::new(error))
            }
        }
    }
}
