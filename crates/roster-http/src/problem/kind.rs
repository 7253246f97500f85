//! A row of the registry of problem codes.

/// One kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemKind {
    /// The stable name, used in `code` and at the end of `type`.
    pub code: &'static str,
    /// Its HTTP status.
    pub status: u16,
    /// The kind of problem in a few words: the `title`.
    pub title: &'static str,
    /// What it means. Words in backticks are code.
    pub meaning: &'static str,
    /// What to do about it. Words in backticks are code.
    pub remedy: &'static str,
    /// The default `detail`, or an example of one.
    pub detail: &'static str,
}
