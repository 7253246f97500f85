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

/// The webhooks that are served, each with the number of its newest task and the time of its oldest
/// event that was not received.
#[derive(Debug, Default)]
struct Served {
    by_webhook: HashMap<OfWebhook, (u64, Option<Timestamp>)>,
    tasks: u64,
}

/// The lag of a webhook as long as a task serves it. Once a newer task does, it has no effect.
#[derive(Debug)]
pub struct WebhookLag {
    of: OfWebhook,
    task: u64,
    lag: Family<OfWebhook, Gauge>,
    served: Arc<Mutex<Served>>,
}

impl WebhookLag {
    /// Sets when an event may have been written that was not received, unless one is known.
    pub fn begin(&self, at: Timestamp) {
        self.change(|since| *since = since.or(Some(at)));
    }

    /// Sets when the oldest event was written that was not received; `None` if all were.
    pub fn set(&self, oldest: Option<Timestamp>) {
        self.change(|since| *since = oldest);
    }

    fn change(&self, change: impl FnOnce(&mut Option<Timestamp>)) {
        match lock(&self.served).by_webhook.get_mut(&self.of) {
            Some((task, since)) if *task == self.task => change(since),
            Some(_) | None => {}
        }
    }
}

impl Drop for WebhookLag {
    fn drop(&mut self) {
        let mut served = lock(&self.served);
        if served.by_webhook.get(&self.of).is_some_and(|(task, _)| *task == self.task) {
            served.by_webhook.remove(&self.of);
            self.lag.remove(&self.of);
        }
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
        self.lag_of_label(OfWebhook { tenant, webhook: served.stored.webhook.id.to_string() })
    }

    fn lag_of_label(&self, of: OfWebhook) -> WebhookLag {
        let mut served = lock(&self.served);
        served.tasks += 1;
        let task = served.tasks;
        served.by_webhook.insert(of.clone(), (task, None));
        WebhookLag { of, task, lag: self.lag.clone(), served: Arc::clone(&self.served) }
    }

    /// Sets the lags of all webhooks that are served.
    pub(crate) fn set_lags(&self, now: Timestamp) {
        for (of, (_, since)) in &lock(&self.served).by_webhook {
            let lag = since.map_or(0, |since| now.as_millis().saturating_sub(since.as_millis()));
            self.lag.get_or_create(of).set(lag / 1000);
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

#[cfg(test)]
mod tests {
    use std::thread;

    use prometheus_client::encoding::text::encode;

    use super::*;

    fn of(webhook: &str) -> OfWebhook {
        OfWebhook { tenant: "acme".to_owned(), webhook: webhook.to_owned() }
    }

    fn page(metrics: &WebhookMetrics, registry: &Registry, now: i64) -> String {
        metrics.set_lags(Timestamp::from_millis(now));
        let mut page = String::new();
        encode(&mut page, registry).expect("a page");
        page
    }

    fn registered() -> (WebhookMetrics, Registry) {
        let (metrics, mut registry) = (WebhookMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        (metrics, registry)
    }

    #[test]
    fn the_lag_is_that_of_the_newest_task_and_ends_with_it() {
        let (metrics, registry) = registered();
        let lag = |now| {
            let page = page(&metrics, &registry, now);
            let line = page.lines().find(|line| line.starts_with("webhook_lag_seconds{"));
            line.map(|line| line.rsplit_once(' ').expect("a value").1.to_owned())
        };
        let first = metrics.lag_of_label(of("x"));
        first.begin(Timestamp::from_millis(1000));
        first.begin(Timestamp::from_millis(5000));
        assert_eq!(lag(9000).as_deref(), Some("8"), "the older one counts");
        let second = metrics.lag_of_label(of("x"));
        second.set(Some(Timestamp::from_millis(7000)));
        first.set(None);
        drop(first);
        assert_eq!(lag(9000).as_deref(), Some("2"));
        second.set(None);
        assert_eq!(lag(9000).as_deref(), Some("0"));
        drop(second);
        assert_eq!(lag(9000), None);
    }

    #[test]
    fn pages_that_are_read_at_the_same_time_have_each_webhook() {
        let (metrics, registry) = registered();
        let _lags: Vec<_> = (0..50).map(|n| metrics.lag_of_label(of(&n.to_string()))).collect();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let page = page(&metrics, &registry, 1000);
                        assert_eq!(page.matches("webhook_lag_seconds{").count(), 50);
                    }
                });
            }
        });
    }
}
