//! Problems: what every refusal and failure looks like on the wire (RFC 9457).
//!
//! Each has a stable code. The code is the contract: a program branches on it, and a page at
//! `/problems/{code}` explains it. Codes are only ever added.

mod answer;
mod failure;
mod kind;
pub mod registry;
pub mod violations;

pub(crate) use answer::{Fault, NO_STORE, Problem, ProblemExtension};
pub(crate) use registry::ProblemCode;
