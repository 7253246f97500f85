//! Data with a limited lifetime: the clock mark, deletion by age, the history of purged users, and
//! everything in purged tenants.

use std::slice;

use roster_core::{
    ClockMark, ClockReading, Erasure, ExpiredUser, Outlived, Purged, StoreError, Timestamp, UserId,
    clock_mark::PendingMark,
    erasure::STEP_MAX,
    page::Flow,
    store::{EXPIRED_USERS_MAX, PENDING_ERASURES_MAX},
};

use crate::{
    database::{Cell, Database, Dialect, Values, corrupt, first, rows},
    tables::Table,
    tenants::{END_TENANT, WHOLE_TENANT},
};

/// The row of the clock mark.
pub const CLOCK_MARK: &str =
    "SELECT revision, at, pending_at, waited_ms FROM clock_mark WHERE id = 1";

/// The time of the last event.
pub const NEWEST_EVENT: &str =
    "SELECT at FROM events WHERE position = (SELECT max(position) FROM events)";

/// Deletes the oldest idempotency records.
pub const FORGET_KEYS: &str = "DELETE FROM idempotency_keys WHERE (tenant, key) IN \
     (SELECT tenant, key FROM idempotency_keys WHERE at < $1 ORDER BY at LIMIT $2)";

/// The oldest events. A step deletes those before the first event that is kept.
pub const OLDEST_EVENTS: &str = "SELECT position, at FROM events ORDER BY position LIMIT $1";

/// Deletes the oldest events.
pub const FORGET_EVENTS: &str = "DELETE FROM events WHERE position <= $1";

/// The maximum number of rows that one step of [`forget`] deletes from each table.
const FORGOTTEN_MAX: i64 = 1000;

/// What is still to be erased.
pub const PENDING_ERASURES: &str = "SELECT tenant, id FROM erasures ORDER BY tenant, id LIMIT $1";

/// Stores the progress of an erasure.
pub const MOVE_ERASURE: &str = "UPDATE erasures SET reached = $1 WHERE tenant = $2 AND id = $3";

/// Ends an erasure.
pub const END_ERASURE: &str = "DELETE FROM erasures WHERE tenant = $1 AND id = $2";

/// Ends the erasure of a tenant, and those of its users, which have thousands of events each.
pub const END_ERASURES_OF_TENANT: &str = "DELETE FROM erasures WHERE tenant = $1";

/// The statements of an erasure that differ between the engines.
#[derive(Clone, Copy, Debug)]
pub struct ErasureSql {
    /// The progress of the erasure of a tenant's user; no row if another process works on it.
    pub reached: &'static str,
    /// The number of events of the next step after `$3`, and the position of the last one.
    pub next: &'static str,
    /// Empties the records of the events from `$3` up to `$4`.
    pub empty: &'static str,
    /// Deletes the idempotency records except that of the purge, because a caller may repeat that
    /// request too.
    pub drop_keys: &'static str,
    /// The maximum number of rows of a tenant that one step erases.
    pub rows_of_tenant_max: i64,
    /// The number of events of a tenant in the next step after `$2`, and the position of the last
    /// one.
    pub next_of_tenant: &'static str,
    /// Empties the records of a tenant's events from `$2` up to `$3`.
    pub empty_of_tenant: &'static str,
}

/// Advances the clock mark by a measurement of this process. Returns the mark that is stored
/// afterwards. `write` is the statement of an engine. It writes nothing if another process was
/// first.
pub async fn advance_clock_mark<D: Database>(
    db: D,
    write: &str,
    reading: ClockReading,
) -> Result<ClockMark, D::Error> {
    let stored = clock_mark(db).await?;
    let mark = if let Some(mark) = stored {
        mark.advance(reading)
    } else {
        let newest = first(db, NEWEST_EVENT, &[]).await?;
        let newest = newest.map(|row| row.moment(0, "events.at")).transpose()?;
        ClockMark::first(newest, reading.wall)
    };
    if stored == Some(mark) {
        return Ok(mark);
    }
    let (at, waited_ms) = mark.pending.map_or((0, 0), |it| (it.at.as_millis(), it.waited_ms));
    let row = [mark.revision, mark.at.as_millis(), at, waited_ms].map(Cell::from);
    if db.execute(write, &row).await? == 1 {
        return Ok(mark);
    }
    Ok(clock_mark(db).await?.unwrap_or(mark))
}

async fn clock_mark<D: Database>(db: D) -> Result<Option<ClockMark>, D::Error> {
    let Some(row) = first(db, CLOCK_MARK, &[]).await? else { return Ok(None) };
    let at = row.moment(2, "clock_mark.pending_at")?;
    let pending = PendingMark { at, waited_ms: row.number(3, "clock_mark.waited_ms")? };
    Ok(Some(ClockMark {
        revision: row.number(0, "clock_mark.revision")?,
        at: row.moment(1, "clock_mark.at")?,
        pending: (at.as_millis() != 0).then_some(pending),
    }))
}

/// Deletes expired data, a limited number of rows at a time, so that writes do not wait long for
/// it. Returns the number of rows. Events are deleted only from the start of the log, which
/// therefore has no gaps.
pub async fn forget<D: Database>(db: D, before: Outlived) -> Result<u64, D::Error> {
    let keys_before = before.keys_before.as_millis();
    let keys = db.execute(FORGET_KEYS, &[keys_before.into(), FORGOTTEN_MAX.into()]).await?;
    let mut last = None;
    let look = |row: Values| {
        if row.moment(1, "events.at")? >= before.events_before {
            return Ok(Flow::Stop);
        }
        last = Some(row.number(0, "events.position")?);
        Ok(Flow::Next)
    };
    db.each(OLDEST_EVENTS, &[FORGOTTEN_MAX.into()], look).await?;
    let Some(last) = last else { return Ok(keys) };
    Ok(keys + db.execute(FORGET_EVENTS, &[last.into()]).await?)
}

/// Erases the next step of the history of a purged user. It can be the last step only if `may_end`
/// is true. Returns `None` if there is no such erasure, or if another process works on it.
pub async fn erase<D: Database>(
    db: D,
    sql: &ErasureSql,
    id: UserId,
    may_end: bool,
) -> Result<Option<Erasure>, D::Error> {
    let (tenant, user) = (Cell::from(db.tenant()), Cell::from(id));
    let Some(row) = first(db, sql.reached, &[tenant.clone(), user.clone()]).await? else {
        return Ok(None);
    };
    let reached = row.number(0, "erasures.reached")?;
    let step = [tenant.clone(), user.clone(), reached.into(), STEP_MAX.into()];
    let next = first(db, sql.next, &step).await?.ok_or_else(|| corrupt("events"))?;
    let events = next.number(0, "events")?;
    let last = if events == 0 { reached } else { next.number(1, "events.position")? };
    if last > reached {
        let stretch = [tenant.clone(), user.clone(), reached.into(), last.into()];
        db.execute(sql.empty, &stretch).await?;
    }
    let keys = db.execute(sql.drop_keys, &[tenant.clone(), user.clone(), STEP_MAX.into()]).await?;
    if may_end && events < STEP_MAX && keys < STEP_MAX.unsigned_abs() {
        db.execute(END_ERASURE, &[tenant, user]).await?;
        return Ok(Some(Erasure::Done));
    }
    if last > reached {
        db.execute(MOVE_ERASURE, &[last.into(), tenant, user]).await?;
    }
    let is_idle = events == 0 && keys == 0;
    Ok(Some(if is_idle { Erasure::Waiting } else { Erasure::Pending }))
}

/// Erases the next step of everything in a purged tenant, as [`erase`] does for a user. Rows are
/// deleted; events stay without their records, so that the log has no gaps.
pub async fn erase_tenant<D: Database>(
    db: D,
    sql: &ErasureSql,
    may_end: bool,
) -> Result<Option<Erasure>, D::Error> {
    let (tenant, whole) = (Cell::from(db.tenant()), Cell::from(WHOLE_TENANT));
    let Some(row) = first(db, sql.reached, &[tenant.clone(), whole.clone()]).await? else {
        return Ok(None);
    };
    let reached = row.number(0, "erasures.reached")?;
    let mut room = sql.rows_of_tenant_max;
    let count = |rows: u64| i64::try_from(rows).unwrap_or(i64::MAX);
    for sql in Table::erase_tenant::<D>() {
        room -= count(db.execute(&sql, &[tenant.clone(), room.into()]).await?);
        if room == 0 {
            return Ok(Some(Erasure::Pending));
        }
    }
    let step = [tenant.clone(), reached.into(), room.into()];
    let next = first(db, sql.next_of_tenant, &step).await?.ok_or_else(|| corrupt("events"))?;
    let events = next.number(0, "events")?;
    if events > 0 {
        let last = Cell::from(next.number(1, "events.position")?);
        let stretch = [tenant.clone(), reached.into(), last.clone()];
        db.execute(sql.empty_of_tenant, &stretch).await?;
        db.execute(MOVE_ERASURE, &[last, tenant.clone(), whole]).await?;
    }
    if events == room {
        return Ok(Some(Erasure::Pending));
    }
    if !may_end {
        return Ok(Some(Erasure::Waiting));
    }
    db.execute(END_ERASURES_OF_TENANT, slice::from_ref(&tenant)).await?;
    db.execute(END_TENANT, &[tenant]).await?;
    Ok(Some(Erasure::Done))
}

/// Finds the active users that have expired by `$1`, after the time `$2` and the id `$3`. Those of
/// a deleted tenant stay as they are.
pub fn expired_users_sql<D: Dialect>() -> String {
    let (along, absent) = (D::indexed_by("users_expiring"), D::ABSENT_KEY);
    format!(
        "SELECT tenant, id, version, expires_at_key FROM users{along} \
         WHERE status = 0 AND expires_at_key < {absent} AND expires_at_key <= $1 \
         AND (expires_at_key, id) > ($2, $3) \
         AND (SELECT deleted_at FROM tenants WHERE tenants.id = users.tenant) IS NULL \
         ORDER BY expires_at_key, id LIMIT $4"
    )
}

/// The active users that have expired by this time, after this one.
pub async fn expired_users<D: Database>(
    db: D,
    now: Timestamp,
    after: Option<ExpiredUser>,
) -> Result<Vec<ExpiredUser>, D::Error> {
    let limit = i64::try_from(EXPIRED_USERS_MAX).unwrap_or(i64::MAX);
    let (time, id) = after.map_or_else(
        || (String::new(), UserId::from_bytes([0; 16])),
        |after| (after.expires_at.to_string(), after.id),
    );
    let parameters =
        [now.to_string().as_str().into(), time.as_str().into(), id.into(), limit.into()];
    let rows = rows(db, &expired_users_sql::<D>(), &parameters).await?;
    let expired = |row: &Values| {
        let expires_at = row.text(3, "users.expires_at_key")?;
        Ok(ExpiredUser {
            tenant: row.tenant(0, "users.tenant")?,
            id: row.id(1, "users.id")?,
            version: row.number(2, "users.version")?,
            expires_at: Timestamp::parse(expires_at)
                .ok_or_else(|| corrupt("users.expires_at_key"))?,
        })
    };
    Ok(rows.iter().map(expired).collect::<Result<_, StoreError>>()?)
}

/// What is purged and not yet erased.
pub async fn pending_erasures<D: Database>(db: D) -> Result<Vec<Purged>, D::Error> {
    let limit = i64::try_from(PENDING_ERASURES_MAX).unwrap_or(i64::MAX);
    let rows = rows(db, PENDING_ERASURES, &[limit.into()]).await?;
    let pending = |row: &Values| {
        let user = Some(row.id(1, "erasures.id")?).filter(|id| *id != WHOLE_TENANT);
        Ok(Purged { tenant: row.tenant(0, "erasures")?, user })
    };
    Ok(rows.iter().map(pending).collect::<Result<_, StoreError>>()?)
}
