//! The suggestion for a misspelled name.

use roster_core::text::nearest;

/// The suggestion at the end of an error, or nothing.
pub(super) fn did_you_mean(typed: &str, known: impl Iterator<Item = &'static str>) -> String {
    nearest(typed, known).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}
