//! Writes: commands, their results, and the entries of the change log.

pub mod audit;
pub mod capped;
pub mod command;
pub(crate) mod edit;
pub mod erasure;
pub mod event;
pub(crate) mod outcome;
pub mod policy;
pub(crate) mod position;
pub(crate) mod start;
pub mod violation;
