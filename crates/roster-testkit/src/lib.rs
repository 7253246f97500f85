//! Test support: the oracle, the cases that every engine must pass, random records and command
//! sequences, and checks of responses against the API description.
//!
//! This crate is not part of the service; other crates use it only in tests.

pub mod arbitrary;
pub mod clock;
pub mod conditions;
pub mod conformance;
pub mod openapi;
pub mod oracle;
pub mod postgres;
pub mod process;
pub mod queries;
pub mod replay;
pub mod sequences;

pub use clock::TestClock;
pub use conditions::Conditions;
pub use oracle::Oracle;
