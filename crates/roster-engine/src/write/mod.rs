//! Writes: the queue, and the execution of queued commands.

pub(crate) mod batch;
pub(crate) mod executed;
pub(crate) mod facts;
pub(crate) mod group;
mod holders;
pub(crate) mod idempotency;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod writes;
