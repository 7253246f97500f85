//! What stands between a request and its handler, in this order: request id, metrics and log,
//! problem writer, then the guards here: host and origin, cheap limits. Health passes without
//! guards, and what comes from a listed origin without the guard of origins. The order itself is in
//! `app.rs`, on one screen.

mod cors;
mod direct;
mod host;
mod limits;
mod origin;

pub(crate) use cors::Cors;
pub(crate) use direct::check_direct;
pub(crate) use host::Hosts;
pub(crate) use limits::check_limits;
pub(crate) use origin::check_origin;
