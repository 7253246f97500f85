//! The state that commands are decided on.

use std::sync::Arc;

use bytes::Bytes;
use roster_core::{Failure, Group, Refusal, StoreError, Stored, TenantId, User, UserId};

use crate::{
    database::{Cell, Dialect, Values, corrupt_record},
    write::idempotency::IdempotencyRecord,
};

/// Why a command has no result.
#[derive(Debug)]
pub enum CommandError {
    /// The command fails. The other commands of the batch continue.
    Failed(Failure),
    /// A fact that the command needs is not available. The implementation of [`Facts`] knows which
    /// one, or why it could not be read. The batch must not be written.
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

/// The facts that a batch reads from the database about one tenant: the state before its first
/// command. The batch itself tracks the changes of its commands.
pub trait Facts {
    /// The dialect of the statements.
    type Dialect: Dialect;

    /// The tenant of the batch.
    fn tenant(&self) -> TenantId;

    /// The live user of that id.
    fn live(&mut self, id: UserId) -> Result<Option<Current>, CommandError>;

    /// The deleted user of that id.
    fn deleted(&mut self, id: UserId) -> Result<Option<Current>, CommandError>;

    /// The live user that holds a unique key.
    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError>;

    /// The live user that holds a unique key, and that the command will read or change. An engine
    /// that locks rows locks this user together with those that commands name.
    fn holder_to_follow(
        &mut self,
        kind: ClaimKind,
        key: &str,
    ) -> Result<Option<UserId>, CommandError> {
        self.holder(kind, key)
    }

    /// How many more live users the tenant may have; `None` if there is no maximum. It may be
    /// negative.
    fn users_room(&mut self) -> Result<Option<i64>, CommandError>;

    /// The record of an idempotency key.
    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError>;

    /// The groups that a user or group is a direct member of, in the order of their ids.
    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError>;

    /// The rows of a statement about groups.
    fn rows(
        &mut self,
        sql: String,
        parameters: Vec<Cell>,
    ) -> Result<Arc<Vec<Values>>, CommandError>;
}

/// A user as it is stored. A clone shares the user and its record.
#[derive(Clone, Debug)]
pub struct Current {
    /// The user.
    pub user: Arc<User>,
    /// Its canonical JSON.
    pub record: Bytes,
}

impl Current {
    /// Parses a record. `table` is its location in an error.
    pub fn read(id: UserId, record: Bytes, table: &str) -> Result<Self, StoreError> {
        match User::from_record(&record) {
            Ok(user) => Ok(Self { user: Arc::new(user), record }),
            Err(fault) => Err(corrupt_record(table, id, &fault.member)),
        }
    }

    /// The user as it appears in a result.
    pub fn stored(&self) -> Stored {
        Stored { id: self.user.id, version: self.user.version, record: self.record.clone() }
    }
}

/// A key that at most one live user holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimKind {
    /// The user name.
    Username,
    /// The primary e-mail address, if it is unique by policy.
    Email,
    /// The external id, if it is unique by policy.
    ExternalId,
    /// A key in the unique index with this number, which the schema names.
    Indexed(i16),
}
