//! Loading a whole store from another engine.
//!
//! Rows are loaded in chunks, in the order of keys and in the form of [`Table`]. Each chunk and the
//! recorded progress are one transaction, so that an interrupted load can continue. During the
//! whole load the database is marked as unfinished and its log has no head: no process serves it,
//! and every write to it fails.

mod begin;
mod copy;
mod error;
mod indexes;
mod mark;

use std::pin::pin;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use roster_engine::{Table, TableDigest};
use sha2::{Digest as _, Sha256};
use tokio_postgres::Client;

pub use error::LoadError;
pub use indexes::Index;
pub use mark::{Reached, Source};

use crate::connect::{Connection, Connector};

/// A chunk is sent in pieces of this size.
const PIECE_BYTES: usize = 64 * 1024;

const CREATE_HEAD: &str = "INSERT INTO log_head \
     (number, era, log_id, position, active, suspended, deleted) \
     VALUES (1, $1, $2, $3, $4, $5, $6)";

/// A running load, on a connection of its own.
pub struct Load {
    connection: Connection,
    source: Source,
    reached: Vec<(&'static Table, Reached)>,
}

impl Load {
    /// Begins to load into an empty database, or continues a load of the same source. Any other
    /// database is an error and is not changed.
    pub async fn begin(connector: &Connector, source: Source) -> Result<Self, LoadError> {
        begin::begin(connector, source).await
    }

    /// The progress of each table, in the order in which they are loaded.
    pub fn reached(&self) -> &[(&'static Table, Reached)] {
        &self.reached
    }

    /// Loads the next rows. `last_key` is the key of the last one.
    pub async fn add(
        &mut self,
        table: &Table,
        tuples: &[u8],
        rows: u64,
        last_key: Vec<u8>,
    ) -> Result<(), LoadError> {
        let copy = copy::to_copy(table, tuples)?;
        let reached = self.reached.iter_mut().find(|(loaded, _)| *loaded == table);
        let (_, reached) = reached.ok_or(LoadError::Malformed { table: table.name })?;
        let next = Reached { rows: reached.rows + rows, key: Some(last_key) };
        let client = self.connection.client();
        client.batch_execute("BEGIN").await?;
        mark::advance(client, table, reached, &next).await?;
        copy_in(client, table, copy).await?;
        commit(&self.connection).await?;
        *reached = next;
        Ok(())
    }

    /// The indexes to create after the rows.
    pub async fn indexes(&self) -> Result<Vec<Index>, LoadError> {
        indexes::wanted(self.connection.client()).await
    }

    /// Creates an index, unless it exists.
    pub async fn make_index(&self, index: &Index) -> Result<(), LoadError> {
        indexes::make(self.connection.client(), index).await
    }

    /// Has the database collect statistics on the loaded tables, for good plans from the start.
    pub async fn analyze(&self) -> Result<(), LoadError> {
        for table in Table::ALL {
            let statement = format!("ANALYZE {}", table.name);
            self.connection.client().batch_execute(&statement).await?;
        }
        Ok(())
    }

    /// Reads a whole table back and hashes it.
    pub async fn digest(&self, table: &Table) -> Result<TableDigest, LoadError> {
        let unreadable = || LoadError::Unreadable { table: table.name };
        let pieces = self.connection.client().copy_out(&copy::copy_out_sql(table)).await?;
        let mut pieces = pin!(pieces);
        let mut reader = copy::Rows::default();
        let (mut hash, mut rows) = (Sha256::new(), 0);
        while let Some(piece) = pieces.next().await {
            let (whole, more) = reader.take(&piece?).ok_or_else(unreadable)?;
            hash.update(&whole);
            rows += more;
        }
        if !reader.is_whole() {
            return Err(unreadable());
        }
        Ok(TableDigest { rows, sha256: hash.finalize().into() })
    }

    /// Ends the load: creates the head of the log and deletes the mark. From then on the database
    /// can be served.
    pub async fn finish(self) -> Result<(), LoadError> {
        let client = self.connection.client();
        client.batch_execute("BEGIN").await?;
        let mark = mark::read(client).await?.ok_or(LoadError::NotAlone)?;
        self.source.recognize(&mark)?;
        // A service that was rejected may have created a head just before.
        client.execute(begin::DROP_UNUSED_HEAD, &[]).await?;
        if begin::has_head(client).await? {
            return Err(LoadError::NotAlone);
        }
        let era = begin::next_era(client).await?;
        let Source { log_id, head, .. } = &self.source;
        let log_id = log_id.0.as_slice();
        let counters = (&head.position, &head.active, &head.suspended, &head.deleted);
        let (position, active, suspended, deleted) = counters;
        client.execute(CREATE_HEAD, &[&era, &log_id, position, active, suspended, deleted]).await?;
        mark::remove(client).await?;
        commit(&self.connection).await
    }
}

async fn copy_in(client: &Client, table: &Table, mut rows: Bytes) -> Result<(), LoadError> {
    let mut sink = pin!(client.copy_in(&copy::copy_in_sql(table)).await?);
    while !rows.is_empty() {
        sink.feed(rows.split_to(rows.len().min(PIECE_BYTES))).await?;
    }
    sink.finish().await?;
    Ok(())
}

async fn commit(connection: &Connection) -> Result<(), LoadError> {
    connection.client().batch_execute("COMMIT").await?;
    if connection.was_warned() { Err(LoadError::StandbyInDoubt) } else { Ok(()) }
}
