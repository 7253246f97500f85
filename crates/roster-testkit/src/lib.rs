//! The tools of the tests: the oracle, the cases that every engine must pass, random records and
//! command sequences, and the description that answers are held against.
//!
//! Nothing here is part of the service; crates depend on it for their tests alone.

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
