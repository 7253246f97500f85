//! The rules in force: the uniqueness policy that the store has, with the guards of this process.
//!
//! Every write states the era under which it was decided, and the database refuses one of another
//! era. A process whose era has ended reads the policy again and decides again. One that cannot
//! apply what it reads, since a newer release changed the schema or another store took the place
//! of this one, writes no more and is not ready.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

use roster_core::{LogId, PolicyKey, Rules, Sharing, StoreError};
use tokio::time::sleep;
use tokio_postgres::Row;

use crate::{
    columns::{column, corrupt},
    connect::Connection,
    pool::{Miss, Question, Shared},
    schema,
};

/// How often a process that writes nothing looks for another policy.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// All that says whether this process may write, and under which rules; one snapshot.
pub(crate) const STATE: &str = "SELECT era, log_id, (SELECT max(number) FROM schema_steps), \
     (SELECT value FROM settings WHERE name = 'email_sharing'), \
     (SELECT value FROM settings WHERE name = 'external_id_sharing'), \
     (SELECT value FROM settings WHERE name = 'migration') FROM log_head WHERE number = 1";

/// Rules, and the era that they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) rules: Rules,
    pub(crate) era: i64,
}

/// What a process knows of the rules in force.
pub(crate) struct RulesInForce {
    shared: Arc<Shared>,
    log_id: LogId,
    known: RwLock<InForce>,
}

/// The store is another one than this process opened.
#[derive(Debug)]
pub(crate) struct StoreReplaced;

impl fmt::Display for StoreReplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a newer release or another store took over this database: restart this process \
             with the same release",
        )
    }
}

impl std::error::Error for StoreReplaced {}

impl RulesInForce {
    pub(crate) fn new(shared: Arc<Shared>, log_id: LogId, known: InForce) -> Self {
        Self { shared, log_id, known: RwLock::new(known) }
    }

    /// The rules as they were read last.
    pub(crate) fn known(&self) -> InForce {
        *self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the policy again; fails where this process may write no more.
    pub(crate) async fn refresh(&self) -> Result<(), StoreError> {
        let Some(state) = self.shared.ask(&ReadState).await? else {
            return Err(StoreError::Unavailable(Box::new(StoreReplaced)));
        };
        if state.log_id != self.log_id {
            return Err(StoreError::Unavailable(Box::new(StoreReplaced)));
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Two may read at once; the later era is the one in force.
        if state.era > known.era {
            let mut rules = known.rules;
            for (key, sharing) in state.policy {
                rules = rules.with_sharing(key, sharing);
            }
            *known = InForce { rules, era: state.era };
        }
        Ok(())
    }

    /// Follows changes of the policy until the store is closed.
    pub(crate) async fn follow(this: Weak<Self>) {
        loop {
            sleep(LOOK_EVERY).await;
            let Some(this) = this.upgrade() else { return };
            // Requests report what fails; the next look comes soon.
            drop(this.refresh().await);
        }
    }
}

/// The state of the database, for a process of this release.
struct State {
    era: i64,
    log_id: LogId,
    policy: Vec<(PolicyKey, Sharing)>,
}

/// Asks for it; `None` where this release cannot serve the database.
struct ReadState;

impl Question for ReadState {
    type Answer = Option<State>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        let statement = connection.prepare(STATE).await?;
        let row = connection.client().query_opt(&statement, &[]).await?;
        Ok(row.as_ref().map(state_of).transpose()?.flatten())
    }
}

fn state_of(row: &Row) -> Result<Option<State>, StoreError> {
    let step: Option<i64> = column(row, 2, "schema_steps.number")?;
    let migration: Option<&[u8]> = column(row, 5, "settings.value")?;
    if step != Some(schema::newest_step()) || migration.is_some() {
        return Ok(None);
    }
    let log_id: &[u8] = column(row, 1, "log_head.log_id")?;
    let mut policy = Vec::new();
    for (index, key) in [(3, PolicyKey::Email), (4, PolicyKey::ExternalId)] {
        let stored: Option<&[u8]> = column(row, index, "settings.value")?;
        let sharing = stored.and_then(Sharing::parse_stored);
        policy.push((key, sharing.ok_or_else(|| corrupt(key.stored_name()))?));
    }
    Ok(Some(State {
        era: column(row, 0, "log_head.era")?,
        log_id: LogId(log_id.try_into().map_err(|_| corrupt("log_head.log_id"))?),
        policy,
    }))
}
