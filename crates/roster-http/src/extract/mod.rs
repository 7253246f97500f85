//! From the parts of a request to values, each kind in its own file.
//!
//! What cannot be read is a problem at once; nothing here knows the directory.

mod accept;
mod body;
mod idempotency;
mod parse;
mod precondition;
mod prefer;
mod query;
mod user_id;

pub(crate) use accept::{HTML, JSON, Media, NDJSON, OPENMETRICS, SCIM_JSON, negotiate};
pub(crate) use body::{BodyKind, check_lines, read_bytes, sends_lines};
pub(crate) use idempotency::{idempotency, idempotency_key};
pub(crate) use parse::JsonParser;
pub(crate) use precondition::{EntityTags, preconditions, tags, weak_preconditions};
pub(crate) use prefer::{Return, preferred_return, preferred_wait};
pub(crate) use query::{Parameter, parameters, refuse_parameters};
pub(crate) use user_id::user_id;
