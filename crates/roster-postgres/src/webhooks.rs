//! Webhooks, and the lease of the process that sends to them.

use std::sync::Arc;

use roster_core::{
    Answer, StoreError, WebhookStore,
    store::{LEASE_MS, Lease},
    webhook::{
        Progress, ServedWebhook, StoredWebhook, WebhookChange, WebhookDecision, WebhookDelivery,
        WebhookFailure, WebhookId,
    },
};
use roster_engine::{
    change_webhook, deliveries, first, save_progress, served_webhooks, webhook, webhooks,
};

use crate::{
    connection::{BEGIN_AT_HEAD, Connection},
    pool::{LONG, SHORT},
    postgres::Postgres,
    reads::rows::Rows,
};

/// Takes the lease, or renews it, by the clock of the database. Its fence rises with each other
/// holder.
pub(crate) const TAKE_LEASE: &str = "INSERT INTO leases AS held (name, owner, until, fence) \
     VALUES ('webhooks', $1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2, 1) \
     ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until, \
     fence = held.fence + (CASE WHEN held.owner = excluded.owner THEN 0 ELSE 1 END) \
     WHERE held.owner = excluded.owner \
     OR held.until < (extract(epoch FROM clock_timestamp()) * 1000)::bigint RETURNING fence";

/// Ends the lease. The fence stays.
pub(crate) const END_LEASE: &str =
    "UPDATE leases SET until = 0, owner = '' WHERE name = 'webhooks' AND fence = $1";

/// Whether the lease is still this one. Locks it, so that nobody takes it before the commit.
pub(crate) const HOLD_LEASE: &str =
    "SELECT 1 FROM leases WHERE name = 'webhooks' AND fence = $1 FOR SHARE";

impl WebhookStore for Postgres {
    fn list(&self) -> Answer<'_, Result<Vec<StoredWebhook>, StoreError>> {
        let tenant = self.tenant;
        Box::pin(self.shared.run(move |c| async move { webhooks(Rows(&c, tenant)).await }))
    }

    fn webhook(&self, id: WebhookId) -> Answer<'_, Result<Option<StoredWebhook>, StoreError>> {
        let tenant = self.tenant;
        Box::pin(self.shared.run(move |c| async move { webhook(Rows(&c, tenant), id).await }))
    }

    fn deliveries(
        &self,
        id: WebhookId,
    ) -> Answer<'_, Result<Option<Vec<WebhookDelivery>>, StoreError>> {
        let tenant = self.tenant;
        Box::pin(self.shared.run(move |c| async move { deliveries(Rows(&c, tenant), id).await }))
    }

    fn change(&self, change: WebhookChange) -> Answer<'_, Result<WebhookDecision, WebhookFailure>> {
        let tenant = self.tenant;
        Box::pin(async move {
            let write = |c: Arc<Connection>| {
                let change = change.clone();
                async move {
                    let work = change_webhook(Rows(&c, tenant), &change);
                    c.transaction(BEGIN_AT_HEAD, work).await
                }
            };
            Ok(self.exclusive.run(SHORT, write).await??)
        })
    }

    fn served(&self) -> Answer<'_, Result<Vec<ServedWebhook>, StoreError>> {
        let read = |c: Arc<_>| async move { served_webhooks(Rows::of_store(&c)).await };
        Box::pin(self.exclusive.run(LONG, read))
    }

    fn save_progress(
        &self,
        id: WebhookId,
        version: i64,
        progress: Progress,
        new: Vec<WebhookDelivery>,
        lease: Lease,
    ) -> Answer<'_, Result<bool, StoreError>> {
        let tenant = self.tenant;
        let new: Arc<[_]> = new.into();
        let write = move |c: Arc<Connection>| {
            let new = Arc::clone(&new);
            async move {
                let work = async {
                    let rows = Rows(&c, tenant);
                    if first(rows, HOLD_LEASE, &[lease.fence.into()]).await?.is_none() {
                        return Ok(false);
                    }
                    save_progress(rows, id, version, &progress, &new).await
                };
                c.transaction("BEGIN", work).await
            }
        };
        Box::pin(self.exclusive.run(SHORT, write))
    }

    fn take_lease(&self, holder: [u8; 16]) -> Answer<'_, Result<Option<Lease>, StoreError>> {
        let take = move |c: Arc<_>| async move {
            let parameters = [holder.as_slice().into(), LEASE_MS.into()];
            let row = first(Rows::of_store(&c), TAKE_LEASE, &parameters).await?;
            Ok(row.map(|row| row.number(0, "leases")).transpose()?.map(|fence| Lease { fence }))
        };
        Box::pin(self.exclusive.run(SHORT, take))
    }

    fn end_lease(&self, lease: Lease) -> Answer<'_, Result<(), StoreError>> {
        let end = move |c: Arc<_>| async move {
            roster_engine::Database::execute(Rows::of_store(&c), END_LEASE, &[lease.fence.into()])
                .await
                .map(drop)
        };
        Box::pin(self.exclusive.run(SHORT, end))
    }
}
