//! Bulk by content negotiation: the collection out and users in, one JSON text a line.
//!
//! Both run on as tasks of their own once their answers have begun. What they hold in memory is
//! bounded whatever the caller does: so many transfers at a time, so many batches and pages in
//! each. Nothing here decides about users.

mod batch;
mod charges;
mod clashes;
mod export;
mod flight;
mod import;
mod import_query;
mod intake;
mod lines;
mod outbox;
mod places;
mod spill;
mod verdict;

pub(super) use export::export;
pub(super) use import::import;

use std::sync::Arc;

use http::{HeaderValue, header::RETRY_AFTER};
use places::{NoPlace, Place, Places};
use tokio::sync::Semaphore;

use crate::{
    face::Face,
    pressure::{Identity, Reason},
    problem::{Problem, ProblemCode},
};

/// Most imports that run at a time.
pub(crate) const IMPORTS_MAX: usize = 8;
/// Most imports of one caller that run at a time.
pub(crate) const IMPORTS_PER_CALLER_MAX: usize = 2;
/// Most exports that run at a time.
pub(crate) const EXPORTS_MAX: usize = 32;
/// Most exports of one caller that run at a time.
pub(crate) const EXPORTS_PER_CALLER_MAX: usize = 8;
/// Most batches of all imports together that the store is given at a time: they must not fill the
/// queue that single writes wait in too.
const BATCHES_IN_FLIGHT_MAX: usize = 6;

/// The room that bulk transfers share.
#[derive(Debug)]
pub(crate) struct Bulk {
    imports: Places,
    exports: Places,
    batches: Arc<Semaphore>,
}

impl Bulk {
    pub(crate) fn new() -> Self {
        Self {
            imports: Places::new(IMPORTS_MAX, IMPORTS_PER_CALLER_MAX),
            exports: Places::new(EXPORTS_MAX, EXPORTS_PER_CALLER_MAX),
            batches: Arc::new(Semaphore::new(BATCHES_IN_FLIGHT_MAX)),
        }
    }
}

/// A place among the transfers that run, or a refusal; `what` names them.
fn place(
    face: &Face,
    caller: &Identity<'_>,
    places: &Places,
    what: &'static str,
) -> Result<Place, Problem> {
    places.take(caller).map_err(|no_place| {
        let (reason, code, detail) = match no_place {
            NoPlace::OfCaller => {
                let detail = format!("too many {what} of this caller are running; try again later");
                (Reason::RateLimited, ProblemCode::RateLimited, detail)
            }
            NoPlace::AtAll => {
                let detail = format!("too many {what} are running; try again later");
                (Reason::Overloaded, ProblemCode::Overloaded, detail)
            }
        };
        face.pressure.refused(reason);
        Problem::saying(code, detail).with_header(RETRY_AFTER, HeaderValue::from_static("5"))
    })
}
