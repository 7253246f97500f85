//! Copying the write-ahead log into the database, and its length.

pub(crate) mod checkpoint;
pub(crate) mod checkpointer;
pub(crate) mod thread;
