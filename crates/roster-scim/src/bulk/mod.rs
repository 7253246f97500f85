//! Bulk (RFC 7644 section 3.7): many writes in one request, which may name what others create.
//!
//! Pure: what was sent becomes steps, one after the other, each with its references resolved; who
//! carries them out tells what became of each, and asks for the next. Every step stands by itself:
//! one that fails takes back none that went before.

mod references;
mod request;
mod run;
#[cfg(test)]
mod tests;

pub use request::{BulkMethod, BulkOperation, BulkRequest, read};
pub use run::{Act, Done, Run, Step};

/// The URN of a bulk request.
pub const BULK_REQUEST_URN: &str = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
/// The URN of its answer.
pub const BULK_RESPONSE_URN: &str = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";
