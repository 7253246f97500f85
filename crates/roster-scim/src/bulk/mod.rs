//! Bulk requests (RFC 7644 section 3.7): many writes in one request. An operation may refer to a
//! resource that another one creates.
//!
//! Pure: [`Run`] returns one [`Step`] after the other, with its references resolved. The caller
//! executes the step, reports its result, and gets the next one. Steps are independent: a failed
//! step undoes nothing.

mod references;
mod request;
mod run;
#[cfg(test)]
mod tests;

pub use request::{BulkMethod, BulkOperation, BulkRequest, read};
pub use run::{Act, Done, Run, Step};

/// The URN of a bulk request.
pub const BULK_REQUEST_URN: &str = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
/// The URN of the response.
pub const BULK_RESPONSE_URN: &str = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";
