//! The permit of work that continues after its response has begun: an import or an export.
//!
//! The work has a place among all imports or exports, and ends if another caller needs it. Each
//! step authenticates the caller's credential again, so that a step never uses an older result than
//! a request would. While the work waits for its client, a background task repeats the check, so
//! the work stops within a second of a revocation. This module does not know what the work is.

use std::{marker::PhantomData, time::Duration};

use http::HeaderMap;
use roster_core::access::{Permit, Right};
use tokio::{task::JoinHandle, time::sleep};

use super::{Access, Credential};
use crate::{
    limits::transfers::Place,
    problem::{Problem, ProblemCode},
};

/// How often the credential is checked while the work waits. The keys are read every half second
/// while they are used, so the work ends within a second of a revocation by any process.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// A credential that is checked repeatedly while work runs, and the place of the work.
pub(crate) struct Lease<R> {
    place: Place,
    access: Access,
    credential: Credential<'static>,
    /// Ends with the reason why the credential is no longer valid.
    watch: JoinHandle<Problem>,
    right: PhantomData<fn() -> R>,
}

impl<R: Right> Lease<R> {
    /// The lease for the credential in these headers, which was accepted for this request.
    pub(crate) fn new(access: &Access, headers: &HeaderMap, place: Place) -> Result<Self, Problem> {
        let credential = access.credential(headers)?.into_owned();
        let watch = tokio::spawn(over::<R>(access.clone(), credential.clone()));
        Ok(Self { place, access: access.clone(), credential, watch, right: PhantomData })
    }

    /// The permit for the next step.
    pub(crate) async fn permit(&self) -> Result<Permit<R>, Problem> {
        permit(&self.access, &self.credential).await
    }

    /// Counts lines that were executed or sent.
    pub(crate) fn progress(&self, lines: usize) {
        self.place.progress(lines);
    }

    /// Waits until the credential is no longer valid or another caller needs the place, and returns
    /// the reason. Cancel-safe.
    pub(crate) async fn over(&mut self) -> Problem {
        tokio::select! {
            biased;
            over = &mut self.watch => {
                over.unwrap_or_else(|_| Problem::new(ProblemCode::Internal))
            }
            problem = self.place.ended() => problem,
        }
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

/// Checks the credential repeatedly until it is rejected.
async fn over<R: Right>(access: Access, credential: Credential<'static>) -> Problem {
    loop {
        sleep(CHECK_INTERVAL).await;
        // Boxed, because the task sleeps nearly always, and many streams are idle.
        if let Err(problem) = Box::pin(permit::<R>(&access, &credential)).await {
            return problem;
        }
    }
}
