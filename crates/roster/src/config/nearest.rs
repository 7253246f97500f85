//! The known name that a mistyped one was probably meant to be.
//!
//! Only a near name is offered: a wrong guess costs the reader more than none.

/// Edits that a name may differ by, for each three characters it has.
const CHARS_PER_EDIT: usize = 3;

/// The nearest of `known` to `typed`, if one is near enough to be meant.
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

/// The end of a sentence about an unknown name: the one that was meant, or nothing.
pub(super) fn did_you_mean(typed: &str, known: impl Iterator<Item = &'static str>) -> String {
    nearest(typed, known).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}
