//! Where the pages of walks by index ended, for several processes over one store.
//!
//! A walk may go on through another process than the one that served its last page. So an engine
//! that several processes share keeps these places for all of them; a process that has its store
//! for itself keeps them in its own memory. An engine does not know what a walk or a place is: the
//! one is a digest, the other is sealed.

use crate::{failure::StoreError, outcome::Answer, timestamp::Timestamp};

/// A caller and a question, digested.
pub type WalkId = [u8; 32];

/// Most ends that are kept; the oldest is dropped first.
pub const WALK_ENDS_MAX: usize = 20_000;

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEnd {
    /// Which walk.
    pub walk: WalkId,
    /// The index that follows the page.
    pub index: u64,
    /// The place, sealed; the same place of one walk has the same text.
    pub place: String,
    /// When the page was read.
    pub at: Timestamp,
}

/// An index, and the places that were noted at it.
pub type Places = (u64, Vec<String>);

/// The ends of pages, shared by all processes over a store.
pub trait WalkStore: Send + Sync {
    /// Keeps the end of a page: all processes see it once this is answered. It may be lost when
    /// the database crashes.
    fn note_walk_end(&self, end: WalkEnd) -> Answer<'_, Result<(), StoreError>>;

    /// The greatest index not beyond `index` at which a page of the walk ended since that moment,
    /// with all places that were noted there.
    fn walk_ends(
        &self,
        walk: WalkId,
        index: u64,
        since: Timestamp,
    ) -> Answer<'_, Result<Option<Places>, StoreError>>;
}
