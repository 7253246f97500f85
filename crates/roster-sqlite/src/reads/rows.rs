//! The statements that roster-engine has for both engines, run on a connection.

use bytes::Bytes;
use futures_util::FutureExt as _;
use roster_core::{Head, StoreError, TenantId, UserId, page::Flow};
use roster_engine::{Cell, Database, Dialect, HEAD, IndexRow, IndexWriter, Values, corrupt};
use rusqlite::{
    CachedStatement, Connection, Row, Statement,
    types::{ToSqlOutput, ValueRef},
};

use crate::failure::ReadResult;

/// A connection, for the rows of one tenant.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'c>(pub(crate) &'c Connection, pub(crate) TenantId);

impl<'c> Rows<'c> {
    /// A connection, for rows that belong to no tenant, or to all.
    pub(crate) const fn of_store(connection: &'c Connection) -> Self {
        Self(connection, TenantId::DEFAULT)
    }
}

/// Reads in one snapshot with the head of the log.
pub(crate) fn snapshot<'c, T, F: Future<Output = ReadResult<T>>>(
    rows: Rows<'c>,
    read: impl FnOnce(Rows<'c>, Head) -> F,
) -> ReadResult<T> {
    in_snapshot(rows, |head| run(read(rows, head)))
}

/// Reads the head, and lets `read` read more of the same snapshot: SQLite's implicit transaction
/// lasts while any statement of the connection is open, and this one stays open.
pub(crate) fn in_snapshot<T>(
    Rows(connection, tenant): Rows<'_>,
    read: impl FnOnce(Head) -> ReadResult<T>,
) -> ReadResult<T> {
    let mut statement = connection.prepare_cached(HEAD)?;
    let mut snapshot = statement.query([tenant.number()])?;
    let row = snapshot.next()?.ok_or_else(|| corrupt("log_head"))?;
    read(values(row)?.head(0)?)
}

/// Runs a future that never waits: each of its steps is a call of SQLite.
pub(crate) fn run<T>(future: impl Future<Output = ReadResult<T>>) -> ReadResult<T> {
    let waits = || Err(StoreError::Internal("a step of SQLite waits".into()).into());
    future.now_or_never().unwrap_or_else(waits)
}

impl Dialect for Rows<'_> {
    /// A statement runs once for each id.
    fn any(parameter: &str) -> String {
        parameter.to_owned()
    }

    /// SQLite orders blobs after texts.
    const ABSENT_KEY: &'static str = "x''";

    fn indexed_by(index: &str) -> String {
        format!(" INDEXED BY {index}")
    }
}

impl Database for Rows<'_> {
    type Error = crate::failure::ReadError;

    fn tenant(self) -> TenantId {
        self.1
    }

    fn of(self, tenant: TenantId) -> Self {
        Self(self.0, tenant)
    }

    async fn each(
        self,
        sql: &str,
        parameters: &[Cell],
        mut show: impl FnMut(Values) -> Result<Flow, StoreError>,
    ) -> ReadResult<()> {
        let mut statement = self.0.prepare_cached(sql)?;
        let list = |cell: &Cell| if let Cell::Ids(ids) = cell { Some(ids.len()) } else { None };
        for nth in 0..parameters.iter().find_map(list).unwrap_or(1) {
            bind(&mut statement, parameters, nth)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                if show(values(row)?)? == Flow::Stop {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn ids(self, sql: &str, parameters: &[Cell]) -> ReadResult<Vec<UserId>> {
        let mut statement = self.0.prepare_cached(sql)?;
        bind(&mut statement, parameters, 0)?;
        let (mut rows, mut ids) = (statement.raw_query(), Vec::new());
        while let Some(row) = rows.next()? {
            let id = row.get_ref(0)?.as_blob().ok().and_then(UserId::from_slice);
            ids.push(id.ok_or_else(|| corrupt("an id"))?);
        }
        Ok(ids)
    }

    async fn execute(self, sql: &str, parameters: &[Cell]) -> ReadResult<u64> {
        let mut statement = self.0.prepare_cached(sql)?;
        bind(&mut statement, parameters, 0)?;
        Ok(u64::try_from(statement.raw_execute()?).unwrap_or(u64::MAX))
    }
}

impl IndexWriter for Rows<'_> {
    async fn add_index_rows(self, rows: &[IndexRow]) -> ReadResult<()> {
        let mut add = self.0.prepare_cached(ADD_INDEX_ROW)?;
        for (kind, key, id) in rows {
            add.execute((self.1.number(), kind, key, id.as_bytes()))?;
        }
        Ok(())
    }
}

const ADD_INDEX_ROW: &str =
    "INSERT OR IGNORE INTO further_keys (tenant, kind, key, id) VALUES (?1, ?2, ?3, ?4)";

/// Binds the parameters. Of a list of ids, only the id with index `nth` is bound.
fn bind(
    statement: &mut CachedStatement<'_>,
    parameters: &[Cell],
    nth: usize,
) -> rusqlite::Result<()> {
    for (index, cell) in (1..).zip(parameters) {
        let value = match cell {
            Cell::Null => ValueRef::Null,
            Cell::Integer(value) => ValueRef::Integer(*value),
            Cell::Text(text) => ValueRef::Text(text),
            Cell::Bytes(bytes) => ValueRef::Blob(bytes),
            Cell::Ids(ids) => {
                ids.get(nth).map_or(ValueRef::Null, |id| ValueRef::Blob(id.as_bytes()))
            }
        };
        statement.raw_bind_parameter(index, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

pub(crate) fn values(row: &Row<'_>) -> rusqlite::Result<Values> {
    let cell = |index| {
        Ok(match row.get_ref(index)? {
            ValueRef::Null | ValueRef::Real(_) => Cell::Null,
            ValueRef::Integer(value) => Cell::Integer(value),
            ValueRef::Text(text) => Cell::Text(Bytes::copy_from_slice(text)),
            ValueRef::Blob(bytes) => Cell::Bytes(Bytes::copy_from_slice(bytes)),
        })
    };
    let columns = AsRef::<Statement<'_>>::as_ref(row).column_count();
    (0..columns).map(cell).collect::<rusqlite::Result<_>>().map(Values)
}
