//! The stored positions of paging by index, shared by all processes.

use std::sync::{MutexGuard, PoisonError};

use roster_core::{
    StoreError, Timestamp,
    access::{Permit, ReadUsers},
    list::{Direction, PageKey},
    walk::{WalkEnd, WalkId},
};
use roster_scim::walk::{PLACE_IDLE_MS, Places, first};

use super::ScimProblem;
use crate::limits::scim::PLACE_KEEP_MS;
use crate::{cursor::ListCursors, state::AppState};

/// A page that was read: its index, the index after it, and whether no other follows.
pub(super) struct Page {
    pub(super) start: u64,
    pub(super) reached: u64,
    pub(super) is_last: bool,
}

/// The pages of one caller and one query.
pub(super) struct Walk<'a> {
    app: &'a AppState,
    may: Permit<ReadUsers>,
    cursors: ListCursors<'a>,
    id: WalkId,
    direction: Direction,
}

impl<'a> Walk<'a> {
    /// The walk of the caller, with the order and conditions of these cursors.
    pub(super) fn new(
        app: &'a AppState,
        may: Permit<ReadUsers>,
        cursors: ListCursors<'a>,
        direction: Direction,
    ) -> Self {
        Self { app, may, id: cursors.digest(), cursors, direction }
    }

    /// The stored position with the highest index up to this one, and that index.
    pub(super) async fn before(&self, index: u64) -> Result<Option<(u64, PageKey)>, ScimProblem> {
        let now = self.app.directory.now();
        let Some(store) = self.app.directory.walks(self.may) else {
            return Ok(self.places().before(&self.id, index, self.direction, now));
        };
        let since = earlier(now, PLACE_KEEP_MS);
        let Some((index, sealed)) = store.walk_ends(self.id, index, since).await? else {
            return Ok(None);
        };
        let places = sealed.iter().filter_map(|place| self.cursors.open(place));
        Ok(first(places, self.direction).map(|place| (index, place)))
    }

    /// Stores where a page of a list ended. If it is the first page, the positions of earlier lists
    /// that ended or were left are forgotten.
    pub(super) async fn note_page(&self, page: Page, place: PageKey) -> Result<(), ScimProblem> {
        let Page { start, reached: index, is_last } = page;
        let at = self.app.directory.now();
        let Some(store) = self.app.directory.walks(self.may) else {
            let mut places = self.places();
            if start == 1 {
                places.begin(&self.id, at);
            }
            places.note(self.id, index, place, self.direction, at);
            if is_last {
                places.end(&self.id, at);
            }
            return Ok(());
        };
        let (walk, left) = (self.id, earlier(at, PLACE_IDLE_MS));
        let place = self.cursors.seal_stored(&place)?;
        let noting = async {
            if start == 1 {
                store.forget_walk_ends(walk, left).await?;
            }
            store.note_walk_end(WalkEnd { walk, index, place, at }).await?;
            if is_last {
                store.end_walk(walk, left).await?;
            }
            Ok(())
        };
        match noting.await {
            // A failure is ignored: while the disk is full, no user can be deleted either, so the
            // index still leads to the right row.
            Err(StoreError::Full(_)) => Ok(()),
            noted => Ok(noted?),
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.app.walk_places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn earlier(now: Timestamp, ms: i64) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_sub(ms))
}
