//! SCIM 2.0 (RFC 7643, RFC 7644, RFC 9865) as data and pure functions.
//!
//! Attribute tables describe the resources. Parsing, writing, PATCH, filters and discovery use
//! these tables. The crate contains no HTTP, no engine and no async runtime. It contains no rules
//! about users either: a body becomes a [`roster_core::Draft`], which core validates.
//!
//! - [`schema`]: the attribute tables, the SCIM path of each member of the record, and the schema
//!   extensions that the operator declares
//! - [`user`], [`group`]: mapping between records and SCIM resources
//! - [`patch`]: PATCH, applied to a resource
//! - [`filter`]: filters, parsed to expressions of core
//! - [`list`], [`walk`]: list requests, pages, and paging by `startIndex`
//! - [`project`]: `attributes` and `excludedAttributes`
//! - [`bulk`]: bulk requests, one step at a time
//! - [`discovery`]: `/ServiceProviderConfig`, `/ResourceTypes` and `/Schemas`
//! - [`strictness`]: tolerant and strict parsing
//! - the module `error`: errors
//!
//! ```
//! use roster_core::{UserSchema, json};
//! use roster_scim::{Strictness, filter, user};
//!
//! let body = br#"{"userName": "ada", "active": "True"}"#;
//! let body = json::read(body).map_err(|fault| fault.detail)?;
//! // Some providers send booleans as strings. Strict parsing rejects them.
//! let schema = UserSchema::default();
//! assert!(user::read(body.clone(), Strictness::Tolerant, user::Sent::Created, &schema).is_ok());
//! assert!(user::read(body, Strictness::Strict, user::Sent::Created, &schema).is_err());
//!
//! // A SCIM filter becomes the same expression as a filter of the REST interface.
//! let filter = filter::parse(r#"userName eq "ada""#, Strictness::Strict, &schema);
//! assert_eq!(filter.map(|filter| filter.to_string()), Ok(r#"username eq "ada""#.to_owned()));
//! # Ok::<(), String>(())
//! ```

mod app_role;
pub mod bulk;
pub mod discovery;
pub mod error;
pub mod filter;
pub mod group;
pub(crate) mod group_refusal;
pub mod list;
pub mod patch;
pub mod project;
pub mod schema;
pub mod strictness;
pub mod user;
mod value;
pub mod walk;
mod work_email;

pub use error::{ScimError, ScimType};
pub use list::ListRequest;
pub use project::Projection;
pub use schema::ResourceType;
pub use strictness::Strictness;
