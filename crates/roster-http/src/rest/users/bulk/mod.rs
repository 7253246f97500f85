//! Bulk by content negotiation: the collection out and users in, one JSON text a line.
//!
//! Both run on as tasks of their own once their answers have begun. What they hold in memory is
//! bounded whatever the caller does: so many transfers at a time, so many batches and pages in
//! each. Nothing here decides about users.

mod batch;
mod clashes;
mod export;
mod flight;
mod import;
mod import_query;
mod intake;
mod lines;
mod outbox;
mod spill;
mod verdict;

pub(super) use export::export;
pub(super) use import::import;

use std::sync::Arc;

use http::{HeaderValue, header::RETRY_AFTER};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    face::Face,
    pressure::Reason,
    problem::{Problem, ProblemCode},
};

/// Most imports that run at a time.
pub(crate) const IMPORTS_MAX: usize = 8;
/// Most exports that run at a time.
pub(crate) const EXPORTS_MAX: usize = 32;
/// Most batches of all imports together that the store is given at a time: they must not fill the
/// queue that single writes wait in too.
const BATCHES_IN_FLIGHT_MAX: usize = 6;

/// The room that bulk transfers share.
#[derive(Debug)]
pub(crate) struct Bulk {
    imports: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    batches: Arc<Semaphore>,
}

impl Bulk {
    pub(crate) fn new() -> Self {
        let room = |count| Arc::new(Semaphore::new(count));
        Self {
            imports: room(IMPORTS_MAX),
            exports: room(EXPORTS_MAX),
            batches: room(BATCHES_IN_FLIGHT_MAX),
        }
    }
}

/// A place among those that run, or a refusal.
fn place(
    face: &Face,
    among: &Arc<Semaphore>,
    detail: &'static str,
) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(among).try_acquire_owned().map_err(|_| {
        face.pressure.refused(Reason::Overloaded);
        Problem::saying(ProblemCode::Overloaded, detail)
            .with_header(RETRY_AFTER, HeaderValue::from_static("5"))
    })
}
