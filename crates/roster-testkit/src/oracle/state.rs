//! The state of the oracle, and how a command changes it.
//!
//! A command changes the maps directly. Nothing is ever rolled back, because every check comes
//! before the first change. A preview executes the command on a copy of the state.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use roster_core::{
    Act, Change, Claims, ClockMark, Command, Decision, Deleted, Effect, Event, Failure, Group,
    GroupId, Head, Idempotency, Keys, MatchBy, OnConflict, Outcome, Outlived, Refusal, Rules,
    Status, StoreError, Stored, Target, Timestamp, Upsert, User, UserAct, UserId, UserSchema,
    UsernameOrigin, decide,
    decide::{Holders, MatchKey},
    schema::IndexStatus,
    webhook::{StoredWebhook, WebhookDelivery, WebhookId},
};

/// All data of the oracle.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) live: BTreeMap<UserId, Entry>,
    /// The live users that hold a name. Without it a case of 20,000 users would take a minute.
    pub(super) holders: BTreeMap<Name, BTreeSet<UserId>>,
    pub(super) deleted: BTreeMap<UserId, Entry>,
    /// The maximum number of live users, if there is one.
    pub(super) users_max: Option<i64>,
    /// Whether the tenant was deleted.
    pub(super) is_deleted: bool,
    pub(super) webhooks: BTreeMap<WebhookId, StoredWebhook>,
    pub(super) webhook_deliveries: BTreeMap<WebhookId, Vec<WebhookDelivery>>,
    /// Each event with its position, the oldest first.
    pub(super) log: Vec<(i64, Event)>,
    /// The position of the last event, even if that event has been deleted.
    pub(super) position: i64,
    pub(super) clock_mark: Option<ClockMark>,
    pub(super) schema: UserSchema,
    pub(super) groups: BTreeMap<GroupId, Group>,
    /// Direct memberships: pairs of a group and a member.
    pub(super) memberships: BTreeSet<(GroupId, UserId)>,
    /// The results of requests with an idempotency key, by that key.
    pub(super) results: BTreeMap<[u8; 32], StoredResult>,
}

/// What a live user holds, so that others may not have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Username(String),
    Email(String),
    ExternalId(String),
}

impl Name {
    /// The names of a user.
    fn all(
        username: Option<&String>,
        email: Option<&String>,
        external_id: Option<&String>,
    ) -> [Option<Self>; 3] {
        [
            username.cloned().map(Self::Username),
            email.cloned().map(Self::Email),
            external_id.cloned().map(Self::ExternalId),
        ]
    }
}

/// A user with its lookup keys and its record.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) user: User,
    pub(super) keys: Keys,
    pub(super) stored: Stored,
}

/// The stored result of a request.
#[derive(Clone, Debug)]
pub(super) struct StoredResult {
    fingerprint: [u8; 32],
    at: Timestamp,
    outcome: Outcome,
}

impl State {
    /// Executes a command, or returns the stored result of the same request.
    pub(super) fn apply(&mut self, rules: Rules, command: &Command) -> Result<Outcome, Failure> {
        if self.is_deleted {
            return Err(Refusal::TenantNotFound.into());
        }
        let Some(mark) = command.idempotency else { return self.execute(rules, command) };
        if let Some(outcome) = self.recall(mark)? {
            return Ok(outcome);
        }
        let outcome = self.execute(rules, command)?;
        let Idempotency { key, fingerprint } = mark;
        // A replay of a create that was skipped returns the user as unchanged.
        let effect = match outcome.effect {
            Effect::Skipped => Effect::Unchanged,
            effect @ (Effect::Unchanged | Effect::Changed(_)) => effect,
        };
        let first = Outcome { effect, ..outcome.clone() };
        self.results.insert(key, StoredResult { fingerprint, at: command.at, outcome: first });
        Ok(outcome)
    }

    /// The outcome that a command would have. Ignores its idempotency key.
    pub(super) fn preview(&self, rules: Rules, command: &Command) -> Result<Outcome, Failure> {
        let outcome = self.clone().execute(rules, command)?;
        Ok(Outcome { position: self.position, ..outcome })
    }

    /// The stored result of the same request, if there is one.
    fn recall(&self, mark: Idempotency) -> Result<Option<Outcome>, Failure> {
        let Some(result) = self.results.get(&mark.key) else { return Ok(None) };
        if result.fingerprint != mark.fingerprint {
            return Err(Refusal::KeyReused.into());
        }
        Ok(Some(Outcome { replayed: true, ..result.outcome.clone() }))
    }

    fn execute(&mut self, rules: Rules, command: &Command) -> Result<Outcome, Failure> {
        match &command.act {
            Act::User(act) => self.execute_user(rules, act, command),
            Act::Group(act) => self.execute_group(rules, act, command),
            Act::Schema(draft) => self.replace_schema(draft, command),
        }
    }

    fn execute_user(
        &mut self,
        rules: Rules,
        act: &UserAct,
        command: &Command,
    ) -> Result<Outcome, Failure> {
        if let Some(key) = act.match_key(rules, &self.schema)?
            && let Some(id) = self.matched(&key)
        {
            return self.update(rules, act, command, id);
        }
        let id = act.id();
        let own = (act.target() != Target::New).then_some(id);
        let current = match act.target() {
            Target::New => None,
            Target::Live => self.live.get(&id),
            Target::Deleted => self.deleted.get(&id),
        };
        let user = current.map(|entry| &entry.user);
        let decision = decide(rules, &self.schema, user, act, command);
        if let (Err(Refusal::Invalid(_)), Some(claims)) =
            (&decision, act.selecting(rules, &self.schema))
            && let Some(conflict) = self.conflict(&claims, None)
            && let [selected] = conflict.holders().as_slice()
        {
            return self.update(rules, act, command, *selected);
        }
        match decision? {
            Decision::Unchanged => {
                let missing =
                    || StoreError::Internal("the user of an unchanged result is missing".into());
                let stored = current.ok_or_else(missing)?.stored.clone();
                Ok(self.outcome(Effect::Unchanged, stored))
            }
            Decision::Write(change) => match self.conflict(&change.claims, own) {
                None if self.is_kept_id_taken(act) => Err(Refusal::IdTaken.into()),
                None if self.is_full(act) => Err(Refusal::QuotaExceeded.into()),
                None => {
                    let (entry, event) = Entry::of(&change);
                    self.insert_live(id, entry.clone());
                    Ok(self.append(event, entry.stored))
                }
                Some(conflict) => self.resolve_conflict(rules, act, command, conflict),
            },
            Decision::Remove(change) => {
                let (entry, mut event) = Entry::of(&change);
                event.members.removed = self.leave_all(id, command.at, &command.caller);
                self.remove_live(id);
                self.deleted.insert(id, entry.clone());
                Ok(self.append(event, entry.stored))
            }
            Decision::Restore(change) => {
                if let Some(conflict) = self.conflict(&change.claims, own) {
                    return Err(conflict.refusal.into());
                }
                if self.is_full(act) {
                    return Err(Refusal::QuotaExceeded.into());
                }
                let (entry, event) = Entry::of(&change);
                let left = self.groups_left(act);
                self.deleted.remove(&id);
                self.insert_live(id, entry.clone());
                let outcome = self.append(event, entry.stored);
                self.rejoin(id, left, command);
                Ok(Outcome { position: self.position, ..outcome })
            }
            Decision::Purge(event) => {
                self.deleted.remove(&id);
                for (_, earlier) in self.log.iter_mut().filter(|(_, event)| event.user_id == id) {
                    earlier.record = Bytes::new();
                }
                self.results.retain(|_, result| result.outcome.stored.id != id);
                let stored = Stored { id, version: event.version, record: Bytes::new() };
                Ok(self.append(Event::clone(&event), stored))
            }
        }
    }

    fn insert_live(&mut self, id: UserId, entry: Entry) {
        self.remove_live(id);
        for name in entry.names().into_iter().flatten() {
            self.holders.entry(name).or_default().insert(id);
        }
        self.live.insert(id, entry);
    }

    fn remove_live(&mut self, id: UserId) {
        let Some(entry) = self.live.remove(&id) else { return };
        for name in entry.names().into_iter().flatten() {
            self.holders.entry(name).or_default().remove(&id);
        }
    }

    /// Whether an act adds a live user, and there are as many as there may be.
    fn is_full(&self, act: &UserAct) -> bool {
        let live = i64::try_from(self.live.len()).unwrap_or(i64::MAX);
        act.target() != Target::Live && self.users_max.is_some_and(|most| live >= most)
    }

    /// Whether a create should keep an id that is in use.
    fn is_kept_id_taken(&self, act: &UserAct) -> bool {
        let UserAct::Create { draft, .. } = act else { return false };
        draft.kept_id().is_some_and(|id| {
            self.live.contains_key(&id)
                || self.deleted.contains_key(&id)
                || self.groups.contains_key(&id)
                || self.webhooks.contains_key(&WebhookId(id))
                || self.log.iter().any(|(_, event)| event.user_id == id && !event.kind.is_of_user())
        })
    }

    /// The first user that has a value by which a create matches.
    fn matched(&self, key: &MatchKey) -> Option<UserId> {
        let has_it = |entry: &&Entry| match key {
            MatchKey::ExternalId(id) => entry.keys.external_id.as_ref() == Some(id),
            MatchKey::Indexed(kind, key) => {
                let index = self.schema.index(*kind);
                index.is_some_and(|index| index.keys(&entry.user).contains(key))
            }
        };
        self.live.values().find(has_it).map(|entry| entry.user.id)
    }

    /// Applies the `on_conflict` of a create whose username, address or external id is taken.
    fn resolve_conflict(
        &mut self,
        rules: Rules,
        act: &UserAct,
        command: &Command,
        conflict: Conflict,
    ) -> Result<Outcome, Failure> {
        let UserAct::Create { upsert: Upsert { on_conflict, match_by }, .. } = act else {
            return Err(conflict.refusal.into());
        };
        match (match_by, on_conflict, conflict.holders().as_slice()) {
            (MatchBy::ExternalId | MatchBy::Indexed(_), ..) | (_, OnConflict::Fail, _) => {
                Err(conflict.refusal.into())
            }
            (_, OnConflict::Skip, [holder, ..]) | (_, _, [holder]) => {
                self.update(rules, act, command, *holder)
            }
            _ => Err(conflict.refusal.into()),
        }
    }

    /// Applies a create to a user that exists: replaces it, merges into it or skips it.
    fn update(
        &mut self,
        rules: Rules,
        act: &UserAct,
        command: &Command,
        id: UserId,
    ) -> Result<Outcome, Failure> {
        if let Some(update) = act.updating(id) {
            return self.execute(rules, &command.updating_instead(update));
        }
        let stored = self.live.get(&id).map(|entry| entry.stored.clone());
        let missing = || StoreError::Internal("the user that holds a name is missing".into());
        Ok(self.outcome(Effect::Skipped, stored.ok_or_else(missing)?))
    }

    /// The users other than the one that claims them that hold a name, address or external id.
    fn conflict(&self, claims: &Claims, own: Option<UserId>) -> Option<Conflict> {
        let Claims { username, email, external_id, .. } = claims;
        let names = Name::all(username.as_ref(), email.as_ref(), external_id.as_ref());
        let [username, email, external_id] = names.map(|name| {
            let holders = self.holders.get(&name?)?;
            holders.iter().copied().find(|holder| Some(*holder) != own)
        });
        let indexed: Vec<(String, Option<UserId>)> = claims
            .indexed
            .iter()
            .filter_map(|(kind, key)| {
                let index = self.schema.index(*kind)?;
                let mut others = self.live.values().filter(|entry| Some(entry.user.id) != own);
                let holder = others.find(|entry| index.keys(&entry.user).contains(key))?;
                let selected = Some(holder.user.id).filter(|_| index.status == IndexStatus::Ready);
                Some((index.member.name().into_owned(), selected))
            })
            .collect();
        let holders = Holders { username, email, external_id, indexed };
        let refusal = claims.refuse(&holders)?;
        // A value that users share selects none of them.
        let indexed = holders.indexed.into_iter().filter_map(|(_, holder)| holder).collect();
        // A username that the client did not send selects no user.
        let username = username.filter(|_| claims.username_origin == UsernameOrigin::Given);
        Some(Conflict { refusal, username, email, external_id, indexed })
    }

    pub(super) fn append(&mut self, event: Event, stored: Stored) -> Outcome {
        let effect = Effect::Changed(event.kind);
        self.append_event(event);
        self.outcome(effect, stored)
    }

    pub(super) fn append_event(&mut self, event: Event) {
        self.position += 1;
        self.log.push((self.position, event));
    }

    /// Notes the bytes of the events that a command appended to this many earlier ones, and of the
    /// record that its stored result copies if there is no event.
    pub(super) fn note_logged(
        &self,
        before: usize,
        command: &Command,
        result: &Result<Outcome, Failure>,
    ) {
        let events: usize = self.log.iter().skip(before).map(|(_, event)| event.bytes()).sum();
        let copy = match result {
            Ok(Outcome {
                effect: Effect::Unchanged | Effect::Skipped,
                replayed: false,
                stored,
                ..
            }) if command.idempotency.is_some() => stored.record.len(),
            _ => 0,
        };
        command.note_logged(events + copy);
    }

    pub(super) fn outcome(&self, effect: Effect, stored: Stored) -> Outcome {
        Outcome { effect, stored, position: self.position, replayed: false }
    }

    /// The position, and the counters, which are computed at each call.
    pub(super) fn head(&self) -> Head {
        let active = self.live.values().filter(|entry| entry.user.status == Status::Active).count();
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        Head {
            position: self.position,
            active: count(active),
            suspended: count(self.live.len() - active),
            deleted: count(self.deleted.len()),
        }
    }

    /// Deletes expired idempotency records and the oldest events. Returns how many.
    pub(super) fn forget(&mut self, before: Outlived) -> u64 {
        let first_kept = self.log.iter().find(|(_, event)| event.at >= before.events_before);
        let last = first_kept.map_or(self.position, |(position, _)| position - 1);
        self.forget_keys(before.keys_before) + self.forget_events(last)
    }

    /// Deletes expired idempotency records. Returns how many.
    pub(super) fn forget_keys(&mut self, before: Timestamp) -> u64 {
        let before_count = self.results.len();
        self.results.retain(|_, result| result.at >= before);
        u64::try_from(before_count - self.results.len()).unwrap_or(u64::MAX)
    }

    /// Deletes the events up to a position. Returns how many.
    pub(super) fn forget_events(&mut self, last: i64) -> u64 {
        let before_count = self.log.len();
        self.log.retain(|(position, _)| *position > last);
        u64::try_from(before_count - self.log.len()).unwrap_or(u64::MAX)
    }
}

/// The users that the values of a create select because they hold them, and the refusal to return.
struct Conflict {
    refusal: Refusal,
    username: Option<UserId>,
    email: Option<UserId>,
    external_id: Option<UserId>,
    indexed: Vec<UserId>,
}

impl Conflict {
    /// Each holder once; the holder of the username first.
    fn holders(&self) -> Vec<UserId> {
        let mut seen = BTreeSet::new();
        let all = [self.username, self.email, self.external_id].into_iter().flatten();
        let all = all.chain(self.indexed.iter().copied());
        all.filter(|id| seen.insert(*id)).collect()
    }
}

impl Entry {
    fn of(change: &Change) -> (Self, Event) {
        let (user, keys) = (User::clone(&change.user), change.keys.clone());
        let stored = Stored { id: user.id, version: user.version, record: change.record.clone() };
        (Self { user, keys, stored }, Event::clone(&change.event))
    }

    fn names(&self) -> [Option<Name>; 3] {
        let Keys { username, email, external_id, .. } = &self.keys;
        Name::all(Some(username), email.as_ref(), external_id.as_ref())
    }

    /// A deleted user, with the time of its deletion, which was its last change.
    pub(super) fn as_deleted(&self) -> Deleted {
        Deleted { stored: self.stored.clone(), at: self.user.updated_at }
    }
}
