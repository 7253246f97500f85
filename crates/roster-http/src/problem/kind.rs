//! What a row of the registry of problem codes has.

/// One kind of problem: what stands under its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemKind {
    /// The stable name, as it stands in `code` and at the end of `type`.
    pub code: &'static str,
    /// The HTTP status that it always comes with.
    pub status: u16,
    /// The kind of problem in a few words; the `title` of every such answer.
    pub title: &'static str,
    /// What it means. Words in backticks are code.
    pub meaning: &'static str,
    /// What to do about it. Words in backticks are code.
    pub remedy: &'static str,
    /// The `detail` where there is no more to say than this; else such a one, for examples.
    pub detail: &'static str,
}
