//! The limits of SCIM that are not those of the record, each with its name.
//!
//! They are shown in the service document beside those of core. What a handler is bound by it takes
//! from here.

pub(crate) use roster_scim::{
    list::COUNT_DEFAULT,
    project::NAMES_MAX,
    walk::{PLACE_KEEP_MS, PLACES_MAX},
};

/// Milliseconds for which a cursor is good: a day.
pub(crate) const CURSOR_KEEP_MS: i64 = 24 * 60 * 60 * 1000;
/// Most resources that are passed over to reach an index that nobody walked to.
pub(crate) const SKIP_MAX: u64 = 20_000;
/// A page by index goes on over pages of the store until it holds so many bytes.
pub(crate) const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A page of groups ends early once its groups have so many members that are shown.
pub(crate) const PAGE_MEMBERS_MAX: usize = 20_000;

// A page of ordinary length is no long one.
const _: () = assert!(COUNT_DEFAULT <= crate::admission::SHORT_PAGE_MAX);
