//! The facts of a batch, as far as they were fetched.
//!
//! A batch runs in memory. What it needs and is not here yet is noted in [`Missing`]; it is fetched
//! in one step for all commands, and the batch runs again.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use roster_core::{Group, GroupId, StoreError, UserId, group::Newcomer};
use roster_engine::{ClaimKind, CommandError, Current, Facts, IdempotencyRecord, StoredGroup};

/// The row of a user, if there is one; of a damaged record, its place.
pub(super) type UserRow = Result<Option<Arc<Current>>, String>;

/// What was fetched.
#[derive(Default)]
pub(super) struct Fetched {
    pub(super) live: HashMap<UserId, UserRow>,
    pub(super) deleted: HashMap<UserId, UserRow>,
    pub(super) holders: HashMap<(ClaimKind, String), Option<UserId>>,
    pub(super) idempotency: HashMap<[u8; 32], Option<IdempotencyRecord>>,
    pub(super) groups_of: HashMap<UserId, Vec<Group>>,
    pub(super) group: HashMap<GroupId, Option<StoredGroup>>,
    pub(super) group_names: HashMap<String, Option<GroupId>>,
    pub(super) members: HashMap<Members, BTreeSet<UserId>>,
    pub(super) newcomers: HashMap<BTreeSet<UserId>, BTreeMap<UserId, Newcomer>>,
    pub(super) above: HashMap<BTreeSet<GroupId>, BTreeSet<GroupId>>,
    pub(super) below: HashMap<BTreeSet<GroupId>, BTreeSet<GroupId>>,
    /// What the last run of the batch did not find here.
    pub(super) missing: Missing,
}

/// A group, and the ids whose membership is looked up; `None` for all members.
pub(super) type Members = (GroupId, Option<BTreeSet<UserId>>);

/// What is to be fetched. Ids are sorted: rows are locked in that order.
#[derive(Default)]
pub(super) struct Missing {
    pub(super) live: BTreeSet<UserId>,
    pub(super) deleted: BTreeSet<UserId>,
    pub(super) holders: BTreeSet<(ClaimKind, String)>,
    pub(super) idempotency: BTreeSet<[u8; 32]>,
    pub(super) groups_of: BTreeSet<UserId>,
    pub(super) group: Option<GroupId>,
    pub(super) group_name: Option<String>,
    pub(super) members: Option<Members>,
    pub(super) newcomers: Option<BTreeSet<UserId>>,
    pub(super) above: Option<BTreeSet<GroupId>>,
    pub(super) below: Option<BTreeSet<GroupId>>,
}

impl Missing {
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
            && self.deleted.is_empty()
            && self.holders.is_empty()
            && self.idempotency.is_empty()
            && !self.needs_groups()
    }

    /// Whether groups are read: a writer locks them first.
    pub(super) fn needs_groups(&self) -> bool {
        !self.groups_of.is_empty()
            || self.group.is_some()
            || self.group_name.is_some()
            || self.members.is_some()
            || self.newcomers.is_some()
            || self.above.is_some()
            || self.below.is_some()
    }
}

/// A fetched fact; notes one that is missing.
fn known<T: Clone>(fetched: Option<&T>, note: impl FnOnce()) -> Result<T, CommandError> {
    fetched.cloned().ok_or_else(|| {
        note();
        CommandError::MissingFact
    })
}

fn user(row: UserRow) -> Result<Option<Arc<Current>>, CommandError> {
    row.map_err(|place| StoreError::Corrupt { place }.into())
}

impl Facts for Fetched {
    fn live(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError> {
        let missing = &mut self.missing.live;
        user(known(self.live.get(&id), || {
            missing.insert(id);
        })?)
    }

    fn deleted(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError> {
        let missing = &mut self.missing.deleted;
        user(known(self.deleted.get(&id), || {
            missing.insert(id);
        })?)
    }

    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError> {
        let claim = (kind, key.to_owned());
        let fetched = self.holders.get(&claim).copied();
        known(fetched.as_ref(), || {
            self.missing.holders.insert(claim);
        })
    }

    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        let missing = &mut self.missing.idempotency;
        known(self.idempotency.get(key), || {
            missing.insert(*key);
        })
    }

    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError> {
        let missing = &mut self.missing.groups_of;
        known(self.groups_of.get(&member), || {
            missing.insert(member);
        })
    }

    fn group(&mut self, id: GroupId) -> Result<Option<StoredGroup>, CommandError> {
        let missing = &mut self.missing.group;
        known(self.group.get(&id), || *missing = Some(id))
    }

    fn group_of_name(&mut self, key: &str) -> Result<Option<GroupId>, CommandError> {
        let missing = &mut self.missing.group_name;
        known(self.group_names.get(key), || *missing = Some(key.to_owned()))
    }

    fn members(
        &mut self,
        group: GroupId,
        among: Option<&BTreeSet<UserId>>,
    ) -> Result<BTreeSet<UserId>, CommandError> {
        let question = (group, among.cloned());
        let fetched = self.members.get(&question);
        known(fetched, || self.missing.members = Some(question.clone()))
    }

    fn newcomers(
        &mut self,
        ids: &BTreeSet<UserId>,
    ) -> Result<BTreeMap<UserId, Newcomer>, CommandError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let missing = &mut self.missing.newcomers;
        known(self.newcomers.get(ids), || *missing = Some(ids.clone()))
    }

    fn groups_above(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError> {
        let missing = &mut self.missing.above;
        known(self.above.get(ids), || *missing = Some(ids.clone()))
    }

    fn groups_below(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError> {
        let missing = &mut self.missing.below;
        known(self.below.get(ids), || *missing = Some(ids.clone()))
    }
}
