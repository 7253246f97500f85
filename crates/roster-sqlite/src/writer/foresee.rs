//! What a command comes to, decided before its turn.
//!
//! Deciding asks nothing of the store but the user, so whoever asks does it, on the thread that
//! asks, upon what is stored at that moment. The writer holds that against the row it finds: the
//! same record, the same decision; else it decides anew. There is one writer and it has all the
//! writing to do, so what others can do for it they do.

use std::cell::Cell;

use bytes::Bytes;
use roster_core::{Change, Command, Decision, Refusal, Rules, Stored, User, decide};

use super::found_by::{FoundBy, touches};

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

/// A decision, and what it makes of the rows by which the user is found.
pub(super) struct Decided {
    pub(super) decision: Decision,
    pub(super) found_by: FoundByChange,
}

/// By what a user is found no more, and by what from now on.
#[derive(Default)]
pub(super) struct FoundByChange {
    pub(super) dropped: FoundBy,
    pub(super) added: FoundBy,
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

    pub(super) fn take(&self) -> Option<Foreseen> {
        self.foreseen.take().map(|foreseen| *foreseen)
    }
}

/// Decides upon a command.
pub(super) fn decided(
    rules: Rules,
    current: Option<&User>,
    command: &Command,
) -> Result<Decided, Refusal> {
    let decision = decide(rules, current, command)?;
    let found_by = match (&decision, current) {
        (Decision::Write(change), Some(current)) => revised(change, current),
        (Decision::Write(change), None) | (Decision::Restore(change), _) => {
            FoundByChange { added: FoundBy::of(&change.user), ..FoundByChange::default() }
        }
        (Decision::Remove(_), Some(current)) => {
            FoundByChange { dropped: FoundBy::of(current), ..FoundByChange::default() }
        }
        (Decision::Remove(_) | Decision::Unchanged | Decision::Purge(_), _) => {
            FoundByChange::default()
        }
    };
    Ok(Decided { decision, found_by })
}

fn revised(change: &Change, current: &User) -> FoundByChange {
    if !touches(&change.event.changed) {
        return FoundByChange::default();
    }
    let (before, after) = (FoundBy::of(current), FoundBy::of(&change.user));
    FoundByChange { dropped: before.without(&after), added: after.without(&before) }
}
