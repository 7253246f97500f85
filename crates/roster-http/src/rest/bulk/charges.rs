//! Charges the lines of an import to the rate limit of its caller.
//!
//! An import that reaches the rate limit waits instead of failing, because its client could send
//! the remaining lines only in a new stream.

use std::{net::IpAddr, pin::Pin, sync::Arc};

use roster_core::Actor;
use roster_server::limits::RateLimiter;
use tokio::time::{Sleep, sleep};

use crate::{limits::admission::identity, state::AppState};

/// The charges of one import.
pub(super) struct LineCharges {
    limiter: Option<Arc<RateLimiter>>,
    actor: Actor,
    address: IpAddr,
    /// Whether the next line is already charged: the request itself was charged for the first line.
    paid: bool,
    /// The wait for the next allowance.
    wait: Option<Pin<Box<Sleep>>>,
}

impl LineCharges {
    pub(super) fn new(app: &AppState, actor: Actor, address: IpAddr) -> Self {
        Self { limiter: app.admission.rate_limiter.clone(), actor, address, paid: true, wait: None }
    }

    /// Charges a line. Returns false if the import has to wait.
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

    /// Waits until a line may be charged again. Cancel-safe.
    pub(super) async fn wait(&mut self) {
        if let Some(wait) = &mut self.wait {
            wait.as_mut().await;
        }
        self.wait = None;
    }

    /// Stops charging.
    pub(super) fn stop(&mut self) {
        self.wait = None;
    }
}
