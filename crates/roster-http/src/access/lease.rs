//! The permit of work that continues after its response has begun: an import, an export, a stream.
//!
//! The work has a place among all work of its kind, and ends if another caller needs it. Each step
//! authenticates the caller's credential again, so that a step never uses an older result than a
//! request would. One task checks the credentials of all such work while it waits for its clients,
//! so the work stops within a second of a revocation, and a thousand idle streams cost little. This
//! module does not know what the work is.

use std::{
    marker::PhantomData,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use http::HeaderMap;
use roster_core::{
    Timestamp,
    access::{Authority, Permit, Right},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout_at},
};

use super::{Access, Credential, session_ended};
use crate::{limits::transfers::Place, problem::Problem};

/// How often the credentials are checked. The keys are read every half second while they are used,
/// so work ends within a second of a revocation by any process.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How long the checks of one turn wait for the store or an issuer. Nearly always one of them waits
/// for all, or none does.
const CHECK_PATIENCE: Duration = Duration::from_millis(50);

/// A credential that is checked repeatedly while work runs, and the place of the work.
pub(crate) struct Lease<R> {
    place: Place,
    holder: Arc<Holder>,
    right: PhantomData<fn() -> R>,
}

/// Who holds a lease, for the task that checks it.
struct Holder {
    access: Access,
    credential: Credential<'static>,
    /// When the session ends whose credential it is, if it is renewed until then.
    session_end: Option<Timestamp>,
    /// Whether it has the scopes of the work.
    suffices: fn(&Authority) -> bool,
    /// The last check failed or was not finished, so the work must check itself.
    doubt: Notify,
}

/// The credentials that are checked by a task, which runs while there are any.
#[derive(Clone, Default)]
pub(super) struct Leases(Arc<Mutex<Vec<Weak<Holder>>>>);

impl<R: Right> Lease<R> {
    /// The lease for the credential in these headers, which was accepted for this request, and for
    /// the session that has it.
    pub(crate) fn new(
        access: &Access,
        headers: &HeaderMap,
        session_end: Option<Timestamp>,
        place: Place,
    ) -> Result<Self, Problem> {
        let holder = Arc::new(Holder {
            access: access.clone(),
            credential: access.credential(headers)?.into_owned(),
            session_end,
            suffices: |authority| authority.permit::<R>().is_ok(),
            doubt: Notify::new(),
        });
        access.shared.leases.add(&holder);
        Ok(Self { place, holder, right: PhantomData })
    }

    /// The permit for the next step.
    pub(crate) async fn permit(&self) -> Result<Permit<R>, Problem> {
        Ok(self.holder.admit().await?.permit()?)
    }

    /// Counts lines that were executed or sent.
    pub(crate) fn progress(&self, lines: usize) {
        self.place.progress(lines);
    }

    /// Waits until the credential is no longer valid or another caller needs the place, and returns
    /// the reason.
    pub(crate) async fn over(&self) -> Problem {
        loop {
            tokio::select! {
                biased;
                problem = self.place.ended() => return problem,
                () = self.holder.doubt.notified() => {}
            }
            // Boxed, because the work nearly always waits, and many streams are idle.
            if let Err(problem) = Box::pin(self.permit()).await {
                return problem;
            }
        }
    }
}

impl Holder {
    /// The caller, if it may still call.
    async fn admit(&self) -> Result<Authority, Problem> {
        let now = self.access.shared.directory.now();
        if self.session_end.is_some_and(|end| end <= now) {
            return Err(session_ended());
        }
        self.access.admit(&self.credential).await
    }
}

impl Leases {
    fn add(&self, holder: &Arc<Holder>) {
        let mut leases = self.lock();
        leases.push(Arc::downgrade(holder));
        if leases.len() == 1 {
            tokio::spawn(self.clone().watch());
        }
    }

    async fn watch(self) {
        loop {
            sleep(CHECK_INTERVAL).await;
            let running: Vec<_> = {
                let mut leases = self.lock();
                leases.retain(|lease| lease.strong_count() > 0);
                if leases.is_empty() {
                    mem::take(&mut *leases);
                    return;
                }
                leases.iter().filter_map(Weak::upgrade).collect()
            };
            let deadline = Instant::now() + CHECK_PATIENCE;
            for holder in running {
                match timeout_at(deadline, holder.admit()).await {
                    Ok(Ok(authority)) if (holder.suffices)(&authority) => {}
                    _ => holder.doubt.notify_one(),
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Holder>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
