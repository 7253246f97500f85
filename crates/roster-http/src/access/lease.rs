//! The permit of work that continues after its response has begun: an import or an export.
//!
//! Each step authenticates the caller's credential again, so that a step never uses an older result
//! than a request would. While the work waits for its client, a background task repeats the check,
//! so the work stops within a second of a revocation. This module does not know what the work is.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use http::HeaderMap;
use roster_core::access::{Permit, Right};
use tokio::{task::JoinHandle, time::sleep};

use super::{Access, Credential};
use crate::problem::{Problem, ProblemCode};

/// How often the credential is checked while the work waits. The keys are read every half second
/// while they are used, so the work ends within a second of a revocation by any process.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// A credential that is checked repeatedly while work runs.
pub(crate) struct Lease<R> {
    access: Arc<Access>,
    credential: Credential<'static>,
    /// Ends with the reason why the credential is no longer valid.
    watch: JoinHandle<Problem>,
    right: PhantomData<fn() -> R>,
}

impl<R: Right> Lease<R> {
    /// The lease for the credential in these headers, which was accepted for this request.
    pub(crate) fn new(access: &Arc<Access>, headers: &HeaderMap) -> Result<Self, Problem> {
        let credential = access.credential(headers)?.into_owned();
        let watch = tokio::spawn(over::<R>(Arc::clone(access), credential.clone()));
        Ok(Self { access: Arc::clone(access), credential, watch, right: PhantomData })
    }

    /// The permit for the next step.
    pub(crate) async fn permit(&self) -> Result<Permit<R>, Problem> {
        permit(&self.access, &self.credential).await
    }

    /// Waits until the credential is no longer valid, and returns the reason. Cancel-safe.
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

/// Checks the credential repeatedly until it is rejected.
async fn over<R: Right>(access: Arc<Access>, credential: Credential<'static>) -> Problem {
    loop {
        sleep(CHECK_INTERVAL).await;
        if let Err(problem) = permit::<R>(&access, &credential).await {
            return problem;
        }
    }
}
