//! Imports and exports by content negotiation: one JSON text per line.
//!
//! Both continue as tasks after their responses have begun. Their memory is bounded, whatever the
//! client does, by the number of transfers and of batches and pages in each. No decision about
//! users is made here.

mod batch;
mod charges;
mod clashes;
mod export;
mod flight;
mod import;
mod import_query;
mod intake;
mod lines;
mod outbox;
mod spill;
mod verdict;

pub(super) use export::export;
pub(super) use import::import;
