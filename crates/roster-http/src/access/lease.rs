//! The leave of work that runs on after its answer has begun: an import, an export.
//!
//! Its permit is asked for anew with each step, of what its caller presented, so that a step never
//! rests on an older yes than a request would. Between steps, while the work waits for its caller,
//! it is asked for by itself: whoever is shut out is told within a second. It must not know what
//! the work is.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use http::HeaderMap;
use roster_core::access::{Permit, Right};
use tokio::{task::JoinHandle, time::sleep};

use super::{Access, Credential};
use crate::problem::{Problem, ProblemCode};

/// How often the leave is asked for while the work waits. The keys are read every half second
/// while they are used, so that it ends within a second of a revocation by whichever process.
const ASKED_EVERY: Duration = Duration::from_millis(250);

/// The leave to go on, as long as what was presented lets its caller in.
pub(crate) struct Lease<R> {
    access: Arc<Access>,
    credential: Credential<'static>,
    /// Ends with why the leave is over.
    watch: JoinHandle<Problem>,
    right: PhantomData<fn() -> R>,
}

impl<R: Right> Lease<R> {
    /// The leave of whoever sends these headers, who was let in with them already.
    pub(crate) fn new(access: &Arc<Access>, headers: &HeaderMap) -> Result<Self, Problem> {
        let credential = access.credential(headers)?.into_owned();
        let watch = tokio::spawn(over::<R>(Arc::clone(access), credential.clone()));
        Ok(Self { access: Arc::clone(access), credential, watch, right: PhantomData })
    }

    /// The permit for one more step.
    pub(crate) async fn permit(&self) -> Result<Permit<R>, Problem> {
        permit(&self.access, &self.credential).await
    }

    /// Waits until the leave is over; tells why. Dropped before that, nothing is lost.
    pub(crate) async fn over(&mut self) -> Problem {
        let over = (&mut self.watch).await;
        over.unwrap_or_else(|_| Problem::new(ProblemCode::Internal))
    }
}

impl<R> Drop for Lease<R> {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn permit<R: Right>(
    access: &Access,
    credential: &Credential<'_>,
) -> Result<Permit<R>, Problem> {
    Ok(access.admit(credential).await?.permit()?)
}

/// Asks again and again, until the answer is no.
async fn over<R: Right>(access: Arc<Access>, credential: Credential<'static>) -> Problem {
    loop {
        sleep(ASKED_EVERY).await;
        if let Err(problem) = permit::<R>(&access, &credential).await {
            return problem;
        }
    }
}
