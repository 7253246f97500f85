//! The guards between a request and its handler. The endpoint runs them.

mod cors;
mod direct;
mod host;
mod origin;

pub(crate) use crate::limits::head::check_limits;
pub(crate) use cors::{Cors, CorsGrant};
pub(crate) use direct::check_direct;
pub(crate) use host::Hosts;
pub use host::is_loopback_host;
pub(crate) use origin::check_origin;
