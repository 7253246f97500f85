//! The webhooks of the wrapped store. What only the sender uses does not fail.

use roster_core::{
    Answer, StoreError, WebhookStore,
    store::Lease,
    webhook::{
        Progress, ServedWebhook, StoredWebhook, WebhookChange, WebhookDecision, WebhookDelivery,
        WebhookFailure, WebhookId,
    },
};

use super::Watched;

impl WebhookStore for Watched {
    fn list(&self) -> Answer<'_, Result<Vec<StoredWebhook>, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.webhooks().list().await
        })
    }

    fn webhook(&self, id: WebhookId) -> Answer<'_, Result<Option<StoredWebhook>, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.webhooks().webhook(id).await
        })
    }

    fn deliveries(
        &self,
        id: WebhookId,
    ) -> Answer<'_, Result<Option<Vec<WebhookDelivery>>, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.webhooks().deliveries(id).await
        })
    }

    fn change(&self, change: WebhookChange) -> Answer<'_, Result<WebhookDecision, WebhookFailure>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.webhooks().change(change).await
        })
    }

    fn served(&self) -> Answer<'_, Result<Vec<ServedWebhook>, StoreError>> {
        self.inner.webhooks().served()
    }

    fn save_progress(
        &self,
        id: WebhookId,
        version: i64,
        progress: Progress,
        new: Vec<WebhookDelivery>,
        lease: Lease,
    ) -> Answer<'_, Result<bool, StoreError>> {
        self.inner.webhooks().save_progress(id, version, progress, new, lease)
    }

    fn take_lease(&self, holder: [u8; 16]) -> Answer<'_, Result<Option<Lease>, StoreError>> {
        self.inner.webhooks().take_lease(holder)
    }

    fn end_lease(&self, lease: Lease) -> Answer<'_, Result<(), StoreError>> {
        self.inner.webhooks().end_lease(lease)
    }
}
