//! A command on its way to a writer, with what was decided about it.
//!
//! Deciding asks nothing of the database but the user. It is done once for each record that the
//! command meets: on the thread that asks where there is no record yet, else when it was loaded.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use roster_core::{
    Among, Command, GroupCommand, Refusal, Rules,
    found_by::{Decided, decided},
};

use super::facts::Current;

/// A command on its way to a writer.
#[derive(Debug)]
pub(crate) struct Prepared {
    asked: Asked,
    known: Mutex<Option<Known>>,
}

/// What is asked for.
#[derive(Debug)]
enum Asked {
    User(Command),
    Group(GroupCommand),
}

/// What a command comes to upon a record, under these rules.
#[derive(Clone, Debug)]
struct Known {
    upon: Option<Bytes>,
    rules: Rules,
    decided: Arc<Result<Decided, Refusal>>,
}

impl Prepared {
    /// A command of which nothing is decided.
    pub(crate) fn plain(command: Command) -> Self {
        Self { asked: Asked::User(command), known: Mutex::default() }
    }

    /// A command about a group.
    pub(crate) fn group(command: GroupCommand) -> Self {
        Self { asked: Asked::Group(command), known: Mutex::default() }
    }

    /// Whether it may be carried out: whoever asked has not given it up.
    pub(crate) fn begin(&self) -> bool {
        match &self.asked {
            Asked::User(command) => command.begin(),
            Asked::Group(command) => command.begin(),
        }
    }

    /// The command, where it is about a user.
    pub(crate) const fn command(&self) -> Option<&Command> {
        match &self.asked {
            Asked::User(command) => Some(command),
            Asked::Group(_) => None,
        }
    }

    /// The command, where it is about a group.
    pub(crate) const fn group_command(&self) -> Option<&GroupCommand> {
        match &self.asked {
            Asked::User(_) => None,
            Asked::Group(command) => Some(command),
        }
    }

    /// A command that is decided now, if it is about nobody yet.
    pub(crate) fn new(rules: Rules, command: Command) -> Self {
        let prepared = Self::plain(command);
        if let Some(command) = prepared.command()
            && command.among() == Among::Nobody
        {
            prepared.know(rules, command, None);
        }
        prepared
    }

    /// What is decided about the command of a user, which it is, upon that user.
    pub(crate) fn decided(
        &self,
        rules: Rules,
        command: &Command,
        current: Option<&Current>,
    ) -> Result<Decided, Refusal> {
        let kept = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let upon = current.map(|current| &current.record);
        let known = match kept.filter(|known| known.upon.as_ref() == upon && known.rules == rules) {
            Some(known) => known.decided,
            None => self.know(rules, command, current),
        };
        Result::clone(&known)
    }

    fn know(
        &self,
        rules: Rules,
        command: &Command,
        current: Option<&Current>,
    ) -> Arc<Result<Decided, Refusal>> {
        let user = current.map(|current| &current.user);
        let decided = Arc::new(decided(rules, user, command));
        let upon = current.map(|current| current.record.clone());
        let known = Known { upon, rules, decided: Arc::clone(&decided) };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        decided
    }
}
