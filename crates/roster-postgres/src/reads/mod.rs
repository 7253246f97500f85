//! Reads: their statements, single reads gathered into one, and the threads for long ones.

pub(crate) mod events;
pub(crate) mod large_pages;
pub(crate) mod log_end;
pub(crate) mod long_reads;
pub(crate) mod page;
pub(crate) mod rows;
pub(crate) mod user_lookups;
pub(crate) mod walks;
