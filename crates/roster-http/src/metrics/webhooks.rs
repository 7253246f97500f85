//! The metrics of webhooks.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use roster_core::{
    Timestamp,
    webhook::{ServedWebhook, WebhookStatus},
};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfResult {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfStatus {
    status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfWebhook {
    tenant: String,
    webhook: String,
}

/// The measurements of webhooks.
#[derive(Debug)]
pub struct WebhookMetrics {
    attempts: Family<OfResult, Counter>,
    ended: Family<OfStatus, Counter>,
    lag: Family<OfWebhook, Gauge>,
    served: Arc<Mutex<Served>>,
}

/// The webhooks that are served, each with the time of its oldest event that was not received.
#[derive(Debug, Default)]
struct Served {
    by_number: HashMap<u64, (OfWebhook, Option<Timestamp>)>,
    next_number: u64,
}

/// The lag of a webhook as long as it is served.
#[derive(Debug)]
pub struct WebhookLag {
    number: u64,
    served: Arc<Mutex<Served>>,
}

impl WebhookLag {
    /// Sets when an event may have been written that was not received, unless one is known.
    pub fn begin(&self, at: Timestamp) {
        if let Some((_, since)) = lock(&self.served).by_number.get_mut(&self.number) {
            since.get_or_insert(at);
        }
    }

    /// Sets when the oldest event was written that was not received; `None` if all were.
    pub fn set(&self, oldest: Option<Timestamp>) {
        if let Some((_, since)) = lock(&self.served).by_number.get_mut(&self.number) {
            *since = oldest;
        }
    }
}

impl Drop for WebhookLag {
    fn drop(&mut self) {
        lock(&self.served).by_number.remove(&self.number);
    }
}

fn lock(served: &Mutex<Served>) -> MutexGuard<'_, Served> {
    served.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for WebhookMetrics {
    fn default() -> Self {
        let (attempts, ended) = (Family::default(), Family::default());
        for result in ["received", "failed"] {
            drop(attempts.get_or_create(&OfResult { result }));
        }
        for status in [WebhookStatus::Parked, WebhookStatus::Stale] {
            drop(ended.get_or_create(&OfStatus { status: status.as_str() }));
        }
        Self { attempts, ended, lag: Family::default(), served: Arc::default() }
    }
}

impl WebhookMetrics {
    /// Counts a request.
    pub(crate) fn sent(&self, is_received: bool) {
        let result = if is_received { "received" } else { "failed" };
        self.attempts.get_or_create(&OfResult { result }).inc();
    }

    /// Counts a webhook to which nothing more is sent.
    pub fn ended(&self, status: WebhookStatus) {
        self.ended.get_or_create(&OfStatus { status: status.as_str() }).inc();
    }

    /// The lag of a webhook that is served from now on.
    pub fn lag_of(&self, served: &ServedWebhook) -> WebhookLag {
        let tenant = served.tenant_name.as_ref().map(ToString::to_string).unwrap_or_default();
        let of = OfWebhook { tenant, webhook: served.stored.webhook.id.to_string() };
        let mut all = lock(&self.served);
        let number = all.next_number;
        all.next_number += 1;
        all.by_number.insert(number, (of, None));
        WebhookLag { number, served: Arc::clone(&self.served) }
    }

    /// Sets the lags of all webhooks that are served.
    pub(crate) fn set_lags(&self, now: Timestamp) {
        self.lag.clear();
        for (of, since) in lock(&self.served).by_number.values() {
            let lag = since.map_or(0, |since| now.as_millis().saturating_sub(since.as_millis()));
            // A task that ends may be there beside the one after it.
            let gauge = self.lag.get_or_create(of);
            gauge.set(gauge.get().max(lag / 1000));
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let attempts = "Requests to webhooks, by whether their events were received";
        registry.register("webhook_attempts", attempts, self.attempts.clone());
        let ended = "Webhooks to which nothing more is sent, by their status";
        registry.register("webhooks_ended", ended, self.ended.clone());
        let lag = "Age of the oldest event that an active webhook has not received";
        registry.register_with_unit("webhook_lag", lag, Unit::Seconds, self.lag.clone());
    }
}
