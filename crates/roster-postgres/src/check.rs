//! The check of a store: everything that roster-engine checks, in one snapshot. Processes may serve
//! the store meanwhile.

use roster_core::PolicyKey;
use roster_engine::{CheckReader, Findings, SearchRow};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    columns::uuid,
    connect::{Connection, Connector},
    establish::{refuse_migration, refuse_none},
    failure::QueryResult,
    migrations::refuse_other_steps,
    open_error::OpenError,
    reads::rows::snapshot,
    uniqueness,
};

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
    refuse_migration(&connection).await?;
    let lines = snapshot(&connection, async |connection, head| {
        Ok(roster_engine::check(connection, head).await)
    });
    let lines = lines.await.map_err(|error| OpenError::Database(error.into()))?;
    Ok(Findings { lines })
}

impl CheckReader for &Connection {
    async fn missing(self, rows: &[SearchRow]) -> QueryResult<Vec<usize>> {
        let ids: Vec<Uuid> = rows.iter().map(|row| uuid(row.id)).collect();
        let keys: Vec<&[u8]> = rows.iter().map(|row| row.key.as_bytes()).collect();
        let kinds: Option<Vec<i64>> = rows.iter().map(|row| row.kind).collect();
        let client = self.client();
        let missing = match &kinds {
            None => client.query(MISSING_WORDS, &[&ids, &keys]).await?,
            Some(kinds) => client.query(MISSING_KEYS, &[&ids, &keys, kinds]).await?,
        };
        // `WITH ORDINALITY` counts from 1.
        let place = |row: &Row| Ok(usize::try_from(row.try_get::<_, i64>(0)? - 1).unwrap_or(0));
        missing.iter().map(place).collect()
    }

    fn count_shared_sql(key: PolicyKey) -> String {
        uniqueness::key(key).count.to_owned()
    }
}
