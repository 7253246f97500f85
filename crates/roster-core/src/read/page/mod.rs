//! Builds a page from rows, for every engine.
//!
//! An engine finds rows by the plan's source and passes them, one by one, to a [`Walk`], which
//! tests the conditions that no column covers and ends the page. [`order`] compares rows that must
//! be sorted. This module does not know how rows are found.

pub(crate) mod builder;
pub mod order;
mod residual;

pub use builder::{Flow, Row, Walk};
pub use residual::Residual;
