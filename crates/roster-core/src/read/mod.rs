//! Reads: queries, filters, plans and pages.

pub(crate) mod events;
pub mod filter;
pub mod list;
pub mod page;
pub mod plan;
pub mod project;
pub mod walk;
pub mod words;
