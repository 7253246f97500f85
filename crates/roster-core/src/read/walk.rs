//! The ends of SCIM pages by index, shared by the processes of one store.
//!
//! A client may request the next page by index from another process. An engine that several
//! processes share therefore stores these positions for all of them. The only process of a store
//! keeps them in memory. An engine does not interpret them: a walk is identified by a digest, and a
//! position is encrypted.

use crate::{failure::StoreError, timestamp::Timestamp, write::outcome::Answer};

/// The digest of a caller and a query.
pub type WalkId = [u8; 32];

/// The maximum number of stored ends. The oldest is removed first.
pub const WALK_ENDS_MAX: usize = 20_000;

/// The end of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEnd {
    /// The walk.
    pub walk: WalkId,
    /// The index of the item after the page.
    pub index: u64,
    /// The encrypted position. The same position of one walk always has the same text.
    pub place: String,
    /// The time at which the page was read.
    pub at: Timestamp,
}

/// An index, and the positions that were stored for it.
pub type Places = (u64, Vec<String>);

/// The ends of pages, shared by all processes of a store.
pub trait WalkStore: Send + Sync {
    /// Stores the end of a page: all processes see it after this call returns. It may be lost if
    /// the database crashes.
    fn note_walk_end(&self, end: WalkEnd) -> Answer<'_, Result<(), StoreError>>;

    /// Forgets the ends of a walk that were stored until this time.
    fn forget_walk_ends(
        &self,
        walk: WalkId,
        until: Timestamp,
    ) -> Answer<'_, Result<(), StoreError>>;

    /// Ends a walk: none of its ends is newer than this time then.
    fn end_walk(&self, walk: WalkId, at: Timestamp) -> Answer<'_, Result<(), StoreError>>;

    /// The greatest index, at most `index`, at which a page of the walk ended since this time, with
    /// all positions that were stored for it.
    fn walk_ends(
        &self,
        walk: WalkId,
        index: u64,
        since: Timestamp,
    ) -> Answer<'_, Result<Option<Places>, StoreError>>;
}
