//! Webhooks. The only process that serves the store always sends.

use roster_core::{
    Answer, StoreError, WebhookStore,
    store::Lease,
    webhook::{
        Progress, ServedWebhook, StoredWebhook, WebhookChange, WebhookDecision, WebhookDelivery,
        WebhookFailure, WebhookId,
    },
};
use roster_engine::{
    change_webhook, deliveries, save_progress, served_webhooks, webhook, webhooks,
};

use crate::{
    engine::ready,
    reads::rows::{Rows, run},
    sqlite::Sqlite,
};

impl WebhookStore for Sqlite {
    fn list(&self) -> Answer<'_, Result<Vec<StoredWebhook>, StoreError>> {
        ready(self.read_now(|rows| run(webhooks(rows))))
    }

    fn webhook(&self, id: WebhookId) -> Answer<'_, Result<Option<StoredWebhook>, StoreError>> {
        ready(self.read_now(|rows| run(webhook(rows, id))))
    }

    fn deliveries(
        &self,
        id: WebhookId,
    ) -> Answer<'_, Result<Option<Vec<WebhookDelivery>>, StoreError>> {
        ready(self.read_now(|rows| run(deliveries(rows, id))))
    }

    fn change(&self, change: WebhookChange) -> Answer<'_, Result<WebhookDecision, WebhookFailure>> {
        let tenant = self.tenant;
        Box::pin(async move {
            let change =
                move |connection: &_| run(change_webhook(Rows(connection, tenant), &change));
            Ok(self.write(change).await??)
        })
    }

    fn served(&self) -> Answer<'_, Result<Vec<ServedWebhook>, StoreError>> {
        ready(self.read_now(|rows| run(served_webhooks(rows))))
    }

    fn save_progress(
        &self,
        id: WebhookId,
        version: i64,
        progress: Progress,
        new: Vec<WebhookDelivery>,
        _lease: Lease,
    ) -> Answer<'_, Result<bool, StoreError>> {
        let tenant = self.tenant;
        let save = move |connection: &_| {
            run(save_progress(Rows(connection, tenant), id, version, &progress, &new))
        };
        Box::pin(self.write(save))
    }

    fn take_lease(&self, _holder: [u8; 16]) -> Answer<'_, Result<Option<Lease>, StoreError>> {
        ready(Ok(Some(Lease { fence: 0 })))
    }

    fn end_lease(&self, _lease: Lease) -> Answer<'_, Result<(), StoreError>> {
        ready(Ok(()))
    }
}
