//! The service under test: both HTTP interfaces over any engine, in the process of the test, with a
//! client that checks every exchange against the API description.
//!
//! The test programs of the HTTP interfaces share it. It does not know what a test is about.
#![expect(missing_docs, reason = "used by tests only; the names of fields and faults say it")]
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a case fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the case")]
#![expect(clippy::missing_panics_doc, reason = "a response that is not expected panics")]
#![expect(clippy::format_push_string, reason = "clearer than writing with errors that cannot be")]

pub mod cases;
pub mod client;
mod requests;
pub mod service;
pub mod store;
