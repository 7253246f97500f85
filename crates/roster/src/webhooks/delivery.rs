//! The task of one webhook: it reads the log after the webhook's position, and sends one request at
//! a time until it is received.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use http::StatusCode;
use roster_core::{
    Directory, EventsPage, EventsQuery, Preconditions, StoreError, Tags, Timestamp,
    access::{Authority, Permit},
    store::Lease,
    webhook::{
        Attempt, Progress, ServedWebhook, WebhookAct, WebhookChange, WebhookDelivery,
        WebhookFailure, WebhookStatus,
    },
};
use roster_http::{Sent, WebhookContent, WebhookLag};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, sleep_until, timeout_at},
};

use super::{
    SenderSettings,
    shared_reads::{SharedReads, Wanted},
};

/// The approximate size of a request. A larger event is sent alone.
const CONTENT_BYTES: usize = 1024 * 1024;

/// How long a webhook with batches waits at most after one that was not full, so that many writes
/// are few requests.
const GATHER: Duration = Duration::from_millis(200);

/// How often the progress of requests that succeed is stored.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// The part of the time for which events are kept after which an event that was not received will
/// soon be deleted.
const LATE: f64 = 0.9;

/// How often a webhook without new events moves its position, so that no events that are not its
/// own make it stale.
const IDLE: Duration = Duration::from_mins(10);

/// The longest part of a pause between attempts.
const PAUSE_PART: Duration = Duration::from_secs(5);

/// The pause after an error of the store.
const PAUSE: Duration = Duration::from_secs(2);

/// The places for requests that run at a time. Requests that have failed before have their own, so
/// that receivers that do not answer delay only each other.
#[derive(Clone)]
pub(super) struct Places {
    first_attempts: Arc<Semaphore>,
    others: Arc<Semaphore>,
}

impl Places {
    /// So many for first attempts, and half as many for others.
    pub(super) fn new(count: usize) -> Self {
        let semaphore = |count| Arc::new(Semaphore::new(count));
        Self { first_attempts: semaphore(count), others: semaphore(count / 2) }
    }

    /// Waits for a place. The semaphores are never closed.
    async fn take(&self, attempts: i64) -> Option<OwnedSemaphorePermit> {
        let places = if attempts == 0 { &self.first_attempts } else { &self.others };
        Arc::clone(places).acquire_owned().await.ok()
    }
}

/// What the tasks share.
pub(super) struct Shared {
    pub(super) directory: Directory,
    pub(super) settings: SenderSettings,
    pub(super) lease: Lease,
    pub(super) requests: Places,
    pub(super) reads: SharedReads<WebhookContent>,
    pub(super) began: Instant,
    /// When the lease ends, with a margin.
    pub(super) end: watch::Sender<Instant>,
    pub(super) stop: watch::Receiver<bool>,
}

impl Shared {
    /// Whether another process may send by now.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= *self.end.borrow()
    }

    /// Sends until this moment, unless it is over. Then tasks may have ended.
    pub(super) fn go_on(&self, until: Instant) -> bool {
        self.end.send_if_modified(|end| {
            let is_over = Instant::now() >= *end;
            if !is_over {
                *end = until;
            }
            !is_over
        })
    }

    /// The next moment at which webhooks read that have received everything.
    fn next_moment(&self) -> Instant {
        let since = Instant::now().duration_since(self.began).as_nanos() % GATHER.as_nanos();
        let since = u64::try_from(since).unwrap_or_default();
        Instant::now() + GATHER.saturating_sub(Duration::from_nanos(since))
    }
}

/// The task of a webhook.
pub(super) struct Delivery {
    shared: Arc<Shared>,
    /// The directory of its tenant.
    directory: Option<Directory>,
    served: ServedWebhook,
    /// The places for requests of its tenant.
    places: Places,
    wake: Arc<Notify>,
    /// The progress that is stored.
    saved: Progress,
    /// Those that are not stored.
    deliveries: Vec<WebhookDelivery>,
    save_at: Instant,
    /// When the next request may be sent.
    send_at: Instant,
    lag: Arc<WebhookLag>,
    /// Whether its oldest event will soon be deleted.
    is_late: bool,
}

/// What a task does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Looks for events at once.
    Look,
    /// Waits for events.
    Wait,
    /// Ends, because the webhook was changed, or another process sends.
    End,
}

impl Delivery {
    pub(super) fn new(
        shared: Arc<Shared>,
        served: ServedWebhook,
        places: Places,
        wake: Arc<Notify>,
        lag: Arc<WebhookLag>,
    ) -> Self {
        let (saved, now) = (served.stored.progress, Instant::now());
        // Until the log is read: when its request first failed, or this moment.
        let since = served.stored.progress.failing_since;
        lag.begin(since.unwrap_or_else(|| shared.directory.now()));
        let (directory, deliveries, is_late) = Default::default();
        Self {
            shared,
            directory,
            served,
            places,
            wake,
            saved,
            deliveries,
            save_at: now,
            send_at: now,
            lag,
            is_late,
        }
    }

    pub(super) async fn run(mut self) {
        let mut stop = self.shared.stop.clone();
        let mut idle_until = Instant::now() + IDLE;
        loop {
            let until = if self.deliveries.is_empty() { idle_until } else { self.save_at };
            let work = async {
                match self.step().await {
                    Ok(Next::Wait) => {}
                    next => return next,
                }
                if timeout_at(until, self.wake.notified()).await.is_ok() {
                    return Ok(Next::Look);
                }
                idle_until = Instant::now() + IDLE;
                self.save().await
            };
            let next = tokio::select! {
                biased;
                _ = stop.wait_for(|is_stopped| *is_stopped) => break,
                next = work => next,
            };
            match next {
                Ok(Next::End) => return,
                Ok(Next::Look | Next::Wait) => {}
                Err(error) => {
                    self.note(&error);
                    sleep(PAUSE).await;
                }
            }
        }
        if let Err(error) = self.save().await {
            self.note(&error);
        }
    }

    /// Looks for the next events, and sends them.
    async fn step(&mut self) -> Result<Next, StoreError> {
        let directory = self.directory().await?;
        let progress = self.served.stored.progress;
        // In parts, because the clock may be set right meanwhile.
        while let left @ 1.. = progress.pause_ms(directory.now()) {
            sleep(Duration::from_millis(left).min(PAUSE_PART)).await;
        }
        sleep_until(self.send_at).await;
        // Taken before the read, so that the memory of all pages is bounded.
        let attempts = progress.attempts;
        let places =
            async { (self.places.take(attempts).await, self.shared.requests.take(attempts).await) };
        let _places = if self.deliveries.is_empty() {
            places.await
        } else {
            match timeout_at(self.save_at, places).await {
                Ok(places) => places,
                Err(_) => return self.save().await,
            }
        };
        let Some(content) = self.read(&directory, progress).await? else {
            return self.end(&directory, WebhookStatus::Stale).await;
        };
        let page = &content.page;
        self.measure_lag(page, directory.now());
        let reached = page.position(page.reached);
        let Some((last, _)) = page.events.last() else {
            self.served.stored.progress = Progress::at(reached);
            return Ok(if page.reached < page.head { Next::Look } else { Next::Wait });
        };
        if self.shared.is_over() {
            return Ok(Next::End);
        }
        let client = &self.shared.settings.client;
        let sent = client.send_events(&self.served, &content, directory.now()).await;
        let Sent { delivery, retry_after_ms } = sent;
        let (is_received, result) = (delivery.is_received(), delivery.result.clone());
        delivery.add_to(&mut self.deliveries);
        if is_received {
            self.served.stored.progress = Progress::at(reached);
            self.lag.set(None);
            let batch_max = self.served.stored.webhook.batch_max;
            if batch_max > 1 && page.events.len() < batch_max && page.reached >= page.head {
                self.send_at = self.shared.next_moment();
            }
            return if Instant::now() < self.save_at { Ok(Next::Look) } else { self.save().await };
        }
        if progress.attempts == 0 {
            let (webhook, why) = (self.served.stored.webhook.id, result.as_ref().err());
            let status = result.as_ref().ok();
            tracing::info!(%webhook, status, why, "a request to a webhook failed");
        }
        let random = i64::try_from(random() % 1000).unwrap_or_default();
        let attempt = Attempt { last: *last, at: directory.now(), retry_after_ms, random };
        self.served.stored.progress = progress.failed(attempt);
        // With 410 the receiver wants no more requests.
        let is_gone = result == Ok(StatusCode::GONE.as_u16());
        if is_gone || self.served.stored.progress.is_hopeless() {
            return self.end(&directory, WebhookStatus::Parked).await;
        }
        self.save().await
    }

    /// Measures the age of its oldest event, and warns before the event is deleted.
    fn measure_lag(&mut self, page: &EventsPage, now: Timestamp) {
        let oldest = page.events.first().map(|(_, event)| event.at);
        self.lag.set(oldest);
        let age = oldest.map_or(0, |oldest| now.as_millis().saturating_sub(oldest.as_millis()));
        let age = Duration::from_millis(u64::try_from(age).unwrap_or_default());
        let keep = self.shared.settings.events_keep;
        let is_late = keep.is_some_and(|keep| age > keep.mul_f64(LATE));
        if is_late && !self.is_late {
            let webhook = self.served.stored.webhook.id;
            tracing::warn!(%webhook, "events that a webhook has not received will soon be deleted");
        }
        self.is_late = is_late;
    }

    /// The directory of its tenant.
    async fn directory(&mut self) -> Result<Directory, StoreError> {
        if let Some(directory) = &self.directory {
            return Ok(directory.clone());
        }
        let directory = self.shared.directory.of_tenant(self.served.tenant).await?;
        self.directory = Some(directory.clone());
        Ok(directory)
    }

    /// The next events; those of the request that failed, if one did. `None` if events after its
    /// position are no longer in the log.
    async fn read(
        &self,
        directory: &Directory,
        progress: Progress,
    ) -> Result<Option<Arc<WebhookContent>>, StoreError> {
        let (webhook, start) = (&self.served.stored.webhook, progress.position);
        let (audit, payload) = (webhook.audit, webhook.payload);
        let next = webhook.events(start.number, webhook.batch_max);
        let query = EventsQuery { bytes_max: CONTENT_BYTES, ..next };
        let wanted = Wanted { tenant: self.served.tenant, audit, query: query.clone(), payload };
        let read = async {
            let mut page = directory.events(Permit::of_the_service(), audit, query).await?;
            if progress.failed_to > 0 {
                let same =
                    page.events.iter().take_while(|(number, _)| *number <= progress.failed_to);
                let same = same.count();
                if same < page.events.len() {
                    page.events.truncate(same);
                    page.tenants.truncate(same);
                    page.reached = progress.failed_to;
                }
            }
            Ok(self.shared.settings.client.content(&self.served, page))
        };
        let content = if progress.failed_to > 0 {
            Arc::new(read.await?)
        } else {
            self.shared.reads.share(wanted, WebhookContent::bytes, read).await?
        };
        let page = &content.page;
        let is_known = page.log == start.log || directory.has_former(start).await?;
        if !is_known || start.number < page.oldest - 1 || start.number > page.head {
            return Ok(None);
        }
        Ok(Some(content))
    }

    /// Sends nothing more, until a caller changes the webhook.
    async fn end(
        &mut self,
        directory: &Directory,
        status: WebhookStatus,
    ) -> Result<Next, StoreError> {
        if self.save().await? == Next::End {
            return Ok(Next::End);
        }
        let webhook = &self.served.stored.webhook;
        let (id, status_name) = (webhook.id, status.as_str());
        // What a receiver said is not said of a webhook that has another URL since.
        let if_match = Some(Tags::Versions(vec![webhook.version]));
        let change = WebhookChange {
            act: WebhookAct::End(id, status),
            preconditions: Preconditions { if_match, if_none_match: None },
            at: directory.now(),
            caller: Authority::of_the_service().caller("webhooks"),
            audit: webhook.audit,
            all_tenants: true,
            is_dry_run: false,
        };
        // Its own event ends this task, so the change and its count are in another.
        let (directory, shared) = (directory.clone(), Arc::clone(&self.shared));
        let ending = async move {
            match directory.change_webhook(Permit::of_the_service(), change).await {
                Ok(_) => {
                    shared.settings.client.metrics().ended(status);
                    tracing::warn!(webhook = %id, status = status_name, "a webhook has ended");
                    Ok(())
                }
                // It was changed or deleted meanwhile.
                Err(WebhookFailure::Refused(_)) => Ok(()),
                Err(WebhookFailure::Store(error)) => Err(error),
            }
        };
        tokio::spawn(ending).await.unwrap_or(Ok(()))?;
        Ok(Next::End)
    }

    /// Stores the progress, if it has changed.
    async fn save(&mut self) -> Result<Next, StoreError> {
        let progress = self.served.stored.progress;
        if progress != self.saved || !self.deliveries.is_empty() {
            let directory = self.directory().await?;
            let webhook = &self.served.stored.webhook;
            let (id, version) = (webhook.id, webhook.version);
            let new = self.deliveries.clone();
            let lease = self.shared.lease;
            if !directory.save_webhook_progress(id, version, progress, new, lease).await? {
                return Ok(Next::End);
            }
            self.saved = progress;
            self.deliveries.clear();
        }
        self.save_at = Instant::now() + SAVE_INTERVAL;
        Ok(Next::Look)
    }

    fn note(&self, error: &StoreError) {
        let (webhook, error) = (self.served.stored.webhook.id, error.with_causes());
        tracing::warn!(%webhook, error, "a webhook cannot be served");
    }
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn repeated_attempts_take_no_place_of_first_ones() {
        let places = Places::new(4);
        let now = |attempts| places.take(attempts).now_or_never();
        let repeated = [now(1), now(7)];
        assert!(repeated.iter().all(Option::is_some) && now(1).is_none());
        let first = [now(0), now(0), now(0), now(0)];
        assert!(first.iter().all(Option::is_some) && now(0).is_none());
        drop(repeated);
        assert!(now(1).is_some() && now(0).is_none());
    }
}
