//! Where pages of walks by index ended, kept for all processes.
//!
//! The table is a ring of [`WALK_ENDS_MAX`] rows. It is written on the way of a read, so its
//! commits wait neither for the disk nor for a standby: a crash of the database may lose the last
//! of them.
//!
//! [`WALK_ENDS_MAX`]: roster_core::walk::WALK_ENDS_MAX

use roster_core::{
    Answer, StoreError, Timestamp,
    walk::{Places, WalkEnd, WalkId, WalkStore},
};

use crate::{
    columns::column,
    connect::Connection,
    pool::{Miss, Question, Tries},
    postgres::Postgres,
};

/// `synchronous_commit` is off for the one transaction that this statement is.
pub(crate) const NOTE: &str = "WITH unsynced AS MATERIALIZED \
     (SELECT set_config('synchronous_commit', 'off', true)), \
     known AS (UPDATE walk_ends SET at = $4 FROM unsynced \
     WHERE walk = $1 AND start = $2 AND place = $3 RETURNING slot) \
     INSERT INTO walk_ends (slot, walk, start, place, at) \
     SELECT nextval('walk_end_slots'), $1, $2, $3, $4 FROM unsynced \
     WHERE NOT EXISTS (SELECT 1 FROM known) \
     ON CONFLICT (slot) DO UPDATE SET walk = excluded.walk, start = excluded.start, \
     place = excluded.place, at = excluded.at";

pub(crate) const FIND: &str = "SELECT start, place FROM walk_ends WHERE walk = $1 AND at >= $3 \
     AND start = (SELECT start FROM walk_ends WHERE walk = $1 AND start <= $2 AND at >= $3 \
     ORDER BY start DESC LIMIT 1)";

struct Ends {
    walk: WalkId,
    index: u64,
    since: Timestamp,
}

impl Question for WalkEnd {
    type Answer = ();

    async fn ask(&self, connection: &Connection) -> Result<(), Miss> {
        let statement = connection.prepare(NOTE).await?;
        let (walk, start) = (self.walk.as_slice(), number(self.index));
        let at = self.at.as_millis();
        connection.client().execute(&statement, &[&walk, &start, &self.place, &at]).await?;
        Ok(())
    }
}

impl Question for Ends {
    type Answer = Option<Places>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        let statement = connection.prepare(FIND).await?;
        let (walk, start) = (self.walk.as_slice(), number(self.index));
        let since = self.since.as_millis();
        let rows = connection.client().query(&statement, &[&walk, &start, &since]).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let index: i64 = column(first, 0, "walk_ends.start")?;
        let places = rows.iter().map(|row| column(row, 1, "walk_ends.place"));
        let places = places.collect::<Result<Vec<String>, StoreError>>()?;
        Ok(Some((u64::try_from(index).unwrap_or_default(), places)))
    }
}

impl WalkStore for Postgres {
    fn note_walk_end(&self, end: WalkEnd) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_short(), &end).await })
    }

    fn walk_ends(
        &self,
        walk: WalkId,
        index: u64,
        since: Timestamp,
    ) -> Answer<'_, Result<Option<Places>, StoreError>> {
        Box::pin(async move { self.shared().ask(&Ends { walk, index, since }).await })
    }
}

fn number(index: u64) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}
