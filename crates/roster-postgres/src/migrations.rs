//! The schema, created in steps.
//!
//! Each statement is one step and is recorded, because a database may change its schema outside of
//! transactions. If several processes start at once, one makes the steps; the others wait for its
//! row lock. A step that was made but not recorded is made again; its object then exists already,
//! which is no error.
//!
//! If all steps are recorded, a start writes nothing. So the role of the service needs no right to
//! change the schema.

use std::{sync::LazyLock, time::Duration};

use tokio::time::sleep;
use tokio_postgres::{Client, Error, error::SqlState};

use crate::{
    connect::{Connector, SEARCH_PATH},
    connection::Connection,
    open_error::OpenError,
};

/// The migrations, in order. Each of their statements is a step. A released migration is never
/// changed.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_schema.sql")];

const CREATE_STEPS: &str = "CREATE TABLE IF NOT EXISTS schema_steps \
     (number bigint PRIMARY KEY, statement text COLLATE \"C\" NOT NULL)";

/// The row that is locked while steps are made.
const LOCK_ROW: &str = "INSERT INTO schema_steps (number, statement) VALUES (0, '') \
     ON CONFLICT (number) DO NOTHING";

const TAKE_LOCK: &str = "SELECT number FROM schema_steps WHERE number = 0 FOR UPDATE";

const RECORDED: &str = "SELECT statement FROM schema_steps WHERE number > 0 ORDER BY number";

/// The PostgreSQL schema that new tables go to, the search path, whether the schema has the table
/// of steps, and whether it has any table.
const PLACE: &str = "SELECT current_schema()::text, current_setting('search_path'), \
     to_regclass(quote_ident(current_schema()) || '.schema_steps') IS NOT NULL, \
     EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema())";

/// Whether a schema of the search path exists and the role may use none of them.
const IS_HIDDEN: &str = "SELECT current_schema() IS NULL AND EXISTS (SELECT FROM pg_namespace \
     WHERE position(',' || nspname || ',' IN \
     ',' || translate(current_setting('search_path'), ' \"', '') || ',') > 0)";

const CREATE_SCHEMA: &str = "CREATE SCHEMA IF NOT EXISTS roster";

const RECORD_STEP: &str = "INSERT INTO schema_steps (number, statement) VALUES ($1, $2)";

/// The maximum number of attempts to create the table of steps. Two processes that create it at
/// once can fail.
const TRIES: u32 = 20;

/// The number of the last step of this release.
pub(crate) fn newest_step() -> i64 {
    static NEWEST: LazyLock<i64> =
        LazyLock::new(|| i64::try_from(steps().len()).unwrap_or(i64::MAX));
    *NEWEST
}

/// Migrates the schema to this release. Rejects a schema of a newer release.
pub(crate) async fn migrate(connector: &Connector) -> Result<(), OpenError> {
    let steps = steps();
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.try_get(0)?;
    if encoding != "UTF8" {
        return Err(OpenError::Encoding(encoding));
    }
    if find_place(client).await? && recorded_steps(client, &steps).await? == steps.len() {
        return Ok(());
    }
    create_steps_table(client).await?;
    let lock = MigrationLock::take(connector).await?;
    let made = recorded_steps(client, &steps).await?;
    for (number, statement) in (1_i64..).zip(&steps).skip(made) {
        make(client, statement).await?;
        client.execute(RECORD_STEP, &[&number, statement]).await?;
    }
    lock.end().await
}

/// A lock on the schema: one process at a time makes changes that all processes read.
pub(crate) struct MigrationLock(Connection);

impl MigrationLock {
    /// Waits for the lock. The database releases it if this process ends.
    pub(crate) async fn take(connector: &Connector) -> Result<Self, OpenError> {
        // This connection stays idle in its transaction while another one makes the changes.
        let connection = connector.connect_for_maintenance().await?;
        let client = connection.client();
        client.batch_execute("BEGIN").await?;
        client.query(TAKE_LOCK, &[]).await?;
        Ok(Self(connection))
    }

    pub(crate) async fn end(self) -> Result<(), OpenError> {
        Ok(self.0.client().batch_execute("COMMIT").await?)
    }
}

/// The statements of all migrations, without their comments.
fn steps() -> Vec<String> {
    let statements = MIGRATIONS.iter().flat_map(|migration| migration.split(";\n"));
    let plain = |statement: &str| {
        let lines = statement.lines().map(|line| match line.split_once("--") {
            Some((code, _)) => code.trim_end(),
            None => line,
        });
        lines.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
    };
    statements.map(plain).filter(|statement| !statement.is_empty()).collect()
}

/// Whether the PostgreSQL schema of the store has the table of steps. Creates the schema, unless
/// the search path names another one.
async fn find_place(client: &Client) -> Result<bool, OpenError> {
    let row = client.query_one(PLACE, &[]).await?;
    let (schema, search_path): (Option<String>, String) = (row.try_get(0)?, row.try_get(1)?);
    let (has_steps, has_tables): (bool, bool) = (row.try_get(2)?, row.try_get(3)?);
    refuse_hidden(client).await?;
    match schema {
        Some(schema) if has_tables && !has_steps => Err(OpenError::Foreign(schema)),
        Some(_) => Ok(has_steps),
        None if search_path != SEARCH_PATH => Err(OpenError::NoSchema(search_path)),
        None => match client.batch_execute(CREATE_SCHEMA).await {
            Err(error) if !exists(&error) => Err(error.into()),
            _ => Ok(false),
        },
    }
}

/// Fails if the role may not use the schema of the store.
pub(crate) async fn refuse_hidden(client: &Client) -> Result<(), OpenError> {
    let is_hidden: bool = client.query_one(IS_HIDDEN, &[]).await?.try_get(0)?;
    if is_hidden { Err(OpenError::Hidden) } else { Ok(()) }
}

/// Fails if the schema of the store is not that of this release.
pub(crate) async fn refuse_other_steps(client: &Client) -> Result<(), OpenError> {
    let steps = steps();
    match recorded_steps(client, &steps).await? {
        found if found < steps.len() => Err(OpenError::Older { found, known: steps.len() }),
        _ => Ok(()),
    }
}

/// The number of recorded steps. Fails if this release does not know one of them.
async fn recorded_steps(client: &Client, steps: &[String]) -> Result<usize, OpenError> {
    let made = client.query(RECORDED, &[]).await?;
    for (row, known) in made.iter().zip(steps) {
        if row.try_get::<_, &str>(0)? != known {
            return Err(OpenError::Unknown);
        }
    }
    if made.len() > steps.len() {
        return Err(OpenError::Newer { found: made.len(), known: steps.len() });
    }
    Ok(made.len())
}

async fn create_steps_table(client: &Client) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        let made = match client.batch_execute(CREATE_STEPS).await {
            Ok(()) => client.batch_execute(LOCK_ROW).await,
            Err(error) => Err(error),
        };
        match made {
            Err(error) if tries < TRIES && exists(&error) => {
                tries += 1;
                sleep(Duration::from_millis(50)).await;
            }
            made => return made,
        }
    }
}

/// Makes a step. Its object may exist already, if the step was made but not recorded.
async fn make(client: &Client, statement: &str) -> Result<(), Error> {
    match client.batch_execute(statement).await {
        Err(error) if exists(&error) => Ok(()),
        made => made,
    }
}

fn exists(error: &Error) -> bool {
    let states = [
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::UNIQUE_VIOLATION,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    error.code().is_some_and(|code| states.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_one_statement() {
        let steps = steps();
        assert!(steps.len() > 15, "{}", steps.len());
        for step in &steps {
            let verbs = ["CREATE ", "ALTER TABLE "];
            assert!(verbs.iter().any(|verb| step.starts_with(verb)), "{step}");
            assert!(!step.contains(';') && !step.contains("--"), "{step}");
        }
    }
}
