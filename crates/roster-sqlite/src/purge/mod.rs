//! Erasing the history of purged users, and overwriting their bytes in the file.

pub(crate) mod erasure;
pub(crate) mod mark;
pub(crate) mod sweep;
