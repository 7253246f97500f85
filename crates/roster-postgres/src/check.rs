//! The check of a store: everything that roster-engine checks, in one snapshot. Processes may serve
//! the store meanwhile.

use roster_core::PolicyKey;
use roster_engine::{CheckReader, Findings, SearchRow, corrupt, first};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    columns::uuid,
    connect::Connector,
    connection::SNAPSHOT,
    establish::{refuse_migration, refuse_none},
    failure::QueryResult,
    migrations::refuse_other_steps,
    open_error::OpenError,
    reads::rows::Rows,
    uniqueness,
    writer::sql::POSITION,
};

const MISSING_WORDS: &str = "SELECT nth FROM unnest($2::uuid[], $3::bytea[]) WITH ORDINALITY \
     AS wanted (id, key, nth) WHERE NOT EXISTS (SELECT FROM words \
     WHERE tenant = $1 AND word = wanted.key AND id = wanted.id)";

const MISSING_KEYS: &str = "SELECT nth \
     FROM unnest($2::uuid[], $3::bytea[], $4::bigint[]) WITH ORDINALITY \
     AS wanted (id, key, kind, nth) WHERE NOT EXISTS (SELECT FROM further_keys \
     WHERE tenant = $1 AND kind = wanted.kind AND key = wanted.key AND id = wanted.id)";

/// Checks the store of a database, served or not.
pub async fn check(connector: &Connector) -> Result<Findings, OpenError> {
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    refuse_none(client).await?;
    refuse_other_steps(client).await?;
    refuse_migration(&connection).await?;
    let rows = Rows::of_store(&connection);
    let work = async {
        let head = first(rows, POSITION, &[]).await?.ok_or_else(|| corrupt("log_head"))?;
        Ok(roster_engine::check(rows, head.number(0, "log_head")?).await)
    };
    let lines = connection.transaction(SNAPSHOT, work).await;
    let lines = lines.map_err(|error| OpenError::Database(error.into()))?;
    Ok(Findings { lines })
}

impl CheckReader for Rows<'_> {
    async fn missing(self, rows: &[SearchRow]) -> QueryResult<Vec<usize>> {
        let ids: Vec<Uuid> = rows.iter().map(|row| uuid(row.id)).collect();
        let keys: Vec<&[u8]> = rows.iter().map(|row| row.key.as_bytes()).collect();
        let kinds: Option<Vec<i64>> = rows.iter().map(|row| row.kind).collect();
        let (client, tenant) = (self.0.client(), self.1.number());
        let missing = match &kinds {
            None => client.query(MISSING_WORDS, &[&tenant, &ids, &keys]).await?,
            Some(kinds) => client.query(MISSING_KEYS, &[&tenant, &ids, &keys, kinds]).await?,
        };
        // `WITH ORDINALITY` counts from 1.
        let place = |row: &Row| Ok(usize::try_from(row.try_get::<_, i64>(0)? - 1).unwrap_or(0));
        missing.iter().map(place).collect()
    }

    fn count_shared_sql(key: PolicyKey) -> String {
        uniqueness::key(key).count.to_owned()
    }
}
