//! Tests that look inside the engine: its file, its plans, its promises under failure. What every
//! engine must do alike stands in the conformance suite.

mod opening;
mod paging;
mod plans;
mod racing;
mod schemas;
mod support;
mod unclean;
mod writing;
