//! The rules in force: the uniqueness policy and the user schema of the store, and the guards of
//! this process.
//!
//! Every write states the era under which it was decided, and the database rejects a write of
//! another era. A process whose era has ended reads the policy and decides again. If it cannot
//! apply the new state, because a newer release changed the schema or another store replaced this
//! one, it rejects all further writes and is not ready.

use std::{
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

use roster_core::{LogId, PolicyKey, Rules, Sharing, StoreError, UserSchema};
use roster_engine::{corrupt, first, schema_of};
use tokio::time::sleep;

use crate::{connect::Connection, failure::QueryResult, migrations, pool::SharedPool};

/// How often a process without writes checks the policy.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Everything that determines whether this process may write, and under which rules, in one
/// snapshot.
pub(crate) const STATE: &str = "SELECT era, log_id, (SELECT max(number) FROM schema_steps), \
     (SELECT value FROM settings WHERE name = 'email_sharing'), \
     (SELECT value FROM settings WHERE name = 'external_id_sharing'), \
     (SELECT value FROM settings WHERE name = 'migration'), \
     (SELECT value FROM settings WHERE name = 'user_schema') FROM log_head WHERE number = 1";

/// Rules, and the era that they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) rules: Rules,
    pub(crate) schema: Arc<UserSchema>,
    pub(crate) era: i64,
}

/// The rules in force, as far as this process knows.
pub(crate) struct RulesInForce {
    shared: Arc<SharedPool>,
    pub(crate) log_id: LogId,
    known: RwLock<InForce>,
}

/// The database belongs to another store, or to a newer release, than when this process opened it.
#[derive(Debug, thiserror::Error)]
#[error(
    "a newer release or another store took over this database: restart this process with the same \
     release"
)]
pub(crate) struct StoreReplaced;

impl RulesInForce {
    pub(crate) fn new(shared: Arc<SharedPool>, log_id: LogId, known: InForce) -> Self {
        Self { shared, log_id, known: RwLock::new(known) }
    }

    /// The rules as of the last read.
    pub(crate) fn known(&self) -> InForce {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the policy again. Fails if this process may not write any more.
    pub(crate) async fn refresh(&self) -> Result<(), StoreError> {
        let state = self.shared.run(read_state).await?;
        let Some((_, era, policy, schema)) = state.filter(|(log_id, ..)| *log_id == self.log_id)
        else {
            return Err(StoreError::Unavailable(Box::new(StoreReplaced)));
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Two tasks may read at once. The later era is in force.
        if era > known.era {
            let mut rules = known.rules;
            for (key, sharing) in policy {
                rules = rules.with_sharing(key, sharing);
            }
            *known = InForce { rules, schema, era };
        }
        Ok(())
    }

    /// Follows changes of the policy until the store is closed.
    pub(crate) async fn follow(this: Weak<Self>) {
        loop {
            sleep(LOOK_EVERY).await;
            let Some(this) = this.upgrade() else { return };
            // Errors are ignored here: requests report them, and the next check comes soon.
            drop(this.refresh().await);
        }
    }
}

/// The identity of the log, the era, the policy and the schema of users; `None` if this release
/// cannot serve the database.
type State = (LogId, i64, Vec<(PolicyKey, Sharing)>, Arc<UserSchema>);

async fn read_state(connection: Arc<Connection>) -> QueryResult<Option<State>> {
    let Some(row) = first(&*connection, STATE, &[]).await? else { return Ok(None) };
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
    let schema = schema_of(setting(6).map(|schema| &**schema))?;
    Ok(Some((row.log_id(1)?, row.number(0, "log_head.era")?, policy, schema)))
}
