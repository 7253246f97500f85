//! A command on its way to a writer, with what was decided about it.
//!
//! Deciding asks nothing of the database but the user. It is done once for each record that the
//! command meets: on the thread that asks where there is no record yet, else when it was loaded.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use roster_core::{
    Among, Command, Refusal, Rules,
    found_by::{Decided, decided},
};

use super::facts::Current;

/// A command on its way to a writer.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: Command,
    known: Mutex<Option<Known>>,
}

/// What a command comes to upon a record.
#[derive(Clone, Debug)]
struct Known {
    upon: Option<Bytes>,
    decided: Arc<Result<Decided, Refusal>>,
}

impl Prepared {
    /// A command of which nothing is decided.
    pub(crate) fn plain(command: Command) -> Self {
        Self { command, known: Mutex::default() }
    }

    /// A command that is decided now, if it is about nobody yet.
    pub(crate) fn new(rules: Rules, command: Command) -> Self {
        let prepared = Self::plain(command);
        if prepared.command.among() == Among::Nobody {
            prepared.know(rules, None);
        }
        prepared
    }

    /// What is decided about it upon that user.
    pub(crate) fn decided(
        &self,
        rules: Rules,
        current: Option<&Current>,
    ) -> Result<Decided, Refusal> {
        let kept = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let upon = current.map(|current| &current.record);
        let known = match kept.filter(|known| known.upon.as_ref() == upon) {
            Some(known) => known.decided,
            None => self.know(rules, current),
        };
        Result::clone(&known)
    }

    fn know(&self, rules: Rules, current: Option<&Current>) -> Arc<Result<Decided, Refusal>> {
        let user = current.map(|current| &current.user);
        let decided = Arc::new(decided(rules, user, &self.command));
        let upon = current.map(|current| current.record.clone());
        let known = Known { upon, decided: Arc::clone(&decided) };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        decided
    }
}
