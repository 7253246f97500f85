//! Many records in one request: `/bulk/users`, `/bulk/groups` and `/bulk/deleted-users`.
//!
//! Imports, exports and changes of many users continue as tasks after their responses have begun.
//! Their memory is bounded, whatever the client does, by the number of transfers and of batches and
//! pages in each. No decision about users is made here.

mod batch;
mod bulk_query;
mod charges;
mod clashes;
mod csv;
pub(crate) mod deleted_users;
mod export;
mod flight;
mod group_line;
pub(crate) mod groups;
mod import_key;
mod intake;
mod line_result;
mod lines;
mod matching;
mod outbox;
mod spill;
mod splitter;
pub(crate) mod users;
mod write_lines;
