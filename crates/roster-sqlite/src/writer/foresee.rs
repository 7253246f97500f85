//! What a command comes to, decided before its turn.
//!
//! Deciding asks nothing of the store but the user, so whoever asks does it, on the thread that
//! asks, upon what is stored at that moment. The writer holds that against the row it finds: the
//! same record, the same decision; else it decides anew. There is one writer and it has all the
//! writing to do, so what others can do for it they do.

use std::cell::Cell;

use bytes::Bytes;
use roster_core::{
    Command, GroupCommand, Idempotency, Refusal, Rules, Stored, Timestamp, User,
    found_by::{Decided, decided},
};

/// A command on its way to the writer.
pub(crate) struct Prepared {
    pub(super) asked: Asked,
    /// Taken by the writer when it judges; a command that is carried out once more has none.
    foreseen: Cell<Option<Box<Foreseen>>>,
}

/// What is asked for.
pub(super) enum Asked {
    /// A change of a user.
    User(Command),
    /// A change of a group.
    Group(GroupCommand),
}

impl Asked {
    /// When it was asked for, and the mark of a request that may come twice.
    pub(super) const fn mark(&self) -> (Timestamp, Option<&Idempotency>) {
        match self {
            Self::User(command) => (command.at, command.idempotency.as_ref()),
            Self::Group(command) => (command.at, command.idempotency.as_ref()),
        }
    }
}

/// What a command would come to.
pub(super) struct Foreseen {
    /// Upon whom it was decided; nobody for a user that is new.
    pub(super) upon: Option<(User, Bytes)>,
    pub(super) decided: Result<Decided, Refusal>,
}

impl Prepared {
    /// A command of which nothing is foreseen.
    pub(crate) fn plain(command: Command) -> Self {
        Self { asked: Asked::User(command), foreseen: Cell::default() }
    }

    /// A command about a group, which is judged at its turn.
    pub(crate) fn group(command: GroupCommand) -> Self {
        Self { asked: Asked::Group(command), foreseen: Cell::default() }
    }

    /// A command that is decided now, upon the live user that it is about, if there is one.
    pub(crate) fn upon(rules: Rules, command: Command, stored: Option<Stored>) -> Self {
        let upon = stored.map(|Stored { record, .. }| (User::from_record(&record), record));
        let upon = match upon {
            // A record that cannot be read is for the writer to tell.
            Some((Err(_), _)) => return Self::plain(command),
            Some((Ok(user), record)) => Some((user, record)),
            None => None,
        };
        let decided = decided(rules, upon.as_ref().map(|(user, _)| user), &command);
        let foreseen = Cell::new(Some(Box::new(Foreseen { upon, decided })));
        Self { asked: Asked::User(command), foreseen }
    }

    /// Whether it may be carried out.
    pub(super) fn begin(&self) -> bool {
        match &self.asked {
            Asked::User(command) => command.begin(),
            Asked::Group(command) => command.begin(),
        }
    }

    pub(super) fn take(&self) -> Option<Foreseen> {
        self.foreseen.take().map(|foreseen| *foreseen)
    }
}
