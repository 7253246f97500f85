//! The attribute tables: SCIM resources described as data (RFC 7643 sections 2, 3, 4, 7).
//!
//! Parsing, writing, PATCH, filters, projection and discovery all use these tables, so `/Schemas`
//! describes what the service does. Names are compared without regard to case (RFC 7643 section
//! 2.1).

mod attribute;
mod common;
pub mod declared;
mod enterprise;
mod extension;
mod group;
mod path;
mod resource;
mod service;
mod user;

pub use attribute::{AttributeSchema, AttributeType, Mutability, Returned, Uniqueness};
pub use enterprise::ENTERPRISE_USER;
pub use extension::ROSTER_USER;
pub use group::GROUP;
pub use path::{ScimPath, scim_part, scim_path};
pub use resource::{Found, ResourceType, Schema};
pub use service::{CONFIG_URN, RESOURCE_TYPE_URN, SCHEMA_URN, SERVICE_SCHEMAS};
pub use user::USER;

impl ResourceType {
    /// All resource types.
    pub const ALL: &[&Self] = &[&USER, &GROUP];
}

/// The URN of a user.
pub const USER_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
/// The URN of a group.
pub const GROUP_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
/// The URN of the enterprise extension of a user.
pub const ENTERPRISE_URN: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
/// The URN of Roster's extension of a user.
pub const ROSTER_URN: &str = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";
