//! SCIM 2.0 (RFC 7643, RFC 7644, RFC 9865) as data and pure functions over the record.
//!
//! What a resource looks like is a table; reading and writing follow it. Nothing here knows of
//! HTTP, of an engine or of an async runtime, and no rule about a user stands here: a body becomes
//! a draft, and core judges it.

pub mod bulk;
pub mod error;
pub mod filter;
pub mod patch;
pub mod profile;
pub mod schema;

pub use error::{ScimError, ScimType};
pub use profile::Profile;
pub use schema::ResourceType;
