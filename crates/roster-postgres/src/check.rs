//! The check of a store: all that roster-engine checks, in one snapshot, while processes serve it
//! or not.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use roster_core::{Head, PolicyKey};
use roster_engine::{Cell, CheckReader, Findings, SearchRow, Values};
use tokio_postgres::{
    Error, Row,
    types::{ToSql, Type},
};
use uuid::Uuid;

use crate::{
    columns::uuid,
    connect::{Connection, Connector},
    establish::{self, refuse_migration, refuse_none},
    failure::WithoutDetail,
    open_error::OpenError,
    schema::refuse_other_steps,
};

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

const HEAD: &str = "SELECT position, active, suspended, deleted FROM log_head WHERE number = 1";

const MISSING_WORDS: &str = "SELECT nth FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY \
     AS wanted (id, key, nth) \
     WHERE NOT EXISTS (SELECT FROM words WHERE word = wanted.key AND id = wanted.id)";

const MISSING_KEYS: &str = "SELECT nth \
     FROM unnest($1::uuid[], $2::bytea[], $3::bigint[]) WITH ORDINALITY \
     AS wanted (id, key, kind, nth) WHERE NOT EXISTS (SELECT FROM further_keys \
     WHERE kind = wanted.kind AND key = wanted.key AND id = wanted.id)";

/// Checks the store of a database, served or not.
pub async fn check(connector: &Connector) -> Result<Findings, OpenError> {
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    refuse_none(client).await?;
    refuse_other_steps(client).await?;
    refuse_migration(client).await?;
    client.batch_execute(BEGIN).await?;
    let head = client.query_opt(HEAD, &[]).await?.ok_or(OpenError::NoStore)?;
    let head = Head {
        position: head.try_get(0)?,
        active: head.try_get(1)?,
        suspended: head.try_get(2)?,
        deleted: head.try_get(3)?,
    };
    Ok(Findings { lines: roster_engine::check(&mut Reader(&connection), head).await })
}

struct Reader<'c>(&'c Connection);

impl CheckReader for Reader<'_> {
    type Error = WithoutDetail;

    async fn each(
        &mut self,
        sql: &str,
        parameters: &[Cell],
        mut show: impl FnMut(Values),
    ) -> Result<(), WithoutDetail> {
        let statement = self.0.prepare(sql).await?;
        let parameters = parameters.iter().map(parameter);
        let mut rows = pin!(self.0.client().query_raw(&statement, parameters).await?);
        while let Some(row) = rows.try_next().await? {
            show(values(&row)?);
        }
        Ok(())
    }

    async fn missing(&mut self, rows: &[SearchRow]) -> Result<Vec<usize>, WithoutDetail> {
        let ids: Vec<Uuid> = rows.iter().map(|row| uuid(row.id)).collect();
        let keys: Vec<&[u8]> = rows.iter().map(|row| row.key.as_bytes()).collect();
        let kinds: Option<Vec<i64>> = rows.iter().map(|row| row.kind).collect();
        let client = self.0.client();
        let missing = match &kinds {
            None => client.query(MISSING_WORDS, &[&ids, &keys]).await?,
            Some(kinds) => client.query(MISSING_KEYS, &[&ids, &keys, kinds]).await?,
        };
        // `WITH ORDINALITY` counts from 1.
        let place = |row: &Row| Ok(usize::try_from(row.try_get::<_, i64>(0)? - 1).unwrap_or(0));
        missing.iter().map(place).collect()
    }

    fn count_shared_sql(key: PolicyKey) -> String {
        establish::key(key).count.to_owned()
    }
}

/// Parameters are ids and integers. Empty bytes stand for the least id.
fn parameter(cell: &Cell) -> Box<dyn ToSql + Sync> {
    match cell {
        Cell::Null => Box::new(None::<i64>),
        Cell::Integer(value) => Box::new(*value),
        Cell::Text(bytes) | Cell::Bytes(bytes) => {
            Box::new(Uuid::from_slice(bytes).unwrap_or_default())
        }
    }
}

fn values(row: &Row) -> Result<Values, Error> {
    let integer = |value: Option<i64>| value.map_or(Cell::Null, Cell::Integer);
    let text = |value: Option<&[u8]>| match value {
        None => Cell::Null,
        // A sort key that is absent.
        Some(b"\xff") => Cell::Bytes(Vec::new()),
        Some(value) => Cell::Text(value.to_vec()),
    };
    let id = |id: Option<Uuid>| id.map_or(Cell::Null, |id| Cell::Bytes(id.as_bytes().to_vec()));
    let cell = |(index, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => integer(row.try_get(index)?),
            Type::INT2 => integer(row.try_get::<_, Option<i16>>(index)?.map(i64::from)),
            Type::INT4 => integer(row.try_get::<_, Option<i32>>(index)?.map(i64::from)),
            Type::BOOL => integer(row.try_get::<_, Option<bool>>(index)?.map(i64::from)),
            Type::UUID => id(row.try_get(index)?),
            Type::BYTEA => text(row.try_get(index)?),
            _ => text(row.try_get::<_, Option<&str>>(index)?.map(str::as_bytes)),
        })
    };
    let cells: Result<_, Error> = row.columns().iter().enumerate().map(cell).collect();
    cells.map(Values)
}
