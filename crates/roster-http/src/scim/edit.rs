//! A PATCH as an edit: the writer applies it to the record that it loaded.

use std::sync::{Arc, Mutex, PoisonError};

use roster_core::{Edit, Failure, Outcome, Refusal};

use super::ScimProblem;
use crate::problem::{Problem, ProblemCode};

/// Why a patch was refused.
pub(super) type PatchRefusal = Arc<Mutex<Option<ScimProblem>>>;

/// A patch as an edit, and a cell for its error.
pub(super) fn edit<R: 'static, C: 'static>(
    patch: impl Fn(&R) -> Result<C, ScimProblem> + Send + Sync + 'static,
) -> (Edit<R, C>, PatchRefusal) {
    let refusal = PatchRefusal::default();
    let place = Arc::clone(&refusal);
    let edit = Edit::new(move |record| match patch(record) {
        Ok(change) => Some(change),
        Err(refused) => {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
            None
        }
    });
    (edit, refusal)
}

/// The result of an edit, with the patch's own error if it failed.
pub(super) fn result_of_edit(
    result: Result<Outcome, Failure>,
    refusal: &PatchRefusal,
) -> Result<Outcome, ScimProblem> {
    match result {
        Err(Failure::Refused(Refusal::EditRefused)) => {
            let refusal = refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
            Err(refusal.unwrap_or_else(|| Problem::new(ProblemCode::Internal).into()))
        }
        result => Ok(result?),
    }
}
