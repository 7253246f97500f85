//! The limits of SCIM that do not apply to the record.
//!
//! The service document shows them, in addition to those of core. Handlers use these constants.

pub(crate) use roster_scim::{
    list::COUNT_DEFAULT,
    project::NAMES_MAX,
    walk::{PLACE_KEEP_MS, PLACES_MAX},
};

/// How long a cursor is valid, in milliseconds: a day.
pub(crate) const CURSOR_KEEP_MS: i64 = 24 * 60 * 60 * 1000;
/// The maximum number of resources that are skipped to reach an index that does not follow a
/// previous page.
pub(crate) const SKIP_MAX: u64 = 20_000;
/// A page by index combines pages of the store until it has this many bytes.
pub(crate) const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The maximum number of pages of the store that one page by index reads.
pub(crate) const PAGE_READS_MAX: usize = 100;
/// The maximum number of memberships that the users of one page show.
pub(crate) const PAGE_GROUPS_MAX: usize = 100_000;
/// A page of groups ends early once its groups show this many members.
pub(crate) const PAGE_MEMBERS_MAX: usize = 20_000;

// A page of default length is not a long one.
const _: () = assert!(COUNT_DEFAULT <= crate::limits::admission::SHORT_PAGE_MAX);
