//! Where a walk by index goes on, whichever process served its last page.

use std::sync::{MutexGuard, PoisonError};

use roster_core::{
    StoreError, Timestamp,
    access::{Permit, ReadUsers},
    list::{Direction, PageKey},
    walk::{WalkEnd, WalkId},
};
use roster_scim::walk::{Places, first};

use super::{ScimProblem, limits::PLACE_KEEP_MS};
use crate::{cursor::ListCursors, state::AppState};

/// One caller's walk through the answers to one question.
pub(super) struct Walk<'a> {
    app: &'a AppState,
    may: Permit<ReadUsers>,
    cursors: ListCursors<'a>,
    id: WalkId,
    direction: Direction,
}

impl<'a> Walk<'a> {
    /// The walk of the caller, in the order and under the conditions of these cursors.
    pub(super) fn new(
        app: &'a AppState,
        may: Permit<ReadUsers>,
        cursors: ListCursors<'a>,
        direction: Direction,
    ) -> Self {
        Self { app, may, id: cursors.digest(), cursors, direction }
    }

    /// The place to go on from for the nearest index that is not beyond this one, and that index.
    pub(super) async fn before(&self, index: u64) -> Result<Option<(u64, PageKey)>, ScimProblem> {
        let now = self.app.directory.now();
        let Some(store) = self.app.directory.walks(self.may) else {
            return Ok(self.places().before(&self.id, index, self.direction, now));
        };
        let since = Timestamp::from_millis(now.as_millis().saturating_sub(PLACE_KEEP_MS));
        let Some((index, sealed)) = store.walk_ends(self.id, index, since).await? else {
            return Ok(None);
        };
        let places = sealed.iter().filter_map(|place| self.cursors.open(place));
        Ok(first(places, self.direction).map(|place| (index, place)))
    }

    /// Takes note that the page before this index ended there.
    pub(super) async fn note(&self, index: u64, place: PageKey) -> Result<(), ScimProblem> {
        let at = self.app.directory.now();
        let Some(store) = self.app.directory.walks(self.may) else {
            self.places().note(self.id, index, place, self.direction, at);
            return Ok(());
        };
        let place = self.cursors.seal_stored(&place)?;
        match store.note_walk_end(WalkEnd { walk: self.id, index, place, at }).await {
            // While the disk is full, no user is deleted either.
            Err(StoreError::Full(_)) => Ok(()),
            noted => Ok(noted?),
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.app.walk_places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
