//! Random preconditions.

use proptest::{
    prop_oneof,
    strategy::{BoxedStrategy, Just, Strategy},
};

/// The precondition of a step.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    /// No precondition.
    Nothing,
    /// `If-Match` with the version as it is before the step's batch.
    Current,
    /// `If-Match` with the version before that.
    Stale,
    /// `If-Match: *`.
    Any,
    /// `If-None-Match` with the version as it is before the step's batch.
    NotCurrent,
}

/// A precondition, mostly none.
pub(super) fn held() -> BoxedStrategy<Held> {
    prop_oneof![
        12 => Just(Held::Nothing),
        2 => Just(Held::Current),
        1 => Just(Held::Stale),
        1 => Just(Held::Any),
        1 => Just(Held::NotCurrent),
    ]
    .boxed()
}
