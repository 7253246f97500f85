//! SCIM 2.0 (RFC 7643, RFC 7644, RFC 9865) as data and pure functions over the record.
//!
//! What a resource looks like is a table; reading and writing follow it. Nothing here knows of
//! HTTP, of an engine or of an async runtime, and no rule about a user stands here: a body becomes
//! a draft, and core judges it.

pub mod bulk;
pub mod discovery;
pub mod error;
pub mod filter;
pub mod group;
mod group_refusal;
pub mod list;
pub mod patch;
pub mod profile;
pub mod project;
pub mod schema;
pub mod user;
pub mod walk;

pub use error::{ScimError, ScimType};
pub use list::ListRequest;
pub use profile::Profile;
pub use project::Projection;
pub use schema::ResourceType;
