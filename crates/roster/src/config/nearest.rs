//! Suggests the known name nearest to a misspelled one.
//!
//! Only a near name is suggested: a wrong suggestion is worse than none.

/// Allowed edits per three characters of the name.
const CHARS_PER_EDIT: usize = 3;

/// The name in `known` that is nearest to `typed`, if near enough.
pub(super) fn nearest(
    typed: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let reach = typed.chars().count().div_ceil(CHARS_PER_EDIT);
    known
        .map(|name| (strsim::damerau_levenshtein(typed, name), name))
        .filter(|(edits, _)| *edits <= reach)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// The suggestion at the end of an error, or nothing.
pub(super) fn did_you_mean(typed: &str, known: impl Iterator<Item = &'static str>) -> String {
    nearest(typed, known).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}
