//! What the database said about the users, claims and repeated requests of a transaction.
//!
//! Gathered in a few statements for all commands at once. A command that needs what is not here
//! yet halts and notes it; once all of it is fetched, the commands are judged from the start.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use bytes::Bytes;
use roster_core::{Effect, Group, Stored, Timestamp, User, UserId};

/// A user as it was loaded.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) user: User,
    pub(crate) record: Bytes,
}

impl Current {
    pub(crate) fn stored(&self) -> Stored {
        Stored { id: self.user.id, version: self.user.version, record: self.record.clone() }
    }
}

/// A row of a user: there, damaged, or none.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    There(Arc<Current>),
    /// The record cannot be read: which member.
    Damaged(String),
    Nobody,
}

/// A key that one live user alone may hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Claim {
    Username(String),
    Email(String),
    ExternalId(String),
}

/// What a request came to when it came before.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) fingerprint: [u8; 32],
    pub(crate) at: Timestamp,
    pub(crate) effect: Effect,
    /// `None` where the log no longer has it.
    pub(crate) stored: Option<Stored>,
    pub(crate) position: Place,
}

/// A position of the log: known, or counted from where the transaction's own events begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    At(i64),
    Own(i64),
}

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) live: HashMap<UserId, Row>,
    pub(crate) deleted: HashMap<UserId, Row>,
    pub(crate) holders: HashMap<Claim, Option<UserId>>,
    pub(crate) marks: HashMap<[u8; 32], Option<Mark>>,
    /// The direct groups of users, in the order of ids.
    pub(crate) groups_of: HashMap<UserId, Vec<Group>>,
}

/// What is not known yet. Users in the order of their ids: so they are locked.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    pub(crate) live: BTreeSet<UserId>,
    pub(crate) deleted: BTreeSet<UserId>,
    pub(crate) holders: HashSet<Claim>,
    pub(crate) marks: HashSet<[u8; 32]>,
    /// Those whose groups are asked for: under the lock of all groups, where somebody writes.
    pub(crate) groups_of: BTreeSet<UserId>,
}

impl Missing {
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty()
            && self.deleted.is_empty()
            && self.holders.is_empty()
            && self.marks.is_empty()
            && self.groups_of.is_empty()
    }
}
