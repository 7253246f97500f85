//! The record of a group as a SCIM group, and back (RFC 7643 section 4.2).
//!
//! A group's own attributes come from its record; its members are handed in, or are not shown.
//! What is sent becomes a draft that core judges, and the ids of those who belong to the group.

mod fault;
mod read;
mod write;

pub use fault::refused;
pub use read::{GroupBody, read};
pub use write::{GroupWriter, location, member_location, own_tree, shows_members};
