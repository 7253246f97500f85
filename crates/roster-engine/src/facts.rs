//! The state that commands are decided on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use roster_core::{
    Failure, Group, GroupId, Refusal, StoreError, Stored, User, UserId, group::Newcomer,
};

use crate::idempotency::IdempotencyRecord;

/// Why a command has no result.
#[derive(Debug)]
pub enum CommandError {
    /// The command fails; the other commands of the batch go on.
    Failed(Failure),
    /// A fact that the command needs is not available. The implementation of [`Facts`] knows which
    /// one, or why it could not be read; the batch is not to be written.
    MissingFact,
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        Self::Failed(refusal.into())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// What a batch reads from the database: the state before its first command. The batch keeps what
/// its own commands change.
pub trait Facts {
    /// The live user of that id.
    fn live(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError>;

    /// The deleted user of that id.
    fn deleted(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError>;

    /// The live user that holds a unique key.
    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError>;

    /// The record of an idempotency key.
    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError>;

    /// The groups that a user or group is a direct member of, in the order of their ids.
    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError>;

    /// The group of that id.
    fn group(&mut self, id: GroupId) -> Result<Option<StoredGroup>, CommandError>;

    /// The group of that name key.
    fn group_of_name(&mut self, key: &str) -> Result<Option<GroupId>, CommandError>;

    /// The members of a group: those of the given ids, or all.
    fn members(
        &mut self,
        group: GroupId,
        among: Option<&BTreeSet<UserId>>,
    ) -> Result<BTreeSet<UserId>, CommandError>;

    /// Which of these ids are users or groups, and of how many groups each is a member.
    fn newcomers(
        &mut self,
        ids: &BTreeSet<UserId>,
    ) -> Result<BTreeMap<UserId, Newcomer>, CommandError>;

    /// The groups that any of these groups is a direct member of. More than
    /// [`roster_core::limits::GROUP_NESTING_MAX`] need not be read.
    fn groups_above(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError>;

    /// The groups that are direct members of any of these groups, with the same bound.
    fn groups_below(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError>;
}

/// A user as it is stored.
#[derive(Clone, Debug)]
pub struct Current {
    /// The user.
    pub user: User,
    /// Its canonical JSON.
    pub record: Bytes,
}

impl Current {
    /// Reads a record; `table` names its place in the error.
    pub fn read(id: UserId, record: Bytes, table: &str) -> Result<Self, StoreError> {
        match User::from_record(&record) {
            Ok(user) => Ok(Self { user, record }),
            Err(corrupt) => {
                let place = format!("{table}.record of {id}, {}", corrupt.member);
                Err(StoreError::Corrupt { place })
            }
        }
    }

    /// The user as a result shows it.
    pub fn stored(&self) -> Stored {
        Stored { id: self.user.id, version: self.user.version, record: self.record.clone() }
    }
}

/// A group as it is stored.
#[derive(Clone, Debug)]
pub struct StoredGroup {
    /// The group.
    pub group: Group,
    /// Its canonical JSON.
    pub record: Bytes,
    /// How many members it has.
    pub members: u64,
}

/// A key that at most one live user holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimKind {
    /// The user name.
    Username,
    /// The primary e-mail address, where the policy says that it is unique.
    Email,
    /// The external id, where the policy says that it is unique.
    ExternalId,
}
