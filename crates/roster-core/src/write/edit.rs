//! Changes that are computed from the stored record.

use std::{fmt, sync::Arc};

use crate::failure::Refusal;

/// A change that is computed from the stored record when the command is decided, such as a SCIM
/// PATCH. It is a pure function, since a command may be decided several times. It returns `None` to
/// reject the change; the code that created it keeps the reason.
pub struct Edit<R, C>(Arc<EditFn<R, C>>);

type EditFn<R, C> = dyn Fn(&R) -> Option<C> + Send + Sync;

impl<R, C> Edit<R, C> {
    /// An edit that calls this function.
    pub fn new(change: impl Fn(&R) -> Option<C> + Send + Sync + 'static) -> Self {
        Self(Arc::new(change))
    }

    /// Computes the change of a record.
    pub(crate) fn apply(&self, record: &R) -> Result<C, Refusal> {
        (self.0)(record).ok_or(Refusal::EditRefused)
    }
}

impl<R, C> Clone for Edit<R, C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R, C> fmt::Debug for Edit<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edit")
    }
}
