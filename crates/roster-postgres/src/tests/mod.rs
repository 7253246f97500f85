//! Tests that look inside the engine: its plans, its schema, its promises where several processes
//! write, sessions end and locks are held. What every engine must do alike stands in the
//! conformance suite.

mod checking;
mod cutting;
mod ending;
mod erasing;
mod eventing;
mod explain;
mod following;
mod keeping;
mod locking;
mod names;
mod opening;
mod plans;
mod racing;
mod repeating;
mod scanning;
mod sessions;
mod support;
mod walking;
mod warning;
