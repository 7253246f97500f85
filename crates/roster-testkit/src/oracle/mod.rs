//! The oracle: a store as plain as can be, so that it is obviously right.
//!
//! Every engine is held against it. It keeps maps in memory behind one lock, obeys
//! [`roster_core::decide()`], looks for taken names by reading all users, and answers a page by
//! filtering and sorting all of them. It must never become clever.

mod page;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use roster_core::{
    Change, Command, Decision, Event, Failure, Head, Keys, LogId, Outcome, Rules, Status, Store,
    StoreError, Stored, User, UserId, decide,
    list::{Page, PageQuery},
    store::{Answer, Secret},
};

/// A store in memory.
#[derive(Debug)]
pub struct Oracle {
    rules: Rules,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    live: BTreeMap<UserId, Kept>,
    deleted: BTreeMap<UserId, Kept>,
    /// The event of position n stands at index n - 1.
    log: Vec<Event>,
}

#[derive(Clone, Debug)]
struct Kept {
    user: User,
    keys: Keys,
    stored: Stored,
}

impl Oracle {
    /// An empty store that goes by these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn apply(&mut self, rules: Rules, command: &Command) -> Result<Outcome, Failure> {
        let current = self.live.get(&command.user_id());
        match decide(rules, current.map(|kept| &kept.user), command)? {
            Decision::Unchanged => {
                let gone = || StoreError::Internal("unchanged, but not there".into());
                let stored = current.ok_or_else(gone)?.stored.clone();
                Ok(Outcome { stored, position: self.position() })
            }
            Decision::Write(change) => {
                self.refuse_taken(&change)?;
                let (kept, event) = Kept::of(*change);
                let stored = kept.stored.clone();
                self.live.insert(stored.id, kept);
                self.log.push(event);
                Ok(Outcome { stored, position: self.position() })
            }
            Decision::Remove(change) => {
                let (kept, event) = Kept::of(*change);
                let stored = kept.stored.clone();
                self.live.remove(&stored.id);
                self.deleted.insert(stored.id, kept);
                self.log.push(event);
                Ok(Outcome { stored, position: self.position() })
            }
        }
    }

    fn refuse_taken(&self, change: &Change) -> Result<(), Failure> {
        let claims = &change.claims;
        let held = |claim: &Option<String>, key: fn(&Keys) -> Option<&String>| {
            let Some(claim) = claim else { return false };
            let mut others = self.live.values().filter(|kept| kept.user.id != change.user.id);
            others.any(|other| key(&other.keys) == Some(claim))
        };
        let username = held(&claims.username, |keys| Some(&keys.username));
        let email = held(&claims.email, |keys| keys.email.as_ref());
        let external_id = held(&claims.external_id, |keys| keys.external_id.as_ref());
        match claims.refuse(username, email, external_id) {
            Some(refusal) => Err(refusal.into()),
            None => Ok(()),
        }
    }

    fn position(&self) -> i64 {
        count(self.log.len())
    }

    fn head(&self) -> Head {
        let active = self.live.values().filter(|kept| kept.user.status == Status::Active).count();
        Head {
            position: self.position(),
            active: count(active),
            suspended: count(self.live.len() - active),
            deleted: count(self.deleted.len()),
        }
    }

    fn events_after(&self, position: i64, limit: usize) -> Vec<(i64, Event)> {
        let numbered = (1..).zip(self.log.iter().cloned());
        numbered.filter(|(number, _)| *number > position).take(limit).collect()
    }
}

impl Kept {
    fn of(change: Change) -> (Self, Event) {
        let Change { user, record, keys, event, claims: _ } = change;
        let stored = Stored { id: user.id, version: user.version, record };
        (Self { user, keys, stored }, event)
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store for Oracle {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(async move {
            let mut state = self.state();
            commands.iter().map(|command| state.apply(self.rules, command)).collect()
        })
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(async move { Ok(self.state().live.get(&id).map(|kept| kept.stored.clone())) })
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            Ok(page::page(state.live.values(), state.position(), &query))
        })
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        Box::pin(async move { Ok(self.state().head()) })
    }

    fn events_after(
        &self,
        position: i64,
        limit: usize,
    ) -> Answer<'_, Result<Vec<(i64, Event)>, StoreError>> {
        Box::pin(async move { Ok(self.state().events_after(position, limit)) })
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn secret(&self) -> Secret {
        Secret([7; 32])
    }

    fn log_id(&self) -> LogId {
        LogId([7; 8])
    }
}
