//! Bulk by content negotiation: the collection out and users in, one JSON text a line.
//!
//! Both run on as tasks of their own once their answers have begun. What they hold in memory is
//! bounded whatever the caller does: so many transfers at a time, so many batches and pages in
//! each. Nothing here decides about users.

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
