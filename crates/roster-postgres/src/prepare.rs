//! Preparing a database: its schema, its first rows, and the privileges of the role that serves.

use tokio_postgres::Client;

use crate::{establish::establish, open_error::OpenError, schema::migrate, settings::Settings};

const SCHEMA: &str = "SELECT quote_ident(current_schema()), quote_ident($1)";

/// Creates the schema or brings it up to this release, and inserts the first rows. Grants the
/// service role what a service needs: to read and write rows, and nothing else.
pub async fn prepare(settings: &Settings, service_role: Option<&str>) -> Result<(), OpenError> {
    migrate(&settings.connector).await?;
    establish(settings).await?;
    if let Some(role) = service_role {
        let connection = settings.connector.connect_for_maintenance().await?;
        grant(connection.client(), role).await?;
    }
    Ok(())
}

async fn grant(client: &Client, role: &str) -> Result<(), OpenError> {
    let row = client.query_one(SCHEMA, &[&role]).await?;
    let (schema, role): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    let grants = format!(
        "BEGIN;
         GRANT USAGE ON SCHEMA {schema} TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role};
         REVOKE INSERT, UPDATE, DELETE ON schema_steps FROM {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};
         COMMIT"
    );
    Ok(client.batch_execute(&grants).await?)
}
