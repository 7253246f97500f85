//! Maps the record of a group to a SCIM group and back (RFC 7643 section 4.2).
//!
//! The attributes of a group come from its record, except the members. These are passed in
//! separately, or left out. Parsing makes a draft, which core validates, and the ids of the
//! members.

mod fault;
mod members;
mod read;
pub(crate) mod stream;
mod write;

pub use fault::refused;
pub(crate) use members::{each_id, member_id};
pub use read::{GroupBody, read, read_own};
pub(crate) use read::{is_like_members, nearly_members};
pub use write::{GroupWriter, location, member_location, own_tree, shows_members};
