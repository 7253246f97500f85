//! The positions where pages by index ended, stored for all processes.
//!
//! The table is a ring of [`WALK_ENDS_MAX`] rows. It is written during a read, so its commits do
//! not wait for the disk or for a standby: a crash of the database may lose the newest rows.
//!
//! [`WALK_ENDS_MAX`]: roster_core::walk::WALK_ENDS_MAX

use std::sync::Arc;

use roster_core::{
    Answer, StoreError, Timestamp,
    walk::{Places, WalkEnd, WalkId, WalkStore},
};

use roster_engine::{Cell, Database as _, rows};

use crate::{
    connection::Connection, failure::QueryResult, pool::SHORT, postgres::Postgres,
    reads::rows::Rows,
};

/// Turns `synchronous_commit` off for the transaction of this statement.
pub(crate) const NOTE: &str = "WITH unsynced AS MATERIALIZED \
     (SELECT set_config('synchronous_commit', 'off', true)), \
     known AS (UPDATE walk_ends SET at = $4 FROM unsynced \
     WHERE walk = $1 AND start = $2 AND place = $3 RETURNING slot) \
     INSERT INTO walk_ends (slot, walk, start, place, at) \
     SELECT nextval('walk_end_slots'), $1, $2, $3, $4 FROM unsynced \
     WHERE NOT EXISTS (SELECT 1 FROM known) \
     ON CONFLICT (slot) DO UPDATE SET walk = excluded.walk, start = excluded.start, \
     place = excluded.place, at = excluded.at";

/// Deletes the ends of a walk that were stored until a time.
pub(crate) const FORGET: &str = "DELETE FROM walk_ends WHERE walk = $1 AND at <= $2 \
     AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'";

/// Makes no end of a walk newer than a time.
pub(crate) const END: &str = "UPDATE walk_ends SET at = $2 WHERE walk = $1 AND at > $2 \
     AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'";

pub(crate) const FIND: &str = "SELECT start, place FROM walk_ends WHERE walk = $1 AND at >= $3 \
     AND start = (SELECT start FROM walk_ends WHERE walk = $1 AND start <= $2 AND at >= $3 \
     ORDER BY start DESC LIMIT 1)";

async fn note(connection: Arc<Connection>, end: &WalkEnd) -> QueryResult<()> {
    let start = number(end.index);
    let row = [end.walk[..].into(), start, end.place.as_str().into(), end.at.as_millis().into()];
    Rows::of_store(&connection).execute(NOTE, &row).await?;
    Ok(())
}

async fn find(
    connection: Arc<Connection>,
    walk: &WalkId,
    index: u64,
    since: Timestamp,
) -> QueryResult<Option<Places>> {
    let parameters = [walk[..].into(), number(index), since.as_millis().into()];
    let rows = rows(Rows::of_store(&connection), FIND, &parameters).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let index = first.number(0, "walk_ends.start")?;
    let places = rows.iter().map(|row| Ok(row.text(1, "walk_ends.place")?.to_owned()));
    let places = places.collect::<Result<Vec<String>, StoreError>>()?;
    Ok(Some((u64::try_from(index).unwrap_or_default(), places)))
}

/// Runs a statement about the ends of a walk and a time.
async fn change(
    connection: Arc<Connection>,
    sql: &str,
    walk: &WalkId,
    at: Timestamp,
) -> QueryResult<()> {
    let parameters = [walk[..].into(), at.as_millis().into()];
    Rows::of_store(&connection).execute(sql, &parameters).await?;
    Ok(())
}

impl WalkStore for Postgres {
    fn note_walk_end(&self, end: WalkEnd) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move { self.exclusive.run(SHORT, |c| note(c, &end)).await })
    }

    fn forget_walk_ends(
        &self,
        walk: WalkId,
        until: Timestamp,
    ) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(
            async move { self.exclusive.run(SHORT, |c| change(c, FORGET, &walk, until)).await },
        )
    }

    fn end_walk(&self, walk: WalkId, at: Timestamp) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move { self.exclusive.run(SHORT, |c| change(c, END, &walk, at)).await })
    }

    fn walk_ends(
        &self,
        walk: WalkId,
        index: u64,
        since: Timestamp,
    ) -> Answer<'_, Result<Option<Places>, StoreError>> {
        Box::pin(async move { self.shared.run(|c| find(c, &walk, index, since)).await })
    }
}

fn number(index: u64) -> Cell {
    i64::try_from(index).unwrap_or(i64::MAX).into()
}
