//! Problems: the form of every error response (RFC 9457).
//!
//! Each has a stable code. Programs use the code, and the page at `/problems/{code}` explains it.
//! Codes are never removed.

mod answer;
mod failure;
mod kind;
pub mod registry;
pub mod violations;

pub(crate) use answer::{Fault, NO_STORE, Problem, ProblemExtension};
pub(crate) use failure::{SUPERSEDED, pointer_of};
pub(crate) use registry::ProblemCode;
