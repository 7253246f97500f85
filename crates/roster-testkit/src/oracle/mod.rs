//! The oracle: a store as plain as can be, so that it is obviously right.
//!
//! Every engine is held against it. It keeps maps in memory behind one lock, obeys
//! [`roster_core::decide()`], looks for taken names by reading all users, and answers a page by
//! filtering and sorting all of them. It must never become clever.

mod page;

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use roster_core::{
    Among, Change, Command, Decision, Deleted, Effect, Event, EventsPage, EventsQuery, Failure,
    Head, Keys, LogId, Outcome, Outlived, Rules, Status, Store, StoreError, Stored, User, UserId,
    decide,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction, Page, PageQuery},
    store::{Answer, Secret},
};

/// A store in memory.
#[derive(Debug)]
pub struct Oracle {
    rules: Rules,
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
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
        let id = command.user_id();
        let current = match command.among() {
            Among::Nobody => None,
            Among::Live => self.live.get(&id),
            Among::Deleted => self.deleted.get(&id),
        };
        let (stored, event) = match decide(rules, current.map(|kept| &kept.user), command)? {
            Decision::Unchanged => {
                let gone = || StoreError::Internal("unchanged, but not there".into());
                let stored = current.ok_or_else(gone)?.stored.clone();
                return Ok(self.outcome(Effect::Unchanged, stored));
            }
            Decision::Write(change) => {
                self.refuse_taken(&change)?;
                let (kept, event) = Kept::of(*change);
                let stored = kept.stored.clone();
                self.live.insert(id, kept);
                (stored, event)
            }
            Decision::Remove(change) => {
                let (kept, event) = Kept::of(*change);
                let stored = kept.stored.clone();
                self.live.remove(&id);
                self.deleted.insert(id, kept);
                (stored, event)
            }
            Decision::Restore(change) => {
                self.refuse_taken(&change)?;
                let (kept, event) = Kept::of(*change);
                let stored = kept.stored.clone();
                self.deleted.remove(&id);
                self.live.insert(id, kept);
                (stored, event)
            }
            Decision::Purge(event) => {
                self.deleted.remove(&id);
                for earlier in self.log.iter_mut().filter(|earlier| earlier.user_id == id) {
                    earlier.record = Bytes::new();
                }
                let stored = Stored { id, version: event.version, record: Bytes::new() };
                (stored, *event)
            }
        };
        let effect = Effect::Changed(event.kind);
        self.log.push(event);
        Ok(self.outcome(effect, stored))
    }

    fn outcome(&self, effect: Effect, stored: Stored) -> Outcome {
        Outcome { effect, stored, position: self.position(), replayed: false }
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

    fn events(&self, query: &EventsQuery) -> EventsPage {
        let head = self.position();
        let mut page = EventsPage { events: Vec::new(), reached: head, head, oldest: 1 };
        let wanted = |event: &Event| {
            query.kind.is_none_or(|kind| event.kind == kind)
                && query.user_id.is_none_or(|id| event.user_id == id)
        };
        for (position, event) in (1..).zip(&self.log) {
            if position <= query.after || !wanted(event) {
                continue;
            }
            if page.events.len() == query.limit {
                page.reached = page.events.last().map_or(query.after, |(last, _)| *last);
                break;
            }
            page.events.push((position, event.clone()));
        }
        page
    }

    fn deleted_page(&self, query: &DeletedQuery) -> DeletedPage {
        let total = u64::try_from(self.deleted.len()).unwrap_or(u64::MAX);
        let place = |kept: &Kept| DeletedKey { at: kept.user.updated_at, id: kept.user.id };
        let mut all: Vec<(DeletedKey, &Kept)> =
            self.deleted.values().map(|kept| (place(kept), kept)).collect();
        all.sort_by_key(|(place, _)| (place.at, place.id));
        if query.direction == Direction::Descending {
            all.reverse();
        }
        all.retain(|(place, _)| query.before.is_none_or(|before| place.at < before));
        if let Some(after) = query.after {
            all.retain(|(place, _)| {
                let order = (place.at, place.id).cmp(&(after.at, after.id));
                match query.direction {
                    Direction::Ascending => order == Ordering::Greater,
                    Direction::Descending => order == Ordering::Less,
                }
            });
        }
        let mut page =
            DeletedPage { items: Vec::new(), next: None, position: self.position(), total };
        let (mut last, mut bytes) = (None, 0);
        for (place, kept) in all {
            if page.items.len() == query.limit || bytes >= query.bytes_max {
                page.next = last;
                break;
            }
            bytes += kept.stored.record.len();
            page.items.push(Deleted { stored: kept.stored.clone(), at: place.at });
            last = Some(place);
        }
        page
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

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(async move { self.state().clone().apply(self.rules, &command) })
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        Box::pin(async move {
            let deleted =
                |kept: &Kept| Deleted { stored: kept.stored.clone(), at: kept.user.updated_at };
            Ok(self.state().deleted.get(&id).map(deleted))
        })
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        Box::pin(async move { Ok(self.state().deleted_page(&query)) })
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

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        Box::pin(async move { Ok(self.state().events(&query)) })
    }

    fn forget(&self, _before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        Box::pin(async { Ok(0) })
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
