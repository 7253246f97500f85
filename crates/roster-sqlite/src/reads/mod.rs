//! Reads: their connections, the threads for long ones, and the statements that need no plan.
//!
//! A read never waits for the writer.

pub(crate) mod events;
pub(crate) mod long_reads;
pub(crate) mod readers;
pub(crate) mod rows;
pub(crate) mod scan;
