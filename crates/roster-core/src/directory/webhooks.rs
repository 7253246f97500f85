//! The webhooks of a tenant.

use super::Directory;
use crate::{
    access::{Permit, RunWebhooks},
    failure::StoreError,
    read::events::EventsQuery,
    store::Lease,
    webhook::{
        Progress, SECRET_BYTES, ServedWebhook, StoredWebhook, WebhookChange, WebhookDecision,
        WebhookDelivery, WebhookFailure, WebhookId, WebhookSecret,
    },
};

/// How many events are examined for one of a webhook's own, when a caller looks at it.
const LAG_EXAMINED_MAX: usize = 1000;

impl Directory {
    /// All webhooks, in the order of creation.
    pub async fn list_webhooks(
        &self,
        _may: Permit<RunWebhooks>,
    ) -> Result<Vec<StoredWebhook>, StoreError> {
        self.store.webhooks().list().await
    }

    /// The webhook with this id.
    pub async fn get_webhook(
        &self,
        _may: Permit<RunWebhooks>,
        id: WebhookId,
    ) -> Result<Option<StoredWebhook>, StoreError> {
        self.store.webhooks().webhook(id).await
    }

    /// How many positions the log has after that of a webhook; 0 if none of the next 1,000 events,
    /// up to the end of the log, is one of its own.
    pub async fn webhook_lag(&self, stored: &StoredWebhook) -> Result<i64, StoreError> {
        let (webhook, position) = (&stored.webhook, stored.progress.position.number);
        let next = EventsQuery { examined_max: LAG_EXAMINED_MAX, ..webhook.events(position, 1) };
        let page = self.events(Permit::of_the_service(), webhook.audit, next).await?;
        let has_all = page.events.is_empty() && page.reached >= page.head;
        Ok(if has_all { 0 } else { (page.head - position).max(0) })
    }

    /// The last deliveries of a webhook, the newest first. `None` if there is no such webhook.
    pub async fn list_webhook_deliveries(
        &self,
        _may: Permit<RunWebhooks>,
        id: WebhookId,
    ) -> Result<Option<Vec<WebhookDelivery>>, StoreError> {
        self.store.webhooks().deliveries(id).await
    }

    /// Creates or changes a webhook, and returns whether anything changed.
    pub async fn change_webhook(
        &self,
        _may: Permit<RunWebhooks>,
        change: WebhookChange,
    ) -> Result<WebhookDecision, WebhookFailure> {
        self.store.webhooks().change(change).await
    }

    /// The active webhooks of all active tenants, for the process that sends.
    pub async fn served_webhooks(&self) -> Result<Vec<ServedWebhook>, StoreError> {
        self.store.webhooks().served().await
    }

    /// Stores how far the events of a webhook are sent, and its new deliveries, the newest first.
    /// Returns false, and stores nothing, if it has another version now, or if another process
    /// sends.
    pub async fn save_webhook_progress(
        &self,
        id: WebhookId,
        version: i64,
        progress: Progress,
        new: Vec<WebhookDelivery>,
        lease: Lease,
    ) -> Result<bool, StoreError> {
        self.store.webhooks().save_progress(id, version, progress, new, lease).await
    }

    /// Lets this process send to webhooks for a time, if no other one does.
    pub async fn take_webhook_lease(&self, holder: [u8; 16]) -> Result<Option<Lease>, StoreError> {
        self.store.webhooks().take_lease(holder).await
    }

    /// Ends the lease, so that another process may send at once.
    pub async fn end_webhook_lease(&self, lease: Lease) -> Result<(), StoreError> {
        self.store.webhooks().end_lease(lease).await
    }

    /// A new id of a webhook.
    pub fn new_webhook_id(&self) -> WebhookId {
        WebhookId(self.clock.new_id())
    }

    /// A new secret of a webhook.
    pub fn new_webhook_secret(&self) -> Result<WebhookSecret, StoreError> {
        let mut bytes = [0; SECRET_BYTES];
        let is_filled = self.clock.fill(&mut bytes);
        let missing = || StoreError::Internal("the system returned no random bytes".into());
        is_filled.then_some(WebhookSecret(bytes)).ok_or_else(missing)
    }
}
