//! The REST interface, one module for each resource.
//!
//! A handler takes what it needs of the request by extractors, calls the directory and makes the
//! response. It makes no decision about users: those are the directory's.

pub(crate) mod caller;
pub(crate) mod deleted_users;
pub(crate) mod events;
mod export;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod keys;
mod list;
mod respond;
pub(crate) mod schema;
pub(crate) mod service;
pub(crate) mod users;
