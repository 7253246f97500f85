//! The webhooks of the oracle.

use roster_core::{
    Answer, Position, Status, StoreError, WebhookStore,
    audit::webhook_event,
    limits::WEBHOOKS_MAX,
    store::Lease,
    webhook::{
        Progress, ServedWebhook, StoredWebhook, WebhookAct, WebhookChange, WebhookDecision,
        WebhookDelivery, WebhookFailure, WebhookId, WebhookRefusal, WebhookStatus, decide_webhook,
    },
};

use super::{Oracle, log::LOG_ID};

impl WebhookStore for Oracle {
    fn list(&self) -> Answer<'_, Result<Vec<StoredWebhook>, StoreError>> {
        Box::pin(async move { Ok(self.state().webhooks.values().cloned().collect()) })
    }

    fn webhook(&self, id: WebhookId) -> Answer<'_, Result<Option<StoredWebhook>, StoreError>> {
        Box::pin(async move { Ok(self.state().webhooks.get(&id).cloned()) })
    }

    fn deliveries(
        &self,
        id: WebhookId,
    ) -> Answer<'_, Result<Option<Vec<WebhookDelivery>>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            let deliveries = || state.webhook_deliveries.get(&id).cloned().unwrap_or_default();
            Ok(state.webhooks.contains_key(&id).then(deliveries))
        })
    }

    fn change(&self, change: WebhookChange) -> Answer<'_, Result<WebhookDecision, WebhookFailure>> {
        Box::pin(async move {
            let id = change.act.id();
            let decision = {
                let mut state = self.state();
                if state.is_deleted && !matches!(change.act, WebhookAct::End(..)) {
                    return Err(WebhookRefusal::TenantNotFound.into());
                }
                let head = Position { log: LOG_ID, number: state.position };
                let decision = decide_webhook(state.webhooks.get(&id), head, &change)?;
                let is_new = matches!(change.act, WebhookAct::Create { .. });
                let count = i64::try_from(state.webhooks.len()).unwrap_or(i64::MAX);
                if is_new && count >= WEBHOOKS_MAX {
                    return Err(WebhookRefusal::TooMany.into());
                }
                if change.is_dry_run {
                    return Ok(decision);
                }
                if let WebhookAct::Delete(_) = change.act {
                    state.webhooks.remove(&id);
                    state.webhook_deliveries.remove(&id);
                } else {
                    state.webhooks.insert(id, decision.stored.clone());
                }
                decision
            };
            if decision.changes {
                let event = webhook_event(&change, &decision.stored.webhook);
                self.shared.append_event(self.tenant, event);
            }
            Ok(decision)
        })
    }

    fn served(&self) -> Answer<'_, Result<Vec<ServedWebhook>, StoreError>> {
        Box::pin(async move {
            let mut served = Vec::new();
            for (tenant, name, status) in self.shared.all_tenants() {
                let state = self.shared.state_of(tenant);
                let state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if status == Status::Active && !state.is_deleted {
                    let active = state.webhooks.values();
                    let active =
                        active.filter(|one| one.webhook.status == WebhookStatus::Active).cloned();
                    let one = |stored| ServedWebhook { tenant, tenant_name: name.clone(), stored };
                    served.extend(active.map(one));
                }
            }
            Ok(served)
        })
    }

    fn save_progress(
        &self,
        id: WebhookId,
        version: i64,
        progress: Progress,
        new: Vec<WebhookDelivery>,
        _lease: Lease,
    ) -> Answer<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let mut state = self.state();
            let stored = state.webhooks.get_mut(&id);
            let stored = stored.filter(|stored| stored.webhook.version == version);
            let is_there = stored.map(|stored| stored.progress = progress).is_some();
            if is_there {
                let deliveries = state.webhook_deliveries.entry(id).or_default();
                new.into_iter().rev().for_each(|one| one.add_to(deliveries));
            }
            Ok(is_there)
        })
    }

    fn take_lease(&self, _holder: [u8; 16]) -> Answer<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async { Ok(Some(Lease { fence: 0 })) })
    }

    fn end_lease(&self, _lease: Lease) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}
