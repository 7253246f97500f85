//! The HTTP interfaces of Roster: REST and SCIM.
//!
//! Requests become calls of the directory, and its results become responses. This crate does not
//! know how anything is stored, nor where settings come from.

mod access;
pub mod admission;
mod app;
mod authorization;
mod cursor;
pub mod description;
mod documents;
mod dropped_attributes;
mod endpoint;
mod extract;
mod metrics;
mod middleware;
pub mod operation;
pub mod problem;
mod readiness;
mod request;
mod request_id;
mod rest;
mod routes;
mod scim;
mod service_document;
mod settings;
mod state;
mod time_limits;
mod transfers;

pub use admission::AdmissionSettings;
pub use app::App;
pub use metrics::{Duty, HousekeepingMetrics};
pub use settings::{HttpSettings, URI_BYTES_MAX};
pub use time_limits::READ_WAIT_MAX;
