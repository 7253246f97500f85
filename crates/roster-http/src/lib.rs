//! The faces of Roster over HTTP.
//!
//! What arrives at a socket is turned into calls of the directory, and its outcomes into answers.
//! This crate must not know how anything is stored, nor where settings come from.

mod access;
mod app;
mod authorization;
mod cursor;
pub mod description;
mod endpoint;
mod extract;
pub mod front;
mod metrics;
mod middleware;
pub mod operation;
mod pages;
pub mod pressure;
pub mod problem;
mod proxies;
mod readiness;
mod request;
mod request_id;
mod rest;
mod routes;
mod scim;
mod settings;
mod state;
mod time_limits;
mod transfers;

pub use access::{ISSUERS_MAX, IssuerUrl, TokenAlgorithm, TokenIssuer};
pub use app::App;
pub use metrics::{Duty, HousekeepingMetrics};
pub use pressure::PressureSettings;
pub use proxies::TrustedProxies;
pub use settings::{FaceSettings, URI_BYTES_MAX};
pub use time_limits::READ_WAIT_MAX;
