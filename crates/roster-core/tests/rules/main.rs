//! Tests of the rules for records, through the public API of `roster-core`.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the test")]

mod attributes;
mod cap;
mod conflict;
mod deletion;
mod draft_options;
mod excuses;
mod parsing;
mod projection;
mod purity;
mod record;
mod server_made;
mod short_form;
mod support;
mod verified;
