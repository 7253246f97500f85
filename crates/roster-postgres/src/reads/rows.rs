//! The statements that roster-engine has for both engines, run on a connection.

use std::{error::Error, pin::pin};

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use roster_core::{Head, StoreError, TenantId, UserId, page::Flow};
use roster_engine::{Cell, Database, Dialect, IndexRow, IndexWriter, Values, corrupt, head};
use tokio::task::yield_now;
use tokio_postgres::{
    Row,
    types::{IsNull, ToSql, Type, to_sql_checked},
};
use uuid::Uuid;

use crate::{
    columns::{ABSENT, uuid},
    connection::{Connection, SNAPSHOT},
    failure::{QueryError, QueryResult},
};

/// After rows of this size, other tasks run.
const YIELD_BYTES: usize = 64 * 1024;

/// A connection, for the rows of one tenant.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'c>(pub(crate) &'c Connection, pub(crate) TenantId);

impl<'c> Rows<'c> {
    /// A connection, for rows that belong to no tenant, or to all.
    pub(crate) const fn of_store(connection: &'c Connection) -> Self {
        Self(connection, TenantId::DEFAULT)
    }
}

impl Dialect for Rows<'_> {
    fn any(parameter: &str) -> String {
        format!("ANY({parameter})")
    }

    /// `OFFSET 0` keeps the statement apart, so that it runs once for each id.
    fn for_each(ids: &str, statement: impl FnOnce(&str) -> String) -> String {
        format!(
            "SELECT found.* FROM unnest({ids}::uuid[]) AS named (id) \
             CROSS JOIN LATERAL ({} OFFSET 0) AS found",
            statement("named.id")
        )
    }

    fn equals(column: &str, value: &str) -> String {
        format!("{column} BETWEEN {value} AND {value}")
    }

    fn ordered_by(column: &str) -> String {
        format!(" ORDER BY {column}")
    }

    /// A subquery, so that the planner begins with the members and finds each user by its id.
    fn users_of_members() -> (String, &'static str) {
        let join = "group_members CROSS JOIN LATERAL (SELECT * FROM users \
             WHERE tenant = group_members.tenant AND id BETWEEN member_id AND member_id \
             ORDER BY id LIMIT 1) AS users";
        (join.to_owned(), "")
    }

    fn users_of_keys() -> (String, &'static str) {
        let join = "further_keys CROSS JOIN LATERAL (SELECT version, status, record FROM users \
             WHERE tenant = further_keys.tenant AND id BETWEEN further_keys.id \
             AND further_keys.id ORDER BY id LIMIT 1) AS users";
        (join.to_owned(), "")
    }

    /// No UTF-8 text has this byte.
    const ABSENT_KEY: &'static str = r"'\xff'";

    /// The shape of a statement determines its index.
    fn indexed_by(_index: &str) -> String {
        String::new()
    }

    /// By the places of the rows: with a list of keys, the planner may read all rows.
    fn delete_first(table: &str, _key: &str, order: &str) -> String {
        format!(
            "DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} \
             WHERE tenant = $1 ORDER BY {order} LIMIT $2))"
        )
    }
}

impl Database for Rows<'_> {
    type Error = QueryError;

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
    ) -> QueryResult<()> {
        let statement = self.0.prepare(sql).await?;
        let parameters = parameters.iter().cloned().map(Parameter);
        let mut rows = pin!(self.0.client().query_raw(&statement, parameters).await?);
        let mut shown = 0;
        while let Some(row) = rows.try_next().await? {
            let values = values(&row)?;
            shown += values.size();
            if show(values)? == Flow::Stop {
                break;
            }
            if shown >= YIELD_BYTES {
                // Many rows may have arrived already. A read whose caller is gone ends here.
                shown = 0;
                yield_now().await;
            }
        }
        Ok(())
    }

    /// The ids come as one value, which takes less time than a message for each.
    async fn ids(self, sql: &str, parameters: &[Cell]) -> QueryResult<Vec<UserId>> {
        let statement = self.0.prepare(&format!("SELECT array({sql})")).await?;
        let parameters = parameters.iter().cloned().map(Parameter);
        let mut rows = pin!(self.0.client().query_raw(&statement, parameters).await?);
        let row = rows.try_next().await?.ok_or_else(|| corrupt("ids"))?;
        let ids: Vec<Uuid> = row.try_get(0)?;
        Ok(ids.into_iter().map(|id| UserId::from_bytes(id.into_bytes())).collect())
    }

    async fn execute(self, sql: &str, parameters: &[Cell]) -> QueryResult<u64> {
        let statement = self.0.prepare(sql).await?;
        Ok(self
            .0
            .client()
            .execute_raw(&statement, parameters.iter().cloned().map(Parameter))
            .await?)
    }
}

impl IndexWriter for Rows<'_> {
    async fn add_index_rows(self, rows: &[IndexRow]) -> QueryResult<()> {
        let kinds: Vec<i16> = rows.iter().map(|row| row.0).collect();
        let keys: Vec<&[u8]> = rows.iter().map(|row| row.1.as_bytes()).collect();
        let ids: Vec<Uuid> = rows.iter().map(|row| uuid(row.2)).collect();
        let statement = self.0.prepare(ADD_INDEX_ROWS).await?;
        self.0.client().execute(&statement, &[&self.1.number(), &kinds, &keys, &ids]).await?;
        Ok(())
    }
}

const ADD_INDEX_ROWS: &str = "INSERT INTO further_keys (tenant, kind, key, id) \
     SELECT $1::integer, * FROM unnest($2::smallint[], $3::bytea[], $4::uuid[]) \
     ON CONFLICT DO NOTHING";

/// Reads in one snapshot with the head of the log.
pub(crate) async fn snapshot<'c, T, F: Future<Output = QueryResult<T>>>(
    rows: Rows<'c>,
    read: impl FnOnce(Rows<'c>, Head) -> F,
) -> QueryResult<T> {
    let work = async { read(rows, head(rows).await?).await };
    rows.0.transaction(SNAPSHOT, work).await
}

/// A parameter of a statement. Texts, ids and bytes are sent as they are.
#[derive(Debug)]
pub(crate) struct Parameter(pub(crate) Cell);

impl ToSql for Parameter {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Cell::Null => return Ok(IsNull::Yes),
            Cell::Integer(number) if *kind == Type::INT2 => {
                return i16::try_from(*number)?.to_sql(kind, out);
            }
            Cell::Integer(number) if *kind == Type::INT4 => {
                return i32::try_from(*number)?.to_sql(kind, out);
            }
            Cell::Integer(number) => return number.to_sql(kind, out),
            Cell::Ids(ids) => {
                return ids.iter().copied().map(uuid).collect::<Vec<_>>().to_sql(kind, out);
            }
            Cell::Text(bytes) | Cell::Bytes(bytes) if *kind == Type::UUID && bytes.is_empty() => {
                out.extend_from_slice(Uuid::nil().as_bytes());
            }
            Cell::Text(bytes) | Cell::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The values of a row. An absent sort key is read as empty bytes.
pub(crate) fn values(row: &Row) -> Result<Values, tokio_postgres::Error> {
    let integer = |value: Option<i64>| value.map_or(Cell::Null, Cell::Integer);
    let bytes = |value: Option<&[u8]>| match value {
        None => Cell::Null,
        Some(ABSENT) => Cell::Bytes(Bytes::new()),
        Some(value) => Cell::Text(Bytes::copy_from_slice(value)),
    };
    let id = |id: Option<Uuid>| id.map_or(Cell::Null, |id| Cell::from(id.as_bytes().as_slice()));
    let cell = |(index, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => integer(row.try_get(index)?),
            Type::INT2 => integer(row.try_get::<_, Option<i16>>(index)?.map(i64::from)),
            Type::INT4 => integer(row.try_get::<_, Option<i32>>(index)?.map(i64::from)),
            Type::BOOL => integer(row.try_get::<_, Option<bool>>(index)?.map(i64::from)),
            Type::UUID => id(row.try_get(index)?),
            Type::BYTEA => bytes(row.try_get(index)?),
            _ => bytes(row.try_get::<_, Option<&str>>(index)?.map(str::as_bytes)),
        })
    };
    row.columns().iter().enumerate().map(cell).collect::<Result<_, _>>().map(Values)
}
