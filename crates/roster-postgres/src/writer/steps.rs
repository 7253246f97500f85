//! Statements that are sent together, without a wait in between.

use std::borrow::Cow;

use futures_util::future::try_join_all;
use tokio_postgres::{Error, Row, types::ToSql};

use crate::connection::Connection;

pub(super) type Parameter<'w> = Box<dyn ToSql + Sync + Send + 'w>;

pub(super) struct Step<'w> {
    pub(super) sql: Cow<'static, str>,
    pub(super) parameters: Vec<Parameter<'w>>,
}

/// Begins a transaction, unless it has begun.
pub(super) async fn begin(connection: &Connection, has_begun: bool) -> Result<(), Error> {
    if has_begun { Ok(()) } else { connection.client().batch_execute("BEGIN").await }
}

/// Prepares the statements. Returns their queries: each is sent when it is first polled, so that
/// the order of the first polls is the order on the wire.
pub(super) async fn prepare(
    connection: &Connection,
    steps: &[Step<'_>],
) -> Result<Vec<impl Future<Output = Result<Vec<Row>, Error>>>, Error> {
    let statements = try_join_all(steps.iter().map(|step| connection.prepare(&step.sql))).await?;
    let queries = steps.iter().zip(statements).map(|(step, statement)| async move {
        let parameters =
            step.parameters.iter().map(|parameter| -> &(dyn ToSql + Sync) { &**parameter });
        connection.client().query(&statement, &parameters.collect::<Vec<_>>()).await
    });
    Ok(queries.collect())
}
