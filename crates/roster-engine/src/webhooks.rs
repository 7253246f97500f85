//! Webhooks: their table, and their progress. [`decide_webhook`] has the rules.
//!
//! In a column for a time, 0 means that there is none. So does an empty former secret.

use roster_core::{
    Actor, Caller, Json, Position, Preconditions, StoreError, TenantId, TenantName, Timestamp,
    UserId,
    access::AuditView,
    audit::webhook_event,
    json::{self, write_json},
    limits::{WEBHOOKS_MAX, WEBHOOKS_OF_STORE_MAX},
    page::Flow,
    webhook::{
        Progress, ServedWebhook, StoredWebhook, Webhook, WebhookAct, WebhookChange,
        WebhookDecision, WebhookDelivery, WebhookId, WebhookRefusal, WebhookSecret, WebhookSecrets,
        WebhookStatus, decide_webhook,
    },
};

use crate::{
    audit::append,
    database::{Cell, Database, Values, corrupt, first, is_live},
    fork::LOG,
};

/// The columns of a webhook.
macro_rules! select_webhooks {
    ($rest:literal) => {
        concat!(
            "SELECT id, version, status, audit, record, secret, former_secret, former_until, \
             log_id, position, failed_to, attempts, failing_since, failing_ms, next_attempt_at, \
             tenant, (SELECT name FROM tenants WHERE tenants.id = webhooks.tenant) FROM webhooks ",
            $rest
        )
    };
}

/// The webhooks of a tenant.
pub const WEBHOOKS: &str = select_webhooks!("WHERE tenant = $1 ORDER BY tenant, id");

/// The webhook with an id.
pub const WEBHOOK: &str = select_webhooks!("WHERE tenant = $1 AND id = $2");

/// The active webhooks of all tenants.
const ACTIVE_WEBHOOKS: &str = select_webhooks!("WHERE status = 0 ORDER BY tenant, id");

/// The active webhooks of all tenants that are active.
pub const SERVED_WEBHOOKS: &str = select_webhooks!(
    "WHERE status = 0 AND EXISTS (SELECT 1 FROM tenants WHERE tenants.id = webhooks.tenant \
     AND tenants.status = 0 AND tenants.deleted_at IS NULL) ORDER BY tenant, id"
);

/// How many webhooks a tenant has, and how many there are.
pub const COUNT_WEBHOOKS: &str = "SELECT (SELECT count(*) FROM webhooks WHERE tenant = $1), \
     (SELECT count(*) FROM webhooks)";

/// Writes a webhook.
pub const PUT_WEBHOOK: &str = "INSERT INTO webhooks (tenant, id, version, status, audit, record, \
     secret, former_secret, former_until, log_id, position, failed_to, attempts, failing_since, \
     failing_ms, next_attempt_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
     ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, \
     status = excluded.status, audit = excluded.audit, record = excluded.record, \
     secret = excluded.secret, former_secret = excluded.former_secret, \
     former_until = excluded.former_until, log_id = excluded.log_id, \
     position = excluded.position, failed_to = excluded.failed_to, \
     attempts = excluded.attempts, failing_since = excluded.failing_since, \
     failing_ms = excluded.failing_ms, next_attempt_at = excluded.next_attempt_at";

/// Deletes a webhook.
pub const DELETE_WEBHOOK: &str = "DELETE FROM webhooks WHERE tenant = $1 AND id = $2";

/// Stores the progress of a webhook in a version.
pub const SAVE_PROGRESS: &str = "UPDATE webhooks SET log_id = $1, position = $2, failed_to = $3, \
     attempts = $4, failing_since = $5, failing_ms = $6, next_attempt_at = $7, deliveries = $8 \
     WHERE tenant = $9 AND id = $10 AND version = $11";

/// The last deliveries of a webhook.
const DELIVERIES: &str = "SELECT deliveries FROM webhooks WHERE tenant = $1 AND id = $2";

/// The webhooks of a tenant, in the order of creation.
pub async fn webhooks<D: Database>(db: D) -> Result<Vec<StoredWebhook>, D::Error> {
    let found = read(db, WEBHOOKS, &[db.tenant().into()]).await?;
    Ok(found.into_iter().map(|served| served.stored).collect())
}

/// The webhook with this id.
pub async fn webhook<D: Database>(db: D, id: WebhookId) -> Result<Option<StoredWebhook>, D::Error> {
    let found = read(db, WEBHOOK, &[db.tenant().into(), id.0.into()]).await?;
    Ok(found.into_iter().next().map(|served| served.stored))
}

/// The active webhooks of all tenants that are active.
pub async fn served_webhooks<D: Database>(db: D) -> Result<Vec<ServedWebhook>, D::Error> {
    read(db, SERVED_WEBHOOKS, &[]).await
}

async fn read<D: Database>(
    db: D,
    sql: &str,
    parameters: &[Cell],
) -> Result<Vec<ServedWebhook>, D::Error> {
    let mut found = Vec::new();
    let keep = |row: Values| {
        found.push(webhook_of(&row)?);
        Ok(Flow::Next)
    };
    db.each(sql, parameters, keep).await?;
    Ok(found)
}

/// Decides a change of a webhook and applies it with its event, in a transaction that has locked
/// the head of the log.
pub async fn change_webhook<D: Database>(
    db: D,
    change: &WebhookChange,
) -> Result<Result<WebhookDecision, WebhookRefusal>, D::Error> {
    // The tenant may have been deleted meanwhile, and purged after that. Its webhooks still end.
    let ends = matches!(change.act, WebhookAct::End(..));
    if !ends && !db.tenant().is_default() && !is_live(db).await? {
        return Ok(Err(WebhookRefusal::TenantNotFound));
    }
    let id = change.act.id();
    let stored = webhook(db, id).await?;
    let row = first(db, LOG, &[]).await?.ok_or_else(|| corrupt("log_head"))?;
    let head = Position { log: row.log_id(0)?, number: row.number(1, "log_head.position")? };
    let decision = match decide_webhook(stored.as_ref(), head, change) {
        Ok(decision) => decision,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if let WebhookAct::Create { .. } = &change.act {
        let counts = first(db, COUNT_WEBHOOKS, &[db.tenant().into()]).await?;
        let counts = counts.ok_or_else(|| corrupt("webhooks"))?;
        let (own, all) = (counts.number(0, "webhooks")?, counts.number(1, "webhooks")?);
        if own >= WEBHOOKS_MAX || all >= WEBHOOKS_OF_STORE_MAX {
            return Ok(Err(WebhookRefusal::TooMany));
        }
    }
    if change.is_dry_run || !decision.changes {
        return Ok(Ok(decision));
    }
    if let WebhookAct::Delete(_) = &change.act {
        db.execute(DELETE_WEBHOOK, &[db.tenant().into(), id.0.into()]).await?;
    } else {
        db.execute(PUT_WEBHOOK, &row_of(db.tenant(), &decision.stored)).await?;
    }
    append(db, &webhook_event(change, &decision.stored.webhook)).await?;
    Ok(Ok(decision))
}

/// Pauses all active webhooks, also of suspended tenants, because their receivers follow the store
/// that was copied. Runs in a transaction that has locked the head of the log.
pub async fn pause_webhooks<D: Database>(db: D, at: Timestamp) -> Result<(), D::Error> {
    for ServedWebhook { tenant, stored, .. } in read(db, ACTIVE_WEBHOOKS, &[]).await? {
        let change = WebhookChange {
            act: WebhookAct::End(stored.webhook.id, WebhookStatus::Paused),
            preconditions: Preconditions::default(),
            at,
            caller: Caller { actor: Actor::System, request_id: "restore".to_owned() },
            audit: stored.webhook.audit,
            all_tenants: true,
            is_dry_run: false,
        };
        // None was deleted meanwhile.
        change_webhook(db.of(tenant), &change).await?.map_err(|_| corrupt("webhooks"))?;
    }
    Ok(())
}

/// Stores how far the events of a webhook are sent, and its new deliveries, the newest first.
/// Returns false if it has another version now.
pub async fn save_progress<D: Database>(
    db: D,
    id: WebhookId,
    version: i64,
    progress: &Progress,
    new: &[WebhookDelivery],
) -> Result<bool, D::Error> {
    let Some(mut deliveries) = deliveries(db, id).await? else { return Ok(false) };
    for one in new.iter().rev() {
        one.clone().add_to(&mut deliveries);
    }
    let mut text = Vec::new();
    let trees = deliveries.iter().map(WebhookDelivery::to_json);
    write_json(&mut text, &Json::Array(trees.collect()));
    let mut row = progress_row(progress).to_vec();
    row.push(String::from_utf8_lossy(&text).as_ref().into());
    row.extend([db.tenant().into(), id.0.into(), version.into()]);
    Ok(db.execute(SAVE_PROGRESS, &row).await? > 0)
}

/// The last deliveries of a webhook, the newest first. `None` if there is no such webhook.
pub async fn deliveries<D: Database>(
    db: D,
    id: WebhookId,
) -> Result<Option<Vec<WebhookDelivery>>, D::Error> {
    let row = first(db, DELIVERIES, &[db.tenant().into(), id.0.into()]).await?;
    let Some(row) = row else { return Ok(None) };
    let damaged = || corrupt("webhooks.deliveries");
    let tree = json::read(row.text(0, "webhooks.deliveries")?.as_bytes());
    let Ok(Json::Array(trees)) = tree else { return Err(damaged().into()) };
    let deliveries = trees.iter().map(WebhookDelivery::from_json).collect::<Option<Vec<_>>>();
    Ok(Some(deliveries.ok_or_else(damaged)?))
}

fn webhook_of(row: &Values) -> Result<ServedWebhook, StoreError> {
    let place = "webhooks";
    let moment = |index| -> Result<Option<Timestamp>, StoreError> {
        Ok(Some(row.moment(index, place)?).filter(|moment| moment.as_millis() != 0))
    };
    let secret = |index| -> Result<Option<WebhookSecret>, StoreError> {
        Ok((&row.bytes(index, place)?[..]).try_into().ok().map(WebhookSecret))
    };
    let damaged = || corrupt("webhooks.record");
    let record = json::read(row.bytes(4, place)?).map_err(|_| damaged())?;
    let status = WebhookStatus::of_number(row.number(2, place)?).ok_or_else(damaged)?;
    let audit = AuditView::of_number(row.number(3, place)?).ok_or_else(damaged)?;
    let id = WebhookId(row.id(0, place)?);
    let webhook = Webhook::from_record(id, row.number(1, place)?, status, audit, &record);
    let former = secret(6)?.zip(moment(7)?);
    Ok(ServedWebhook {
        tenant: row.tenant(15, place)?,
        tenant_name: match row.0.get(16) {
            Some(Cell::Null) | None => None,
            Some(_) => TenantName::parse(row.text(16, place)?),
        },
        stored: StoredWebhook {
            webhook: webhook.ok_or_else(damaged)?,
            secrets: WebhookSecrets { newest: secret(5)?.ok_or_else(damaged)?, former },
            progress: Progress {
                position: Position { log: row.log_id(8)?, number: row.number(9, place)? },
                failed_to: row.number(10, place)?,
                attempts: row.number(11, place)?,
                failing_since: moment(12)?,
                failing_ms: row.number(13, place)?,
                next_attempt_at: moment(14)?,
            },
        },
    })
}

fn row_of(tenant: TenantId, stored: &StoredWebhook) -> Vec<Cell> {
    let StoredWebhook { webhook, secrets, progress } = stored;
    let mut record = Vec::with_capacity(512);
    write_json(&mut record, &Json::Object(webhook.record()));
    let (former, until) = match &secrets.former {
        Some((former, until)) => (&former.0[..], until.as_millis()),
        None => (&[][..], 0),
    };
    let mut row = vec![
        tenant.into(),
        UserId::into(webhook.id.0),
        webhook.version.into(),
        webhook.status.number().into(),
        webhook.audit.number().into(),
        String::from_utf8_lossy(&record).as_ref().into(),
        secrets.newest.0.as_slice().into(),
        former.into(),
        until.into(),
    ];
    row.extend(progress_row(progress));
    row
}

fn progress_row(progress: &Progress) -> [Cell; 7] {
    let millis = |moment: Option<Timestamp>| Cell::from(moment.map_or(0, Timestamp::as_millis));
    [
        progress.position.log.0.as_slice().into(),
        progress.position.number.into(),
        progress.failed_to.into(),
        progress.attempts.into(),
        millis(progress.failing_since),
        progress.failing_ms.into(),
        millis(progress.next_attempt_at),
    ]
}
