//! Sends the events of the log to webhooks.
//!
//! One process of a store sends, the one that has the lease. A task for each active webhook reads
//! the log after its position, and sends one request at a time ([`Delivery`]). Another one reads
//! the log of all tenants, and wakes those whose tenant has new events. Nothing is queued.

mod delivery;
mod shared_reads;

use std::{collections::HashMap, sync::Arc, time::Duration};

use roster_core::{
    Directory, EventKinds, EventsQuery, LogId, StoreError, TenantId,
    access::{AuditView, Permit},
    store::{LEASE_MS, Lease},
    webhook::{ServedWebhook, WebhookId},
};
use roster_http::{WebhookClient, WebhookLag};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

use delivery::{Delivery, Places, Shared};
use shared_reads::SharedReads;

/// How many first attempts run at a time, with half as many others; those of one tenant, so that
/// its receivers delay no other's.
const REQUESTS_MAX: usize = 64;
const REQUESTS_PER_TENANT_MAX: usize = 8;

/// How often the lease is renewed, and how long before its end nothing more is sent.
const RENEWAL: Duration = Duration::from_secs(10);
const MARGIN: Duration = Duration::from_secs(10);

/// The pause before the lease is tried again, and after an error of the store.
const PAUSE: Duration = Duration::from_secs(2);

/// The longest time between two looks at the log.
const TICK: Duration = Duration::from_secs(1);

/// The shortest time between two looks, so that many commits are one look.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// How many events the task that wakes the others reads at a time.
const LOOK_EVENTS: usize = 1000;

/// What a sender needs to know.
#[derive(Clone)]
pub(crate) struct SenderSettings {
    /// What sends the requests.
    pub(crate) client: Arc<WebhookClient>,
    /// How long an event is kept. `None` means forever.
    pub(crate) events_keep: Option<Duration>,
}

/// Sends to webhooks until it is stopped.
struct Sender {
    directory: Directory,
    settings: SenderSettings,
    holder: [u8; 16],
    stop: watch::Receiver<bool>,
}

/// A running sender.
pub(crate) struct RunningSender {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RunningSender {
    /// Starts to send.
    pub(crate) fn start(directory: Directory, settings: SenderSettings) -> Self {
        let (stop, stopped) = watch::channel(false);
        let sender = Sender {
            holder: *directory.new_webhook_id().0.as_bytes(),
            directory,
            settings,
            stop: stopped,
        };
        Self { stop, task: tokio::spawn(sender.run()) }
    }

    /// Ends after the progress of all webhooks is stored. A request that is on its way is aborted,
    /// and sent again by the next process.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        drop(self.task.await);
    }
}

/// A task of a webhook.
struct Task {
    version: i64,
    all_tenants: bool,
    wake: Arc<Notify>,
    lag: Arc<WebhookLag>,
    handle: JoinHandle<()>,
}

impl Sender {
    async fn run(mut self) {
        let mut is_needed = false;
        while !*self.stop.borrow() {
            if let Err(error) = self.serve_if_needed(&mut is_needed).await {
                note(&error);
            }
            tokio::select! {
                () = sleep(TICK) => {}
                _ = self.stop.changed() => {}
            }
        }
    }

    /// Sends, if there are webhooks and no other process does. Without webhooks nothing is written,
    /// and while another process sends, only the lease is read.
    async fn serve_if_needed(&mut self, is_needed: &mut bool) -> Result<(), StoreError> {
        if !*is_needed {
            *is_needed = !self.directory.served_webhooks().await?.is_empty();
        }
        if *is_needed {
            let began = Instant::now();
            if let Some(lease) = self.directory.take_webhook_lease(self.holder).await? {
                self.serve(lease, began).await;
                *is_needed = false;
            }
        }
        Ok(())
    }

    /// Sends as long as the lease is renewed.
    async fn serve(&mut self, lease: Lease, began: Instant) {
        let most = Duration::from_millis(LEASE_MS.unsigned_abs()).saturating_sub(MARGIN);
        let end = began + most;
        let mut renewal = began + RENEWAL;
        let shared = Arc::new(Shared {
            directory: self.directory.clone(),
            settings: self.settings.clone(),
            lease,
            requests: Places::new(REQUESTS_MAX),
            reads: SharedReads::default(),
            began,
            end: watch::Sender::new(end),
            stop: self.stop.clone(),
        });
        let mut tasks = Tasks { shared, by_id: HashMap::new(), of_tenants: HashMap::new() };
        let mut position = None;
        loop {
            let next_look = Instant::now() + LOOK_PAUSE;
            // The process may have been suspended.
            if tasks.shared.is_over() {
                break;
            }
            match self.look(&mut tasks, &mut position).await {
                Ok(()) => {}
                Err(error) => {
                    note(&error);
                    sleep(PAUSE).await;
                }
            }
            if Instant::now() >= renewal {
                let began = Instant::now();
                match self.directory.take_webhook_lease(self.holder).await {
                    Ok(Some(renewed)) if renewed == lease && tasks.shared.go_on(began + most) => {
                        renewal = began + RENEWAL;
                    }
                    Ok(_) => break,
                    Err(error) => note(&error),
                }
            }
            // Without webhooks, commits need not be followed.
            let is_idle = position.is_some() && tasks.by_id.is_empty();
            if is_idle || *self.stop.borrow() {
                tasks.finish().await;
                if let Err(error) = self.directory.end_webhook_lease(lease).await {
                    note(&error);
                }
                return;
            }
            tokio::select! {
                _ = self.stop.changed() => {}
                () = sleep(TICK) => {}
                () = self.directory.log_grown(position.map_or(0, |(_, number)| number)) => {
                    sleep_until(next_look).await;
                }
            }
        }
        tracing::warn!(
            "the lease to send to webhooks was lost: it is taken again if no other process has it"
        );
        tasks.abort();
    }

    /// Reads what is new in the log, and wakes the webhooks of the tenants that have new events.
    /// Reads the webhooks first, and again if one of them or a tenant was changed, or if another
    /// log continues this one: the last changes may be lost.
    async fn look(
        &self,
        tasks: &mut Tasks,
        position: &mut Option<(LogId, i64)>,
    ) -> Result<(), StoreError> {
        let log = self.directory.log_id();
        let Some((_, after)) = position.as_mut().filter(|(known, _)| *known == log) else {
            // The webhooks are read after this position, so no change of them is missed.
            let head = self.directory.head().await?.position;
            tasks.renew(self.directory.served_webhooks().await?);
            tasks.wake_all();
            *position = Some((log, head));
            return Ok(());
        };
        loop {
            let query = EventsQuery {
                all_tenants: true,
                kinds: EventKinds::ALL,
                ..EventsQuery::after(*after, LOOK_EVENTS)
            };
            let may = Permit::of_the_service();
            let page = self.directory.events(may, AuditView::Everything, query).await?;
            let changes = page.events.iter().any(|(_, event)| {
                let kind = event.kind.as_str();
                kind.starts_with("webhook.") || kind.starts_with("tenant.")
            });
            if changes {
                tasks.renew(self.directory.served_webhooks().await?);
            }
            for (tenant, _) in &page.tenants {
                tasks.wake(*tenant);
            }
            let is_end = page.reached >= page.head || page.reached <= *after;
            *after = page.reached;
            if is_end {
                return Ok(());
            }
        }
    }
}

/// The tasks of all active webhooks.
struct Tasks {
    shared: Arc<Shared>,
    by_id: HashMap<(TenantId, WebhookId), Task>,
    of_tenants: HashMap<TenantId, Places>,
}

impl Tasks {
    /// Starts tasks of new and changed webhooks, and ends those of others.
    fn renew(&mut self, served: Vec<ServedWebhook>) {
        let mut kept = HashMap::with_capacity(served.len());
        for one in served {
            let key = (one.tenant, one.stored.webhook.id);
            let version = one.stored.webhook.version;
            match self.by_id.remove(&key) {
                Some(task) if task.version == version && !task.handle.is_finished() => {
                    kept.insert(key, task);
                }
                other => {
                    if let Some(task) = other {
                        task.handle.abort();
                    }
                    kept.insert(key, self.start(one));
                }
            }
        }
        for task in self.by_id.values() {
            task.handle.abort();
        }
        self.by_id = kept;
    }

    fn start(&mut self, served: ServedWebhook) -> Task {
        let of_tenant = self.of_tenants.entry(served.tenant);
        let places = of_tenant.or_insert_with(|| Places::new(REQUESTS_PER_TENANT_MAX));
        let (wake, version) = (Arc::new(Notify::new()), served.stored.webhook.version);
        let all_tenants = served.stored.webhook.all_tenants;
        let lag = Arc::new(self.shared.settings.client.metrics().lag_of(&served));
        let (shared, places) = (Arc::clone(&self.shared), places.clone());
        let delivery = Delivery::new(shared, served, places, Arc::clone(&wake), Arc::clone(&lag));
        Task { version, all_tenants, wake, lag, handle: tokio::spawn(delivery.run()) }
    }

    /// Wakes the webhooks that have events of a tenant.
    fn wake(&self, tenant: TenantId) {
        let now = self.shared.directory.now();
        for ((of, _), task) in &self.by_id {
            if *of == tenant || task.all_tenants {
                // The event may have to wait for a place.
                task.lag.begin(now);
                task.wake.notify_one();
            }
        }
    }

    /// Wakes all webhooks.
    fn wake_all(&self) {
        self.by_id.values().for_each(|task| task.wake.notify_one());
    }

    /// Waits until all have stored their progress.
    async fn finish(self) {
        for task in self.by_id.into_values() {
            drop(task.handle.await);
        }
    }

    fn abort(self) {
        for task in self.by_id.into_values() {
            task.handle.abort();
        }
    }
}

fn note(error: &StoreError) {
    let error = error.with_causes();
    tracing::warn!(error, "webhooks cannot be served");
}
