//! The rules in force: the uniqueness policy of the store, the user schemas of its tenants, and the
//! guards of this process.
//!
//! Every write states the era under which it was decided, and the database rejects a write of
//! another era. A process whose era has ended reads the policy, and the schemas of the tenants in
//! use that changed since its own era, and decides again. If it cannot
//! apply the new state, because a newer release changed the schema or another store replaced this
//! one, it rejects all further writes and is not ready.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, Weak},
    time::{Duration, Instant},
};

use roster_core::{LogId, PolicyKey, Position, Rules, Sharing, StoreError, TenantId, UserSchema};
use roster_engine::{
    Database as _, INDEXES_SETTING, SCHEMA_SETTING, Values, corrupt, rows, schema_of,
};
use tokio::time::sleep;

use crate::{
    connection::Connection,
    failure::{QueryResult, superseded},
    migrations,
    pool::SharedPool,
    reads::rows::{Rows, values},
};

/// How often the state is read again while the log changes.
const TRIES: u32 = 3;

/// How often the state is read in the time of a lease of the schema, so that requests need not read
/// it.
const READS_PER_LEASE: u32 = 3;

/// The maximum number of schemas that are read in one statement.
const SCHEMAS_PER_READ: usize = 32;

/// The shortest interval between these reads.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Everything that determines whether this process may write, and under which rules, in one
/// snapshot. The first row is the state of the store. Each other row is one of the tenants `$1`,
/// its schema of users and the time of its deletion.
pub(crate) const STATE: &str = "SELECT era, log_id, (SELECT max(number) FROM schema_steps), \
     (SELECT value FROM settings WHERE tenant = 0 AND name = 'email_sharing'), \
     (SELECT value FROM settings WHERE tenant = 0 AND name = 'external_id_sharing'), \
     (SELECT value FROM settings WHERE tenant = 0 AND name = 'migration'), position, \
     tableoid::bigint FROM log_head WHERE number = 1 UNION ALL \
     SELECT used.tenant, found.value, found.deleted_at, found.indexes, NULL, NULL, NULL, NULL \
     FROM unnest($1::integer[]) AS used (tenant) CROSS JOIN LATERAL (SELECT (SELECT value \
     FROM settings WHERE tenant = used.tenant AND name = 'user_schema') AS value, (SELECT value \
     FROM settings WHERE tenant = used.tenant AND name = 'indexes') AS indexes, deleted_at \
     FROM tenants WHERE id = used.tenant OFFSET 0) AS found";

/// Begins an era in which a tenant has another schema, or was deleted or restored. The other
/// processes read only the rules of this tenant again.
pub(crate) const NEXT_ERA_OF_TENANT: &str = "WITH head AS (\
     UPDATE log_head SET era = era + 1, writer_era = NULL WHERE number = 1 RETURNING era) \
     UPDATE tenants SET rules_era = head.era FROM head WHERE id = $1";

/// The tenants whose rules are of a later era than `$1`.
pub(crate) const CHANGED: &str = "SELECT id FROM tenants WHERE rules_era > $1 ORDER BY rules_era";

/// The rules of a tenant, and the era that they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) rules: Rules,
    /// The schema of users; `None` if the tenant was deleted.
    pub(crate) schema: Option<Arc<UserSchema>>,
    pub(crate) era: i64,
    /// The log of this era.
    pub(crate) log: LogId,
}

/// The schemas of users of some tenants; `None` for one that was deleted.
type Schemas = HashMap<TenantId, Option<Arc<UserSchema>>>;

/// What a process knows.
struct Known {
    rules: Rules,
    /// The schemas of users, of the tenants that are in use.
    schemas: Schemas,
    era: i64,
    log: LogId,
    /// When the last read began that found nothing newer; `None` before the first one.
    read: Option<Instant>,
}

impl Known {
    /// Whether nothing newer was read: of this log, and of this era or a later one.
    fn is_not_before(&self, era: i64, log: LogId) -> bool {
        self.log == log && self.era >= era
    }
}

/// The rules in force, as far as this process knows.
pub(crate) struct RulesInForce {
    shared: Arc<SharedPool>,
    known: RwLock<Known>,
    lease: Duration,
}

/// The database belongs to another store, or to a newer release, than when this process opened it.
#[derive(Debug, thiserror::Error)]
#[error(
    "a newer release or another store took over this database: restart this process with the same \
     release"
)]
pub(crate) struct StoreReplaced;

impl RulesInForce {
    /// Starts with the rules of the default tenant.
    pub(crate) fn new(shared: Arc<SharedPool>, known: InForce, lease: Duration) -> Self {
        let InForce { rules, schema, era, log } = known;
        let schemas = HashMap::from([(TenantId::DEFAULT, schema)]);
        let known = Known { rules, schemas, era, log, read: None };
        Self { shared, known: RwLock::new(known), lease }
    }

    /// Reads the state again if another process may have replaced a schema since it was read.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        let read = self.known.read().unwrap_or_else(PoisonError::into_inner).read;
        let is_valid = read.is_some_and(|read| read.elapsed() < self.lease);
        if is_valid { Ok(()) } else { self.refresh().await }
    }

    /// Waits until no process uses a schema that was read before now.
    pub(crate) async fn outlive(&self) {
        sleep(self.lease).await;
    }

    /// The rules of a tenant in use, as of the last read.
    pub(crate) fn known(&self, tenant: TenantId) -> InForce {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        // Every handle of a tenant was returned by a function that has called `begin_use`.
        let schema = known.schemas.get(&tenant).cloned().unwrap_or_default();
        InForce { rules: known.rules, schema, era: known.era, log: known.log }
    }

    /// Reads the schema of users of a tenant, unless it is known.
    pub(crate) async fn begin_use(&self, tenant: TenantId) -> Result<(), StoreError> {
        loop {
            if self
                .known
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .schemas
                .contains_key(&tenant)
            {
                return Ok(());
            }
            let State { era, end, schemas, .. } = self.read(&[tenant]).await?;
            {
                let mut known = self.lock();
                if known.log == end.log && era >= known.era {
                    known.schemas.extend(schemas);
                    return Ok(());
                }
            }
            // Another task has read a later era, or this log is new.
            self.refresh().await?;
        }
    }

    /// Whether rules are those of the log that this process follows now. After a failover the
    /// last change of the rules may be lost, and another one may have its era.
    pub(crate) fn is_of_current_log(&self, rules: &InForce) -> bool {
        self.shared.connector().log().is_some_and(|known| known.log == rules.log)
    }

    /// Reads the policy again. Fails if this process may not write any more.
    pub(crate) async fn refresh(&self) -> Result<(), StoreError> {
        loop {
            let began = Instant::now();
            let state = self.read(&[]).await?;
            if self.note_read(began, state.era, state.end.log) {
                return Ok(());
            }
            self.follow_state(state).await?;
        }
    }

    /// Whether a read that began at this time found nothing newer than what is known.
    fn note_read(&self, began: Instant, era: i64, log: LogId) -> bool {
        let mut known = self.lock();
        let is_current = known.is_not_before(era, log);
        if is_current {
            known.read = known.read.max(Some(began));
        }
        is_current
    }

    /// Keeps the rules of a newer state, after it has read the schemas that changed since the known
    /// one, or all of those in use if the log is another one. Keeps nothing if another task has
    /// read more meanwhile. A schema may be newer than the era it is kept with: a write that was
    /// decided by it is rejected, and a later read has it again.
    async fn follow_state(&self, state: State) -> Result<(), StoreError> {
        let (era, log, used) = {
            let known = self.lock();
            (known.era, known.log, known.schemas.keys().copied().collect::<Vec<_>>())
        };
        let State { end: Position { log: new_log, .. }, era: new_era, policy, .. } = state;
        let mut changed = used.clone();
        if log == new_log {
            let since = self.shared.run(|c| changed_since(c, era)).await?;
            changed.retain(|tenant| since.contains(tenant));
        }
        let mut schemas = Schemas::new();
        for some in changed.chunks(SCHEMAS_PER_READ) {
            let state = self.read(some).await?;
            if state.end.log != new_log {
                return Ok(());
            }
            schemas.extend(state.schemas);
        }
        let mut known = self.lock();
        let with = |rules: Rules, (key, sharing)| rules.with_sharing(key, sharing);
        let rules = policy.into_iter().fold(known.rules, with);
        let in_force = InForce { rules, schema: None, era: new_era, log: new_log };
        let is_unchanged = known.log == log && known.schemas.len() == used.len();
        let is_newer = new_era >= known.era || log != new_log;
        if is_unchanged && is_newer && self.is_of_current_log(&in_force) {
            known.schemas.extend(schemas);
            (known.rules, known.era, known.log) = (rules, new_era, new_log);
        }
        Ok(())
    }

    /// Reads the state of the store. Fails if this process may not write any more.
    async fn read(&self, tenants: &[TenantId]) -> Result<State, StoreError> {
        let connector = self.shared.connector();
        for _ in 0..TRIES {
            let before = connector.log();
            let state = self.shared.run(|c| read_state(c, tenants)).await?;
            let state = state.ok_or_else(|| StoreError::Unavailable(Box::new(StoreReplaced)))?;
            let is_of_log = |known: &Position| known.log == state.end.log;
            let went_back = before.filter(is_of_log).is_some_and(|b| b.number > state.end.number);
            let is_same = state.is_of_same_table && !went_back;
            if is_same && connector.log().as_ref().is_some_and(is_of_log) {
                connector.note_position(state.end);
                return Ok(state);
            }
            // Another process has begun a new log, or a copy was restored below this one: it has
            // other tables, or it ends earlier. A new connection shows whether its log continues
            // the known one.
            connector.doubt_connections();
        }
        Err(superseded())
    }

    /// Keeps how far the indexes of a tenant are, unless another task has read a newer schema.
    pub(crate) fn note_index_progress(&self, tenant: TenantId, schema: Arc<UserSchema>) {
        let mut known = self.lock();
        if let Some(Some(before)) = known.schemas.get(&tenant)
            && before.version == schema.version
        {
            known.schemas.insert(tenant, Some(schema));
        }
    }

    fn lock(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows changes of the policy until the store is closed.
    pub(crate) async fn follow(this: Weak<Self>) {
        loop {
            let Some(lease) = this.upgrade().map(|this| this.lease) else { return };
            sleep(INTERVAL_MIN.max(lease / READS_PER_LEASE)).await;
            let Some(this) = this.upgrade() else { return };
            // Errors are ignored here: requests report them, and the next check comes soon.
            drop(this.refresh().await);
        }
    }
}

/// The state of a store.
struct State {
    /// The end of the log.
    end: Position,
    /// Whether its table is that of the connection's beginning.
    is_of_same_table: bool,
    era: i64,
    policy: Vec<(PolicyKey, Sharing)>,
    schemas: Schemas,
}

/// Reads the state, with the schemas of users of these tenants; `None` if this release cannot serve
/// the database.
async fn read_state(
    connection: Arc<Connection>,
    tenants: &[TenantId],
) -> QueryResult<Option<State>> {
    let numbers: Vec<i32> = tenants.iter().map(|tenant| tenant.number()).collect();
    let statement = connection.prepare(STATE).await?;
    let rows = connection.client().query(&statement, &[&numbers]).await?;
    let rows: Vec<Values> = rows.iter().map(values).collect::<Result<_, _>>()?;
    let Some((row, others)) = rows.split_first() else { return Ok(None) };
    // `None` if the setting is missing.
    let setting = |index| row.bytes(index, "").ok();
    if row.number(2, "").ok() != Some(migrations::newest_step()) || setting(5).is_some() {
        return Ok(None);
    }
    let mut policy = Vec::new();
    for (index, key) in [(3, PolicyKey::Email), (4, PolicyKey::ExternalId)] {
        let sharing = setting(index).and_then(|stored| Sharing::parse_stored(stored));
        policy.push((key, sharing.ok_or_else(|| corrupt(key.stored_name()))?));
    }
    let mut schemas: Schemas = tenants.iter().map(|tenant| (*tenant, None)).collect();
    for row in others.iter().filter(|row| row.number(2, "").is_err()) {
        // `None` if the tenant never replaced its schema.
        let stored = row.bytes(1, SCHEMA_SETTING).ok();
        let indexes = row.bytes(3, INDEXES_SETTING).ok();
        let schema = schema_of(stored.map(|stored| &**stored), indexes.map(|indexes| &**indexes))?;
        schemas.insert(row.tenant(0, "settings.tenant")?, Some(schema));
    }
    let end = Position { log: row.log_id(1)?, number: row.number(6, "log_head.position")? };
    let is_of_same_table = row.number(7, "log_head.tableoid")? == connection.log_table();
    let era = row.number(0, "log_head.era")?;
    Ok(Some(State { end, is_of_same_table, era, policy, schemas }))
}

/// Begins the next era, because the rules of the tenant of these rows change.
pub(crate) async fn begin_era_of_tenant(rows: Rows<'_>) -> QueryResult<()> {
    rows.execute(NEXT_ERA_OF_TENANT, &[rows.1.into()]).await?;
    Ok(())
}

/// The tenants whose rules changed after this era.
async fn changed_since(connection: Arc<Connection>, era: i64) -> QueryResult<HashSet<TenantId>> {
    let changed = rows(Rows::of_store(&connection), CHANGED, &[era.into()]).await?;
    changed.iter().map(|row| Ok(row.tenant(0, "tenants.id")?)).collect()
}
