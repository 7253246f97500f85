//! The task of one webhook: it reads the log after the webhook's position, and sends one request at
//! a time until it is received.

use std::{
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use http::{StatusCode, header::RETRY_AFTER};
use ipnet::IpNet;
use roster_core::{
    Directory, EventsPage, EventsQuery, Preconditions, StoreError, Timestamp,
    access::{Authority, Permit},
    store::Lease,
    webhook::{
        Attempt, Progress, ServedWebhook, WebhookAct, WebhookChange, WebhookFailure, WebhookStatus,
    },
};
use roster_outbound::{Answer, Client, Limits, Target, is_admitted};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, timeout_at},
};

use super::content::request;

const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    whole: Duration::from_secs(15),
    body_bytes: None,
    traffic_bytes: 16 * 1024,
};

/// The approximate size of a request. A larger event is sent alone.
const CONTENT_BYTES: usize = 1024 * 1024;

/// How often the progress of requests that succeed is stored.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// How often a webhook without new events moves its position, so that no events that are not its
/// own make it stale.
const IDLE: Duration = Duration::from_mins(10);

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
    pub(super) client: Client,
    pub(super) networks: Arc<[IpNet]>,
    pub(super) base_url: Arc<str>,
    pub(super) lease: Lease,
    pub(super) requests: Places,
    pub(super) stop: watch::Receiver<bool>,
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
    /// Whether events were received that the stored progress does not show.
    is_unsaved: bool,
    save_at: Instant,
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

/// What became of a request.
enum Outcome {
    Received,
    /// The receiver wants no more requests.
    Gone,
    Failed {
        why: String,
        retry_after_ms: Option<i64>,
    },
}

impl Delivery {
    pub(super) fn new(
        shared: Arc<Shared>,
        served: ServedWebhook,
        places: Places,
        wake: Arc<Notify>,
    ) -> Self {
        let (saved, save_at) = (served.stored.progress, Instant::now());
        Self { shared, directory: None, served, places, wake, saved, is_unsaved: false, save_at }
    }

    pub(super) async fn run(mut self) {
        let mut stop = self.shared.stop.clone();
        let mut idle_until = Instant::now() + IDLE;
        loop {
            let until = if self.is_unsaved { self.save_at } else { idle_until };
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
        if let Some(due) = progress.next_attempt_at {
            let left = due.as_millis() - directory.now().as_millis();
            sleep(Duration::from_millis(u64::try_from(left).unwrap_or_default())).await;
        }
        // Taken before the read, so that the memory of all pages is bounded.
        let _of_tenant = self.places.take(progress.attempts).await;
        let _of_all = self.shared.requests.take(progress.attempts).await;
        let Some(page) = self.read(&directory, progress).await? else {
            return self.end(&directory, WebhookStatus::Stale).await;
        };
        let reached = page.position(page.reached);
        let Some((last, _)) = page.events.last() else {
            self.served.stored.progress = Progress::at(reached);
            return Ok(if page.reached < page.head { Next::Look } else { Next::Wait });
        };
        match self.send(&page, directory.now()).await {
            Outcome::Received => {
                self.served.stored.progress = Progress::at(reached);
                self.is_unsaved = true;
                if Instant::now() < self.save_at { Ok(Next::Look) } else { self.save().await }
            }
            Outcome::Gone => self.end(&directory, WebhookStatus::Parked).await,
            Outcome::Failed { why, retry_after_ms } => {
                if progress.attempts == 0 {
                    let webhook = self.served.stored.webhook.id;
                    tracing::info!(%webhook, why, "a request to a webhook failed");
                }
                let at = directory.now();
                let random = i64::try_from(random() % 1000).unwrap_or_default();
                let attempt = Attempt { last: *last, at, retry_after_ms, random };
                self.served.stored.progress = progress.failed(attempt);
                if self.served.stored.progress.is_hopeless() {
                    return self.end(&directory, WebhookStatus::Parked).await;
                }
                self.save().await
            }
        }
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
    ) -> Result<Option<EventsPage>, StoreError> {
        let (webhook, start) = (&self.served.stored.webhook, progress.position);
        let query = EventsQuery {
            kinds: webhook.types.kinds(),
            all_tenants: webhook.all_tenants,
            bytes_max: CONTENT_BYTES,
            ..EventsQuery::after(start.number, webhook.batch_max)
        };
        let mut page = directory.events(Permit::of_the_service(), webhook.audit, query).await?;
        let is_known = page.log == start.log || directory.has_former(start).await?;
        if !is_known || start.number < page.oldest - 1 || start.number > page.head {
            return Ok(None);
        }
        if progress.failed_to > 0 {
            let same = page.events.iter().take_while(|(number, _)| *number <= progress.failed_to);
            let same = same.count();
            if same < page.events.len() {
                page.events.truncate(same);
                page.tenants.truncate(same);
                page.reached = progress.failed_to;
            }
        }
        Ok(Some(page))
    }

    async fn send(&self, page: &EventsPage, now: Timestamp) -> Outcome {
        let (stored, url) = (&self.served.stored, &self.served.stored.webhook.url);
        let tenant = self.served.tenant_name.as_ref().filter(|_| !stored.webhook.all_tenants);
        let base_url = match tenant {
            Some(name) => format!("{}/tenants/{name}", self.shared.base_url),
            None => self.shared.base_url.to_string(),
        };
        let failed = |why: String| Outcome::Failed { why, retry_after_ms: None };
        let request = match request(stored, page, &base_url, tenant, now) {
            Ok(request) => request,
            Err(error) => return failed(error.to_string()),
        };
        let target = Target {
            is_secure: url.is_secure(),
            host: url.host(),
            port: url.port(),
            authority: url.authority(),
        };
        let networks = &self.shared.networks;
        let admits = |address: IpAddr| {
            let is_listed = networks.iter().any(|network| network.contains(&address));
            is_admitted(networks, address) && (url.is_secure() || is_listed)
        };
        match self.shared.client.send(&target, request, LIMITS, admits).await {
            Ok(answer) => outcome(&answer),
            Err(fault) => failed(fault.to_string()),
        }
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
        let change = WebhookChange {
            act: WebhookAct::End(id, status),
            preconditions: Preconditions::default(),
            at: directory.now(),
            caller: Authority::of_the_service().caller("webhooks"),
            audit: webhook.audit,
            is_dry_run: false,
        };
        match directory.change_webhook(Permit::of_the_service(), change).await {
            Ok(_) => tracing::warn!(webhook = %id, status = status_name, "a webhook has ended"),
            // It was deleted meanwhile.
            Err(WebhookFailure::Refused(_)) => {}
            Err(WebhookFailure::Store(error)) => return Err(error),
        }
        Ok(Next::End)
    }

    /// Stores the progress, if it has changed.
    async fn save(&mut self) -> Result<Next, StoreError> {
        let progress = self.served.stored.progress;
        if progress != self.saved {
            let directory = self.directory().await?;
            let webhook = &self.served.stored.webhook;
            let (id, version) = (webhook.id, webhook.version);
            let save = directory.save_webhook_progress(id, version, progress, self.shared.lease);
            if !save.await? {
                return Ok(Next::End);
            }
            self.saved = progress;
        }
        (self.is_unsaved, self.save_at) = (false, Instant::now() + SAVE_INTERVAL);
        Ok(Next::Look)
    }

    fn note(&self, error: &StoreError) {
        let (webhook, error) = (self.served.stored.webhook.id, error.with_causes());
        tracing::warn!(%webhook, error, "a webhook cannot be served");
    }
}

/// What a response means: only a status of 2xx that the events were received.
fn outcome(answer: &Answer) -> Outcome {
    if answer.status.is_success() {
        return Outcome::Received;
    }
    if answer.status == StatusCode::GONE {
        return Outcome::Gone;
    }
    let seconds = answer.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|one| one.is_ascii_digit());
    // A number that is too large is one above the limit.
    let seconds = seconds.filter(is_number).map(|text| text.parse().unwrap_or(i64::MAX));
    let retry_after_ms = seconds.map(|seconds| seconds.saturating_mul(1000));
    Outcome::Failed { why: format!("status {}", answer.status.as_u16()), retry_after_ms }
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use http::{HeaderMap, HeaderValue};

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

    #[test]
    fn a_response_of_2xx_alone_is_a_receipt() {
        for (status, retry_after, expected) in [
            (200, None, "received"),
            (204, None, "received"),
            (299, None, "received"),
            (301, None, "None"),
            (410, None, "gone"),
            (429, Some("8"), "Some(8000)"),
            (503, Some("99999999999999999999"), "Some(9223372036854775807)"),
            (503, Some("-1"), "None"),
            (503, Some(""), "None"),
            (503, Some("Wed, 21 Oct 2026 07:28:00 GMT"), "None"),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(value) = retry_after {
                headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
            }
            let status = StatusCode::from_u16(status).unwrap();
            let found = match outcome(&Answer { status, headers, body: Bytes::new() }) {
                Outcome::Received => "received".to_owned(),
                Outcome::Gone => "gone".to_owned(),
                Outcome::Failed { retry_after_ms, .. } => format!("{retry_after_ms:?}"),
            };
            assert_eq!(found, expected, "{status} {retry_after:?}");
        }
    }
}
