//! Loading a whole store from another engine.
//!
//! Rows are loaded in chunks, in the order of keys. Each chunk and the recorded progress are one
//! transaction, so that an interrupted load can continue. During the whole load the database is
//! marked as unfinished and its log has no head: no process serves it, and every write to it fails.

mod begin;
mod error;
mod indexes;
mod mark;

use std::pin::pin;

use bytes::Bytes;
use roster_engine::{Cell, Table, TableDigest, Values};
use tokio_postgres::{binary_copy::BinaryCopyInWriter, types::Type};

pub use error::LoadError;
pub use indexes::Index;
pub use mark::{Reached, Source};

use crate::{
    columns::ABSENT,
    connect::Connector,
    connection::Connection,
    reads::rows::{Parameter, Rows},
};

const CREATE_HEAD: &str =
    "INSERT INTO log_head (number, era, log_id, position) VALUES (1, $1, $2, $3)";

/// A running load. It has a separate connection.
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

    /// Loads the next rows.
    pub async fn add(&mut self, table: &Table, rows: Vec<Values>) -> Result<(), LoadError> {
        let reached = self.reached.iter_mut().find(|(loaded, _)| *loaded == table);
        let (_, reached) = reached.ok_or(LoadError::Malformed(table.name))?;
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let key = rows.last().map(|last| table.key_of(last));
        let next = Reached { rows: reached.rows + count, key };
        let client = self.connection.client();
        client.batch_execute("BEGIN").await?;
        mark::advance(client, table, reached, &next).await?;
        copy_in(&self.connection, table, rows).await?;
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
        Ok(roster_engine::digest(Rows::of_store(&self.connection), table).await?)
    }

    /// Ends the load: creates the head of the log and deletes the mark. From then on the database
    /// can be served.
    pub async fn finish(self) -> Result<(), LoadError> {
        let client = self.connection.client();
        client.batch_execute("BEGIN").await?;
        let mark = mark::read(&self.connection).await?.ok_or(LoadError::NotAlone)?;
        self.source.recognize(&mark)?;
        // A service that was rejected may have created a head just before.
        client.execute(begin::DROP_UNUSED_HEAD, &[]).await?;
        if begin::has_head(client).await? {
            return Err(LoadError::NotAlone);
        }
        let era = begin::next_era(&self.connection).await?;
        let Source { log_id, position, .. } = &self.source;
        client.execute(CREATE_HEAD, &[&era, &log_id.0.as_slice(), position]).await?;
        mark::remove(client).await?;
        commit(&self.connection).await
    }
}

async fn copy_in(
    connection: &Connection,
    table: &Table,
    rows: Vec<Values>,
) -> Result<(), LoadError> {
    let columns = connection.prepare(&table.select::<Rows<'_>>(false)).await?;
    let types: Vec<Type> = columns.columns().iter().map(|it| it.type_().clone()).collect();
    let statement = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", table.name, table.columns);
    let sink = connection.client().copy_in(&statement).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    for Values(row) in rows {
        let field = |value: Cell| {
            let is_absent = table.is_absent_key(&value);
            Parameter(if is_absent { Cell::Bytes(Bytes::from_static(ABSENT)) } else { value })
        };
        writer.as_mut().write_raw(row.into_iter().map(field)).await?;
    }
    writer.finish().await?;
    Ok(())
}

async fn commit(connection: &Connection) -> Result<(), LoadError> {
    connection.client().batch_execute("COMMIT").await?;
    if connection.was_warned() { Err(LoadError::StandbyInDoubt) } else { Ok(()) }
}
