//! Many users in one request: imports, exports, and changes of many users.
//!
//! They continue as tasks after their responses have begun. Their memory is bounded, whatever the
//! client does, by the number of transfers and of batches and pages in each. No decision about
//! users is made here.

mod batch;
mod bulk_query;
mod charges;
mod clashes;
mod export;
mod flight;
mod intake;
mod line_result;
mod lines;
mod matching;
mod outbox;
mod spill;
mod write_lines;

pub(super) use bulk_query::LineKind;
pub(super) use export::export;
pub(super) use matching::{MatchingChange, change_matching};
pub(super) use write_lines::write_lines;
