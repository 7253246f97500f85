//! The fetched facts of a batch.
//!
//! What the commands of a batch need in any case is fetched first. Then the batch runs in memory.
//! If it needs a fact that was not fetched, the fact is recorded as missing. All missing facts are
//! fetched in one step, and the batch runs again.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    mem::take,
    sync::Arc,
};

use roster_core::{Group, StoreError, TenantId, UserId};
use roster_engine::{Cell, ClaimKind, CommandError, Current, Facts, IdempotencyRecord, Values};

use crate::reads::rows::Rows;

/// The row of a user, if it exists; for a damaged record, its location.
pub(super) type UserRow = Option<Result<Current, String>>;

pub(super) struct FactMap<K, V> {
    pub(super) fetched: HashMap<K, V>,
    /// The keys of facts that are missing. Ids are sorted: rows are locked in that order.
    pub(super) missing: BTreeSet<K>,
}

#[derive(Default)]
pub(super) struct Fetched {
    tenant: TenantId,
    pub(super) live: FactMap<UserId, UserRow>,
    pub(super) deleted: FactMap<UserId, UserRow>,
    pub(super) holders: FactMap<Claim, Option<UserId>>,
    /// The missing holders whose rows the batch reads or changes.
    pub(super) followed: BTreeSet<Claim>,
    pub(super) idempotency: FactMap<[u8; 32], Option<IdempotencyRecord>>,
    pub(super) groups_of: FactMap<UserId, Vec<Group>>,
    /// How many more live users the tenant may have.
    pub(super) users_room: FactMap<(), Option<i64>>,
    /// The rows of statements about groups, by text and parameters.
    pub(super) rows: FactMap<(String, Vec<Cell>), Arc<Vec<Values>>>,
    /// Whether memberships must be locked in the first step.
    pub(super) locks_groups: bool,
}

/// A unique key.
pub(super) type Claim = (ClaimKind, String);

impl<K, V> Default for FactMap<K, V> {
    fn default() -> Self {
        Self { fetched: HashMap::new(), missing: BTreeSet::new() }
    }
}

impl<K: Clone + Eq + Hash + Ord, V: Clone + Default> FactMap<K, V> {
    /// Removes and returns the missing keys. Their facts are the default until a row is stored.
    pub(super) fn take_missing(&mut self) -> BTreeSet<K> {
        let missing = take(&mut self.missing);
        self.fetched.extend(missing.iter().map(|key| (key.clone(), V::default())));
        missing
    }

    pub(super) fn keep(
        &mut self,
        rows: &[Values],
        read: impl Fn(&Values) -> Result<(K, V), StoreError>,
    ) -> Result<(), StoreError> {
        for row in rows {
            let (key, fact) = read(row)?;
            self.fetched.insert(key, fact);
        }
        Ok(())
    }

    fn again(self) -> Self {
        let missing = self.fetched.into_keys().chain(self.missing).collect();
        Self { fetched: HashMap::new(), missing }
    }

    /// Returns a fetched fact. Records the key of a missing one.
    fn get(&mut self, key: K) -> Result<V, CommandError> {
        if let Some(fact) = self.fetched.get(&key) {
            return Ok(fact.clone());
        }
        self.missing.insert(key);
        Err(CommandError::MissingFact)
    }
}

impl Fetched {
    /// No facts about a tenant.
    pub(super) fn of(tenant: TenantId) -> Self {
        Self { tenant, ..Self::default() }
    }

    /// Whether all facts that were asked for are fetched.
    pub(super) fn is_complete(&self) -> bool {
        self.live.missing.is_empty()
            && self.deleted.missing.is_empty()
            && self.holders.missing.is_empty()
            && self.idempotency.missing.is_empty()
            && self.groups_of.missing.is_empty()
            && self.users_room.missing.is_empty()
            && self.rows.missing.is_empty()
    }

    /// The facts of another attempt: none, but what this attempt needed is fetched in the first
    /// step, so that the locks of all users and keys are taken there in their order.
    pub(super) fn again(self) -> Self {
        Self {
            live: self.live.again(),
            deleted: self.deleted.again(),
            holders: self.holders.again(),
            locks_groups: self.locks_groups
                || !(self.groups_of.fetched.is_empty() && self.rows.fetched.is_empty()),
            ..Self::of(self.tenant)
        }
    }
}

fn user(row: UserRow) -> Result<Option<Current>, CommandError> {
    row.transpose().map_err(|place| StoreError::Corrupt { place }.into())
}

impl Facts for Fetched {
    type Dialect = Rows<'static>;

    fn tenant(&self) -> TenantId {
        self.tenant
    }

    fn live(&mut self, id: UserId) -> Result<Option<Current>, CommandError> {
        user(self.live.get(id)?)
    }

    fn deleted(&mut self, id: UserId) -> Result<Option<Current>, CommandError> {
        user(self.deleted.get(id)?)
    }

    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError> {
        self.holders.get((kind, key.to_owned()))
    }

    fn holder_to_follow(
        &mut self,
        kind: ClaimKind,
        key: &str,
    ) -> Result<Option<UserId>, CommandError> {
        let holder = self.holder(kind, key);
        // The holder of a key in an index is locked by its id in a later step.
        if holder.is_err() && !matches!(kind, ClaimKind::Indexed(_)) {
            self.followed.insert((kind, key.to_owned()));
        }
        holder
    }

    fn users_room(&mut self) -> Result<Option<i64>, CommandError> {
        self.users_room.get(())
    }

    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        self.idempotency.get(*key)
    }

    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError> {
        self.groups_of.get(member)
    }

    fn rows(
        &mut self,
        sql: String,
        parameters: Vec<Cell>,
    ) -> Result<Arc<Vec<Values>>, CommandError> {
        self.rows.get((sql, parameters))
    }
}

#[cfg(test)]
mod tests {
    use roster_core::{
        Actor, Caller, Command, Draft, OnConflict, Rules, Timestamp, UserAct, UserSchema, json,
    };
    use roster_engine::{Request, run};

    use super::{
        super::fetch::{Lock, missing},
        *,
    };

    #[test]
    fn a_create_needs_one_step_in_every_tenant() {
        let schema = Arc::new(UserSchema::default());
        let body = r#"{"username":"ada","email":"ada@example.com","external_id":"7"}"#;
        for tenant in [TenantId::DEFAULT, TenantId::new(7).unwrap()] {
            let draft = Box::new(Draft::parse(json::read(body.as_bytes()).unwrap()));
            let id = UserId::from_bytes([1; 16]);
            let act = UserAct::Create { id, draft, upsert: OnConflict::Fail.into() };
            let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
            let command = Command::of(act, Timestamp::from_millis(1), caller);
            let request = Request::new(tenant, Rules::default(), &schema, command);
            let mut facts = Fetched::of(tenant);
            request.ask(&mut facts);
            // From now on each of these facts has its default: nothing is stored.
            assert!(!missing(&mut facts, Lock::Nothing).is_empty(), "{tenant:?}");
            let completed = run(Rules::default(), &schema, &[&request], &mut facts);
            assert!(facts.is_complete(), "{tenant:?} needs another step");
            assert!(!completed.writes.is_empty(), "{tenant:?}");
        }
    }
}
