//! The rules of the record (contract 1 to 3), held against the drafts, decisions and records of
//! `roster-core` as a caller of that crate sees them.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the test")]

mod attributes;
mod cap;
mod conflict;
mod cutting;
mod excuses;
mod held;
mod kept;
mod leaving;
mod parsing;
mod purity;
mod record;
mod short_form;
mod support;
mod verified;
