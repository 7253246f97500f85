//! Appending events of changes that are no commands, and the settings of the last start.

use std::collections::BTreeMap;

use roster_core::{
    Actor, Caller, Event, TenantId, Timestamp,
    audit::{policy_event, settings_event},
    event::changed_text,
    store::StartSettings,
};

use crate::{
    database::{Database, corrupt, first},
    settings::{setting, whole_policy},
};

const NEXT: &str = "UPDATE log_head SET position = position + 1 WHERE number = 1";

const POSITION: &str = "SELECT position FROM log_head WHERE number = 1";

const APPEND: &str = "INSERT INTO events (position, tenant, kind, at, actor, request_id, \
     subject_id, version, changed, record) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

/// The name of the setting with the settings of the last start.
const START_SETTINGS: &str = "start_settings";

/// Writes a setting of a tenant.
const PUT_SETTING: &str = "INSERT INTO settings (tenant, name, value) VALUES ($1, $2, $3) \
     ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value";

/// Appends an event to the log of a tenant, in a transaction that has locked the head of the log.
pub(crate) async fn append<D: Database>(db: D, event: &Event) -> Result<(), D::Error> {
    db.execute(NEXT, &[]).await?;
    let head = first(db, POSITION, &[]).await?.ok_or_else(|| corrupt("log_head"))?;
    append_at(db, head.number(0, "log_head.position")?, event).await
}

/// Adds an event at a position, to which the caller moves the head of the log.
pub(crate) async fn append_at<D: Database>(
    db: D,
    position: i64,
    event: &Event,
) -> Result<(), D::Error> {
    let Event { kind, at, actor, request_id, user_id, version, changed, members, record } = event;
    let record = str::from_utf8(record).map_err(|_| corrupt("events.record"))?;
    let row = [
        position.into(),
        db.tenant().into(),
        kind.as_str().into(),
        at.as_millis().into(),
        actor.as_str().into(),
        request_id.as_str().into(),
        (*user_id).into(),
        (*version).into(),
        changed_text(changed, members).as_str().into(),
        record.into(),
    ];
    db.execute(APPEND, &row).await?;
    Ok(())
}

/// Appends the event of a change of the policy, in a transaction that has made it and has locked
/// the head of the log.
pub async fn append_policy<D: Database>(db: D, at: Timestamp) -> Result<(), D::Error> {
    let caller = Caller { actor: Actor::System, request_id: "command".to_owned() };
    let policy = whole_policy(db).await?.ok_or_else(|| corrupt("settings"))?;
    append(db.of(TenantId::DEFAULT), &policy_event(&policy, &caller, at)).await
}

/// Stores the settings of a start, and appends an event with the names of those that have another
/// value than at the last one. Runs in a transaction that has locked the head of the log.
pub async fn note_settings<D: Database>(
    db: D,
    start: &StartSettings,
) -> Result<Vec<String>, D::Error> {
    let db = db.of(TenantId::DEFAULT);
    let row = setting(db, START_SETTINGS).await?;
    let stored = row.as_ref().map(|row| row.bytes(0, START_SETTINGS)).transpose()?;
    let text: Vec<_> =
        start.settings.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    let text = text.concat();
    if stored.is_some_and(|stored| stored[..] == *text.as_bytes()) {
        return Ok(Vec::new());
    }
    let before = stored.map(|stored| str::from_utf8(stored).map_err(|_| corrupt(START_SETTINGS)));
    let before: BTreeMap<&str, &str> = before
        .transpose()?
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let is_changed = |(name, value): &&(String, String)| {
        before.get(name.as_str()).is_some_and(|before| before != value)
    };
    let changed: Vec<String> =
        start.settings.iter().filter(is_changed).map(|(name, _)| name.clone()).collect();
    if !changed.is_empty() {
        append(db, &settings_event(&changed, &start.caller, start.at)).await?;
    }
    let row = [db.tenant().into(), START_SETTINGS.into(), text.as_bytes().into()];
    db.execute(PUT_SETTING, &row).await?;
    Ok(changed)
}
