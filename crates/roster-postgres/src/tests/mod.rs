//! Tests of the internals of the engine: its query plans, its schema, and its behaviour when
//! several processes write, sessions end and locks are held. The conformance suite has the tests
//! that are the same for every engine.

mod checking;
mod cutting;
mod ending;
mod erasing;
mod eventing;
mod explain;
mod following;
mod forking;
mod housekeeping_statements;
mod isolating;
mod keeping;
mod leasing;
mod locking;
mod names;
mod opening;
mod ordering;
mod plans;
mod racing;
mod repeating;
mod scanning;
mod sessions;
mod simultaneous;
mod support;
mod walking;
mod warning;
