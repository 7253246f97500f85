//! Charging the lines of an import to the rate limit of its caller.
//!
//! An import that has used up its caller's allowance waits for more of it instead of failing: its
//! lines have no other way to be sent again than as a new stream.

use std::{net::IpAddr, pin::Pin, sync::Arc};

use roster_core::Actor;
use tokio::time::{Sleep, sleep};

use crate::{admission::RateLimiter, authorization::identity, state::AppState};

/// What the lines of one import are charged to.
pub(super) struct LineCharges {
    limiter: Option<Arc<RateLimiter>>,
    actor: Actor,
    address: IpAddr,
    /// Whether the next line is paid for: the request itself pays for the first.
    paid: bool,
    /// Until more is granted.
    wait: Option<Pin<Box<Sleep>>>,
}

impl LineCharges {
    pub(super) fn new(app: &AppState, actor: Actor, address: IpAddr) -> Self {
        Self { limiter: app.admission.rate_limiter.clone(), actor, address, paid: true, wait: None }
    }

    /// Charges a line; if that is one too many, the import has to wait.
    pub(super) fn charge(&mut self) -> bool {
        let Some(limiter) = &self.limiter else { return true };
        if std::mem::take(&mut self.paid) {
            return true;
        }
        match limiter.try_charge(&identity(&self.actor, self.address)) {
            Ok(()) => true,
            Err(wait) => {
                self.wait = Some(Box::pin(sleep(wait)));
                false
            }
        }
    }

    /// Whether the import has to wait.
    pub(super) const fn is_waiting(&self) -> bool {
        self.wait.is_some()
    }

    /// Waits until a line may be charged again. Dropped before it is done, nothing is lost.
    pub(super) async fn wait(&mut self) {
        if let Some(wait) = &mut self.wait {
            wait.as_mut().await;
        }
        self.wait = None;
    }

    /// No line is charged any more.
    pub(super) fn stop(&mut self) {
        self.wait = None;
    }
}
