//! Tests of the internals of the engine: its file, its query plans, its behaviour after failures.
//! The conformance suite has the tests that are the same for every engine.

mod erasing;
mod exporting;
mod finding;
mod following;
mod forgetting;
mod indexing;
mod large_groups;
mod opening;
mod paging;
mod plans;
mod purging;
mod racing;
mod repeating;
mod schemas;
mod stopping;
mod support;
mod tenants;
mod trying;
mod unclean;
mod write_ahead_log;
mod writing;
