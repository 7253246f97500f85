//! The log that this process follows, and the server that has it.
//!
//! After a failover the former primary may accept writes again, and the new one may lack the last
//! events. A restored copy lacks them too. So every new connection tells which server it is to, and
//! which log that server has:
//!
//! - A server that has an earlier timeline than the last one, or a log that does not continue the
//!   known one, is refused.
//! - If the log came to another server, timeline or table since it was last used, or if it ends
//!   before a position that was read from it, a transaction begins a new log there (`fork`). In a
//!   copy, which is in another cluster, database or table, it also pauses the webhooks.
//! - Once a connection has another log than those before, they are no longer used.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use roster_core::{LogId, Position, StoreError, Timestamp};
use roster_engine::{Values, first, fork, pause_webhooks};

use crate::{
    connection::{Connection, Generation},
    failure::QueryResult,
    reads::rows::Rows,
};

/// A server, as far as failovers distinguish it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// The identifier of the cluster, which a primary and its standbys share.
    pub(super) system: String,
    /// The number of promotions before, in hexadecimal digits of a fixed number.
    pub(super) timeline: String,
}

/// Whether the session is read-only, and its server.
pub(super) const SERVER: &str = "SELECT current_setting('transaction_read_only'), \
     (SELECT system_identifier::text FROM pg_catalog.pg_control_system()), \
     CASE WHEN pg_catalog.pg_is_in_recovery() THEN '' \
     ELSE left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) END";

/// The name of the server, its timeline and the table. A copy of a database has other tables.
const NAME: &str = "(SELECT concat_ws('-', \
     (SELECT system_identifier FROM pg_catalog.pg_control_system()), \
     left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8), \
     (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()), \
     'log_head'::regclass::oid))";

/// The end of the log, whether it continues the log `$1`, and where it was last served. A promotion
/// changes only the timeline.
fn log_of_server() -> String {
    format!(
        "SELECT log_id, position, EXISTS (SELECT FROM former_logs WHERE log_id = $1), \
         (CASE WHEN server IS NULL THEN 3 WHEN server = here THEN 0 \
         WHEN regexp_replace(server, '^([0-9]+-)[^-]*-', '\\1') \
         = regexp_replace(here, '^([0-9]+-)[^-]*-', '\\1') THEN 1 ELSE 2 END)::bigint, \
         log_head.tableoid::bigint FROM log_head, (SELECT {NAME} AS here) AS named WHERE number = 1"
    )
}

/// Locks the head of the log, and reads the time.
const LOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM log_head \
     WHERE number = 1 FOR UPDATE";

/// The commit of a fork does not wait for a standby: until one is there, the store could not be
/// read. If the server is lost, so is the fork, and then another one follows.
const BEGIN: &str = "BEGIN; SET LOCAL synchronous_commit = 'local'";

/// Notes the server, for a log that has not been served.
fn note_server() -> String {
    format!("UPDATE log_head SET server = {NAME} WHERE number = 1 AND server IS NULL")
}

/// Notes the server that the log has moved to.
fn move_to_server() -> String {
    format!("UPDATE log_head SET server = {NAME} WHERE number = 1")
}

/// How often a log is read again that changes meanwhile.
const TRIES: u32 = 5;

/// Why a server is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Superseded {
    /// Another server of its cluster was promoted later.
    EarlierTimeline,
    /// Its log does not continue the known one.
    OtherLog,
}

/// What a process knows of the log.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    known: Mutex<Known>,
    /// The generation of connections that have the known log.
    generation: Generation,
    refused: AtomicU64,
    /// Whether a server was refused since the last connection.
    is_superseded: AtomicBool,
}

#[derive(Clone, Debug, Default)]
struct Known {
    server: Option<Server>,
    /// The highest position that was read. `None` before the store is open.
    log: Option<Position>,
}

/// The log of a server.
struct Found {
    end: Position,
    last_served: LastServed,
    continues_known: bool,
    /// The number of its table.
    table: i64,
}

/// Where a log was last served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastServed {
    Here,
    /// On another timeline of this cluster: a server was promoted since.
    BeforePromotion,
    /// In another cluster, database or table, of which this is a copy.
    Elsewhere,
    Never,
}

impl Found {
    fn of(row: &Values) -> QueryResult<Self> {
        Ok(Self {
            end: Position { log: row.log_id(0)?, number: row.number(1, "log_head.position")? },
            continues_known: row.number(2, "former_logs")? != 0,
            last_served: match row.number(3, "log_head.server")? {
                0 => LastServed::Here,
                1 => LastServed::BeforePromotion,
                2 => LastServed::Elsewhere,
                _ => LastServed::Never,
            },
            table: row.number(4, "log_head.tableoid")?,
        })
    }

    /// Whether events may be lost that were after its end.
    fn is_to_be_forked(&self, known: Option<Position>) -> bool {
        let is_behind =
            |known: Position| known.log == self.end.log && known.number > self.end.number;
        matches!(self.last_served, LastServed::BeforePromotion | LastServed::Elsewhere)
            || known.is_some_and(is_behind)
    }
}

impl Lineage {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The known log, and its highest position that was read.
    pub(super) fn log(&self) -> Option<Position> {
        self.known().log
    }

    /// Notes a position that was read.
    pub(super) fn note(&self, read: Position) {
        let mut known = self.known();
        if let Some(known) = known.log.as_mut().filter(|known| known.log == read.log) {
            known.number = known.number.max(read.number);
        }
    }

    /// All connections are to show again which log they have.
    pub(super) fn doubt(&self) {
        self.generation.end();
    }

    /// How many servers were refused because they are superseded.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(super) fn count_refusal(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.is_superseded.store(true, Ordering::Relaxed);
    }

    /// Whether a superseded server was refused, and no other one was found since.
    pub(super) fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Relaxed)
    }

    /// Whether a server is known: another one is then compared with it.
    pub(super) fn has_server(&self) -> bool {
        self.known().server.is_some()
    }

    /// Whether the cluster of the server had a later timeline.
    pub(super) fn is_earlier(&self, server: &Server) -> bool {
        self.known()
            .server
            .as_ref()
            .is_some_and(|known| known.system == server.system && known.timeline > server.timeline)
    }

    /// Notes a server that is used.
    pub(super) fn use_server(&self, server: Server) {
        self.is_superseded.store(false, Ordering::Relaxed);
        if !self.is_earlier(&server) {
            self.known().server = Some(server);
        }
    }

    /// Follows the log of the server of a new connection: begins a new log if events may be lost,
    /// and makes it the log of this process. `Err` within if the server is superseded.
    pub(super) async fn follow(
        &self,
        connection: &mut Connection,
    ) -> QueryResult<Result<(), Superseded>> {
        for _ in 0..TRIES {
            let known = self.log();
            let Some(found) = find(connection, known).await? else { break };
            if known.is_some_and(|known| known.log != found.end.log && !found.continues_known) {
                break;
            }
            if found.last_served == LastServed::Never {
                connection.client().execute(&note_server(), &[]).await?;
            } else if found.is_to_be_forked(known) {
                connection.transaction(BEGIN, fork_if_needed(connection, known)).await?;
            } else if let Some(generation) = self.adopt(known, found.end) {
                connection.belong_to(generation, found.table);
                return Ok(Ok(()));
            }
        }
        Ok(Err(Superseded::OtherLog))
    }

    /// Makes a log that continues the known one the log of this process. Returns the generation of
    /// its connections; `None` if another connection has made another log the known one.
    fn adopt(&self, before: Option<Position>, end: Position) -> Option<Generation> {
        // Locked until the end, so that the generation is that of this log.
        let mut known = self.known();
        let log = |position: Option<Position>| position.map(|position| position.log);
        if log(known.log) != log(before) {
            return None;
        }
        match &mut known.log {
            Some(known) if known.log == end.log => known.number = known.number.max(end.number),
            other => {
                *other = Some(end);
                self.generation.end();
            }
        }
        Some(self.generation.now())
    }
}

/// Reads the log of the server; `None` if it has none.
async fn find(connection: &Connection, known: Option<Position>) -> QueryResult<Option<Found>> {
    let known = known.map_or(LogId([0; 8]), |known| known.log);
    let rows = Rows::of_store(connection);
    let row = first(rows, &log_of_server(), &[known.0.as_slice().into()]).await?;
    row.as_ref().map(Found::of).transpose()
}

/// Begins a new log, unless another process did.
async fn fork_if_needed(connection: &Connection, known: Option<Position>) -> QueryResult<()> {
    let rows = Rows::of_store(connection);
    let Some(locked) = first(rows, LOCK, &[]).await? else { return Ok(()) };
    let at = Timestamp::from_millis(locked.number(0, "the time")?);
    let found = find(connection, known).await?;
    let Some(found) = found.filter(|found| found.is_to_be_forked(known)) else { return Ok(()) };
    let mut log = [0; 8];
    getrandom::fill(&mut log).map_err(|error| StoreError::Internal(error.into()))?;
    fork(rows, LogId(log), at).await?;
    if found.last_served == LastServed::Elsewhere {
        // Their receivers follow the store that was copied.
        Box::pin(pause_webhooks(rows, at)).await?;
    }
    connection.client().execute(&move_to_server(), &[]).await?;
    Ok(())
}
