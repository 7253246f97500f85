//! What a command comes to, decided before its turn.
//!
//! Deciding asks nothing of the store but the user, so whoever asks does it, on the thread that
//! asks, upon what is stored at that moment. The writer holds that against the row it finds: the
//! same record, the same decision; else it decides anew. There is one writer and it has all the
//! writing to do, so what others can do for it they do.

use std::cell::Cell;

use bytes::Bytes;
use roster_core::{
    Command, Refusal, Rules, Stored, User,
    found_by::{Decided, decided},
};

/// A command on its way to the writer.
pub(crate) struct Prepared {
    pub(super) command: Command,
    /// Taken by the writer when it judges; a command that is carried out once more has none.
    foreseen: Cell<Option<Box<Foreseen>>>,
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
        Self { command, foreseen: Cell::default() }
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
        Self { command, foreseen }
    }

    /// Whether it may be carried out.
    pub(super) fn begin(&self) -> bool {
        self.command.begin()
    }

    pub(super) fn take(&self) -> Option<Foreseen> {
        self.foreseen.take().map(|foreseen| *foreseen)
    }
}
