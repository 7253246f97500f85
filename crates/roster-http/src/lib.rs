//! The HTTP interfaces of Roster: REST and SCIM.
//!
//! Requests become calls of the directory, and its results become responses. This crate does not
//! know how anything is stored, nor where settings come from. `roster-server` accepts connections
//! and calls [`App`].
//!
//! # Modules
//!
//! The path of a request:
//! - [`operation`], `routes`: the table of all operations, and the router
//! - `endpoint`: what surrounds every handler: request id, checks, problems, metrics, log line
//! - `middleware`, `session`, `authorization`, `access`: the checks of host, origin and caller
//! - `limits`: admission, the limits of time, of imports and exports, and of the head of a request
//! - `extract`, `request`: what handlers take
//! - `rest`, `scim`: the handlers, one file or folder for each resource
//! - [`problem`]: the registry of problems, and the problem of each failure
//!
//! Shared by handlers:
//! - `state`, `settings`, `app`: what handlers use, the settings, and the service itself
//! - `cursor`: encrypted list cursors
//! - `cloud_events`: the JSON of events
//! - [`description`], `documents`, `service_document`: the OpenAPI description, and documents in
//!   memory
//! - `metrics`, `readiness`: `/metrics` and `/readyz`
//! - `webhook_client`: signed requests to webhooks
//!
//! # Example
//!
//! ```
//! use roster_core::UserSchema;
//! use roster_http::operation::Operation;
//!
//! // Every operation is in one table and in the OpenAPI description.
//! let operation = Operation::ReplaceUser;
//! assert_eq!((operation.method().as_str(), operation.path()), ("PUT", "/users/{user_id}"));
//! let base_url = "https://directory.example.com";
//! let document = roster_http::description::openapi(base_url, &UserSchema::default());
//! let document = String::from_utf8_lossy(&document);
//! assert!(document.contains(operation.id()));
//! ```

mod access;
mod app;
mod authorization;
mod cloud_events;
mod cursor;
pub mod description;
mod documents;
mod endpoint;
mod extract;
mod limits;
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
mod session;
mod settings;
mod state;
mod tenancy;
pub(crate) mod turns;
mod webhook_client;

pub use app::App;
pub use limits::admission::AdmissionSettings;
pub use limits::time_limits::READ_WAIT_MAX;
pub use metrics::{Duty, HousekeepingMetrics, WebhookLag, WebhookMetrics};
pub use middleware::is_loopback_host;
pub use settings::{HttpSettings, URI_BYTES_MAX};
pub use webhook_client::{Sent, WebhookClient, WebhookContent};
