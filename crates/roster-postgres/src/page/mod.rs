//! One page of the collection, with its position and total, in one snapshot.
//!
//! The way is core's [`Plan`]; here it is told in SQL. A page that one index answers is one
//! statement. Every other one is walked in a snapshot of its own, rows
//! being fetched in growing portions, so that what is looked at is bounded, whatever is asked.

mod candidates;
mod direct;
mod found;
pub(crate) mod parameters;
pub(crate) mod range;
mod row;
pub(crate) mod sql;
pub(crate) mod total;
mod walked;

pub(crate) use direct::Direct;
pub(crate) use walked::walked;
