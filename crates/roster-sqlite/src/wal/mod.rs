//! Copying the write-ahead log into the database, its length, and damage in it.

pub(crate) mod checkpoint;
pub(crate) mod checkpointer;
pub(crate) mod damage;
pub(crate) mod thread;
