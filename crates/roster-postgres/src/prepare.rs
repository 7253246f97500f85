//! Preparing a database: its schema, its first rows, and the privileges of the role that serves.

use tokio_postgres::Client;

use crate::{
    establish::establish,
    migrations::{MigrationLock, migrate},
    open_error::OpenError,
    settings::Settings,
};

/// The schema, the role, and whether the role owns the tables.
const NAMES: &str = "SELECT quote_ident(current_schema()), quote_ident($1), \
     EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tableowner = $1)";

/// Creates the schema or brings it up to this release, and inserts the first rows. Grants the
/// service role what a service needs: to read and write rows, and nothing else.
pub async fn prepare(settings: &Settings, service_role: Option<&str>) -> Result<(), OpenError> {
    let connector = &settings.connector;
    migrate(connector).await?;
    establish(settings).await?;
    if let Some(role) = service_role {
        // Only the owner can take the lock. Without it, one of two simultaneous grants would fail.
        let lock = MigrationLock::take(connector).await?;
        grant(connector.connect_for_maintenance().await?.client(), role).await?;
        lock.end().await?;
    }
    Ok(())
}

/// Grants privileges on all tables, and on those that a later release adds.
async fn grant(client: &Client, role: &str) -> Result<(), OpenError> {
    let row = client.query_one(NAMES, &[&role]).await?;
    if row.try_get(2)? {
        return Err(OpenError::IsOwner(role.to_owned()));
    }
    let (schema, role): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    let rows = "SELECT, INSERT, UPDATE, DELETE ON";
    let grants = format!(
        "BEGIN;
         GRANT USAGE ON SCHEMA {schema} TO {role};
         GRANT {rows} ALL TABLES IN SCHEMA {schema} TO {role};
         REVOKE INSERT, UPDATE, DELETE ON schema_steps FROM {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};
         ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT {rows} TABLES TO {role};
         ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {role};
         COMMIT"
    );
    Ok(client.batch_execute(&grants).await?)
}
