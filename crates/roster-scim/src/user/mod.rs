//! Maps the record to a SCIM user and back.
//!
//! Writing copies the stored JSON member by member. Parsing makes a draft, which core validates.
//! Both use [`crate::schema::scim_path`], so both interfaces read and write the same record.

mod body;
mod fault;
mod flags;
mod patch;
mod plan;
mod read;
mod schemas;
#[cfg(test)]
mod tests;
mod value;
mod write;

pub use body::UserBody;
pub use fault::{invalid, refused};
pub use patch::UserPatch;
pub use read::{Sent, read};

pub use plan::shows_groups;
pub use write::{UserWriter, entity_tag, location, version_of};
