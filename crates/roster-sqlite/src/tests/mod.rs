//! Tests that look inside the engine: its file, its plans, its promises under failure. What every
//! engine must do alike stands in the conformance suite.

mod erasing;
mod exporting;
mod finding;
mod following;
mod forgetting;
mod large_groups;
mod opening;
mod paging;
mod plans;
mod purging;
mod racing;
mod repeating;
mod schemas;
mod support;
mod trying;
mod unclean;
mod write_ahead_log;
mod writing;
