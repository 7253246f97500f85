//! Filling a page from rows, for every engine alike.
//!
//! An engine finds rows along the plan's driver and shows them, one by one, to a [`Walk`], which
//! tests what no column answers and ends the page. [`order`] puts rows in order that were found
//! first. How rows are found is not known here.

pub mod order;
mod residual;
mod walk;

pub use walk::{Flow, Row, Walk};
