//! The record as a SCIM user, and back.
//!
//! Writing copies the stored JSON piece by piece; reading makes a draft that core judges. Both
//! follow the table of places, so that a user made by one face is the same user at the other.

mod fault;
mod flags;
mod plan;
mod read;
mod value;
mod write;

pub use fault::{invalid, refused};
pub use flags::named_flags;
pub use read::{Sent, read};
pub use write::{UserWriter, location, shows_groups};
