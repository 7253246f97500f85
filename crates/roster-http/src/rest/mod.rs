//! The REST interface, one module for each resource.
//!
//! A handler gets its values from extractors, calls the directory and builds the response. All
//! decisions about users are made by the directory.

pub(crate) mod bulk;
pub(crate) mod caller;
pub(crate) mod console;
pub(crate) mod deleted_users;
pub(crate) mod events;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod keys;
mod list;
mod respond;
pub(crate) mod schema;
pub(crate) mod service;
pub(crate) mod tenants;
pub(crate) mod users;
pub(crate) mod webhooks;
