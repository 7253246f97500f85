//! A PATCH as an edit: the engine applies it to the record that it loaded.
//!
//! An engine decides commands on threads on which other requests wait. So there a patch may make
//! only a few comparisons. One that needs more is applied to the same record on a thread of low
//! priority, and the engine gets the result. If the record has changed meanwhile, this repeats.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use roster_core::{Edit, Failure, Outcome, Refusal, TooMuchWork, Work};
use roster_scim::{ScimError, ScimType};

use super::ScimProblem;
use crate::{
    problem::{Problem, ProblemCode},
    state::AppState,
};

/// The maximum number of comparisons of a patch that the engine applies. They take less than a
/// millisecond.
const SHORT_COMPARISONS_MAX: u64 = 2_000;

/// How often a long patch is applied to a record that keeps changing.
const ATTEMPTS_MAX: usize = 8;

/// Why the engine could not apply a patch.
enum Refused<R> {
    Error(ScimError),
    /// It needs more comparisons for this record.
    TooLong(Box<R>),
}

/// Patches a record. `patch` makes the change of a record; `edit` executes it. `work` bounds the
/// comparisons of the request.
pub(super) async fn apply_patch<R, C, P, E, F>(
    app: &AppState,
    work: &Work,
    patch: P,
    edit: E,
) -> Result<Result<Outcome, Failure>, ScimProblem>
where
    R: Clone + PartialEq + Send + Sync + 'static,
    C: Clone + Send + Sync + 'static,
    P: Fn(&R, &Work) -> Result<C, ScimError> + Send + Sync + 'static,
    E: Fn(Edit<R, C>) -> F,
    F: Future<Output = Result<Outcome, Failure>>,
{
    let patch = Arc::new(patch);
    let mut known = None;
    for attempts in 0..ATTEMPTS_MAX {
        if work.left() == 0 {
            if attempts > 0 {
                break;
            }
            return Err(ScimError::from(TooMuchWork).into());
        }
        let (attempt, refusal, spent) = attempt(&patch, known.take(), work);
        let result = edit(attempt).await;
        let spent = spent.load(Ordering::Relaxed);
        charge(work, spent);
        if !matches!(result, Err(Failure::Refused(Refusal::EditRefused))) {
            return Ok(result);
        }
        let refused = refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
        let record = match refused {
            Some(Refused::TooLong(record)) => record,
            Some(Refused::Error(error)) => return Err(error.into()),
            None => return Err(Problem::new(ProblemCode::Internal).into()),
        };
        let (patch, left) = (Arc::clone(&patch), work.left());
        let long = move || {
            let work = Work::new(left);
            let change = patch(&record, &work);
            (change, record, left - work.left())
        };
        let (change, record, spent) = app.json.work(usize::MAX, long).await?;
        charge(work, spent);
        known = match change {
            Ok(change) => Some((*record, change)),
            // It was short enough for the record before.
            Err(error) if attempts > 0 && error.scim_type == Some(ScimType::TooMany) => break,
            Err(error) => return Err(error.into()),
        };
    }
    let detail = "the record is changed by other requests all the time; nothing was changed";
    Err(Problem::saying(ProblemCode::Unavailable, detail).into())
}

/// Counts comparisons that were made. Nothing is left if they were more than allowed.
fn charge(work: &Work, spent: u64) {
    let _is_left = work.spend(usize::try_from(spent).unwrap_or(usize::MAX));
}

type Attempt<R, C> = (Edit<R, C>, Arc<Mutex<Option<Refused<R>>>>, Arc<AtomicU64>);

/// An edit that applies a patch if that is short, or gives the known change of a record; and cells
/// for the reason of a refusal and for the number of comparisons.
fn attempt<R, C, P>(patch: &Arc<P>, known: Option<(R, C)>, work: &Work) -> Attempt<R, C>
where
    R: Clone + PartialEq + Send + Sync + 'static,
    C: Clone + Send + Sync + 'static,
    P: Fn(&R, &Work) -> Result<C, ScimError> + Send + Sync + 'static,
{
    let (refusal, spent) = (Arc::new(Mutex::new(None)), Arc::new(AtomicU64::new(0)));
    let (cell, counter) = (Arc::clone(&refusal), Arc::clone(&spent));
    let patch = Arc::clone(patch);
    let most = work.left().min(SHORT_COMPARISONS_MAX);
    let edit = Edit::new(move |record: &R| {
        if let Some((on, change)) = &known
            && on == record
        {
            return Some(change.clone());
        }
        let work = Work::new(most);
        let result = patch(record, &work);
        counter.store(most - work.left(), Ordering::Relaxed);
        let refused = match result {
            Ok(change) => return Some(change),
            Err(error) if error.scim_type == Some(ScimType::TooMany) => {
                Refused::TooLong(Box::new(record.clone()))
            }
            Err(error) => Refused::Error(error),
        };
        *cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
        None
    });
    (edit, refusal, spent)
}
