//! The schema, made step by step.
//!
//! One statement is one step, so that a database which changes its schema outside of transactions
//! is never left between two of them without knowing. Of several processes that start at once one
//! makes the steps, holding a row that the others wait for; a step that was made and not noted is
//! found to be there when it is made again.
//!
//! A start that finds all steps made writes nothing. So the role that serves needs no right to
//! change the schema.

use std::{sync::LazyLock, time::Duration};

use tokio::time::sleep;
use tokio_postgres::{Client, Error, error::SqlState};

use crate::{
    connect::{Connection, Connector, SEARCH_PATH},
    open_error::OpenError,
};

/// The migrations in their order: each statement of each is a step. A migration that was released
/// is never changed.
const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001_schema.sql")];

const NOTED: &str = "CREATE TABLE IF NOT EXISTS schema_steps \
     (number bigint PRIMARY KEY, statement text COLLATE \"C\" NOT NULL)";

/// The row that whoever makes steps holds.
const TURN: &str = "INSERT INTO schema_steps (number, statement) VALUES (0, '') \
     ON CONFLICT (number) DO NOTHING";

const TAKE_TURN: &str = "SELECT number FROM schema_steps WHERE number = 0 FOR UPDATE";

const MADE: &str = "SELECT statement FROM schema_steps WHERE number > 0 ORDER BY number";

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

const NOTE: &str = "INSERT INTO schema_steps (number, statement) VALUES ($1, $2)";

/// How often making the table of steps is tried: two that make it at once are in each other's way.
const TRIES: u32 = 20;

/// The last step of the schema of this release.
pub(crate) fn newest_step() -> i64 {
    static NEWEST: LazyLock<i64> =
        LazyLock::new(|| i64::try_from(steps().len()).unwrap_or(i64::MAX));
    *NEWEST
}

/// Brings the schema up to this release; refuses one of a newer release.
pub(crate) async fn migrate(connector: &Connector) -> Result<(), OpenError> {
    let steps = steps();
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.try_get(0)?;
    if encoding != "UTF8" {
        return Err(OpenError::Encoding { found: encoding });
    }
    if find_place(client).await? && steps_made(client, &steps).await? == steps.len() {
        return Ok(());
    }
    note_steps(client).await?;
    let turn = Turn::take(connector).await?;
    let made = steps_made(client, &steps).await?;
    for (number, statement) in (1_i64..).zip(&steps).skip(made) {
        make(client, statement).await?;
        client.execute(NOTE, &[&number, statement]).await?;
    }
    turn.end().await
}

/// The right to change what all processes read: one has it at a time.
pub(crate) struct Turn(Connection);

impl Turn {
    /// Waits for it. It is given back by the database, should this process be gone.
    pub(crate) async fn take(connector: &Connector) -> Result<Self, OpenError> {
        // Idle in its transaction while another connection makes the changes.
        let connection = connector.connect_for_maintenance().await?;
        let client = connection.client();
        client.batch_execute("BEGIN").await?;
        client.query(TAKE_TURN, &[]).await?;
        Ok(Self(connection))
    }

    /// Gives it back.
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

/// Whether the PostgreSQL schema of the store has the table of steps. Creates the schema, if the
/// search path names no other one.
async fn find_place(client: &Client) -> Result<bool, OpenError> {
    let row = client.query_one(PLACE, &[]).await?;
    let (schema, search_path): (Option<String>, String) = (row.try_get(0)?, row.try_get(1)?);
    let (has_steps, has_tables): (bool, bool) = (row.try_get(2)?, row.try_get(3)?);
    refuse_hidden(client).await?;
    match schema {
        Some(schema) if has_tables && !has_steps => Err(OpenError::Foreign { schema }),
        Some(_) => Ok(has_steps),
        None if search_path != SEARCH_PATH => Err(OpenError::NoSchema { search_path }),
        None => match client.batch_execute(CREATE_SCHEMA).await {
            Err(error) if !is_there(&error) => Err(error.into()),
            _ => Ok(false),
        },
    }
}

/// Refuses a role that may not use the schema of the store.
pub(crate) async fn refuse_hidden(client: &Client) -> Result<(), OpenError> {
    let is_hidden: bool = client.query_one(IS_HIDDEN, &[]).await?.try_get(0)?;
    if is_hidden { Err(OpenError::Hidden) } else { Ok(()) }
}

/// Refuses a store whose schema is not that of this release.
pub(crate) async fn refuse_other_steps(client: &Client) -> Result<(), OpenError> {
    let steps = steps();
    match steps_made(client, &steps).await? {
        found if found < steps.len() => Err(OpenError::Older { found, known: steps.len() }),
        _ => Ok(()),
    }
}

/// How many steps were made. Refuses steps that this release does not know.
async fn steps_made(client: &Client, steps: &[String]) -> Result<usize, OpenError> {
    let made = client.query(MADE, &[]).await?;
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

async fn note_steps(client: &Client) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        let made = match client.batch_execute(NOTED).await {
            Ok(()) => client.batch_execute(TURN).await,
            Err(error) => Err(error),
        };
        match made {
            Err(error) if tries < TRIES && is_there(&error) => {
                tries += 1;
                sleep(Duration::from_millis(50)).await;
            }
            made => return made,
        }
    }
}

/// Makes a step, which may be there and not noted.
async fn make(client: &Client, statement: &str) -> Result<(), Error> {
    match client.batch_execute(statement).await {
        Err(error) if is_there(&error) => Ok(()),
        made => made,
    }
}

fn is_there(error: &Error) -> bool {
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
