//! What the oracle keeps, and what a command does to it.
//!
//! A command is carried out on the maps at once; nothing here is undone, since all that may be
//! refused is refused before anything is changed. A preview is the same on a copy.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use roster_core::{
    Act, Change, ClockMark, Command, Decision, Deleted, Effect, Event, Failure, Group, GroupId,
    Head, Idempotency, Keys, MatchBy, OnConflict, Outcome, Outlived, Refusal, Rules, Status,
    StoreError, Stored, Target, Timestamp, Upsert, User, UserId, UserSchema, access::Keyring,
    decide, limits::IDEMPOTENCY_KEEP_MS,
};

/// All that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) live: BTreeMap<UserId, Kept>,
    pub(super) deleted: BTreeMap<UserId, Kept>,
    /// Each event with its position, the oldest first.
    pub(super) log: Vec<(i64, Event)>,
    /// The position of the last event, whether it is kept or not.
    pub(super) position: i64,
    pub(super) clock_mark: Option<ClockMark>,
    pub(super) schema: UserSchema,
    /// The keys of callers.
    pub(super) keyring: Keyring,
    pub(super) groups: BTreeMap<GroupId, Group>,
    /// Who is a direct member of which group.
    pub(super) memberships: BTreeSet<(GroupId, UserId)>,
    /// What the requests with an idempotency key came to.
    pub(super) done: BTreeMap<[u8; 32], Done>,
}

/// A user with its keys.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) user: User,
    pub(super) keys: Keys,
    pub(super) stored: Stored,
}

/// What a request came to.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) fingerprint: [u8; 32],
    pub(super) at: Timestamp,
    pub(super) outcome: Outcome,
}

impl State {
    /// Carries a command out, unless it came before.
    pub(super) fn apply(&mut self, rules: Rules, command: &Command) -> Result<Outcome, Failure> {
        let Some(mark) = command.idempotency else { return self.carry_out(rules, command) };
        if let Some(outcome) = self.recall(mark, command.at)? {
            return Ok(outcome);
        }
        let outcome = self.carry_out(rules, command)?;
        let Idempotency { key, fingerprint } = mark;
        // A repeated create that was skipped gets the user as unchanged.
        let effect = match outcome.effect {
            Effect::Skipped => Effect::Unchanged,
            effect @ (Effect::Unchanged | Effect::Changed(_)) => effect,
        };
        let first = Outcome { effect, ..outcome.clone() };
        self.done.insert(key, Done { fingerprint, at: command.at, outcome: first });
        Ok(outcome)
    }

    /// What a command would come to, had it never come before.
    pub(super) fn preview(&self, rules: Rules, command: &Command) -> Result<Outcome, Failure> {
        let outcome = self.clone().carry_out(rules, command)?;
        Ok(Outcome { position: self.position, ..outcome })
    }

    /// What the same request came to before, if it is remembered.
    pub(super) fn recall(
        &self,
        mark: Idempotency,
        at: Timestamp,
    ) -> Result<Option<Outcome>, Failure> {
        let is_kept = |done: &&Done| at.as_millis() - done.at.as_millis() <= IDEMPOTENCY_KEEP_MS;
        let Some(done) = self.done.get(&mark.key).filter(is_kept) else { return Ok(None) };
        if done.fingerprint != mark.fingerprint {
            return Err(Refusal::KeyReused.into());
        }
        Ok(Some(Outcome { replayed: true, ..done.outcome.clone() }))
    }

    fn carry_out(&mut self, rules: Rules, command: &Command) -> Result<Outcome, Failure> {
        if let Some(external_id) = command.match_key(rules)? {
            let has_it = |kept: &&Kept| kept.keys.external_id.as_deref() == Some(external_id);
            if let Some(kept) = self.live.values().find(has_it) {
                return self.update(rules, command, kept.user.id);
            }
        }
        let id = command.user_id();
        let current = match command.target() {
            Target::New => None,
            Target::Live => self.live.get(&id),
            Target::Deleted => self.deleted.get(&id),
        };
        match decide(rules, &self.schema, current.map(|kept| &kept.user), command)? {
            Decision::Unchanged => {
                let gone = || StoreError::Internal("unchanged, but not there".into());
                let stored = current.ok_or_else(gone)?.stored.clone();
                Ok(self.outcome(Effect::Unchanged, stored))
            }
            Decision::Write(change) => match self.conflict(&change) {
                None => {
                    let (kept, event) = Kept::of(&change);
                    self.live.insert(id, kept.clone());
                    Ok(self.append(event, kept.stored))
                }
                Some(conflict) => self.settle(rules, command, conflict),
            },
            Decision::Remove(change) => {
                let (kept, event) = Kept::of(&change);
                self.leave_all_groups(command);
                self.live.remove(&id);
                self.deleted.insert(id, kept.clone());
                Ok(self.append(event, kept.stored))
            }
            Decision::Restore(change) => {
                if let Some(conflict) = self.conflict(&change) {
                    return Err(conflict.refusal.into());
                }
                let (kept, event) = Kept::of(&change);
                let left = self.groups_left(command);
                self.deleted.remove(&id);
                self.live.insert(id, kept.clone());
                let outcome = self.append(event, kept.stored);
                self.join_again(left, command);
                Ok(Outcome { position: self.position, ..outcome })
            }
            Decision::Purge(event) => {
                self.deleted.remove(&id);
                for (_, earlier) in self.log.iter_mut().filter(|(_, event)| event.user_id == id) {
                    earlier.record = Bytes::new();
                }
                self.done.retain(|_, done| done.outcome.stored.id != id);
                let stored = Stored { id, version: event.version, record: Bytes::new() };
                Ok(self.append(Event::clone(&event), stored))
            }
        }
    }

    /// A user to be created whose name or address others hold.
    fn settle(
        &mut self,
        rules: Rules,
        command: &Command,
        conflict: Conflict,
    ) -> Result<Outcome, Failure> {
        let Act::Create { upsert: Upsert { on_conflict, match_by }, .. } = &command.act else {
            return Err(conflict.refusal.into());
        };
        match (match_by, on_conflict, conflict.holders().as_slice()) {
            (MatchBy::ExternalId, ..) | (_, OnConflict::Fail, _) => Err(conflict.refusal.into()),
            (_, OnConflict::Skip, [holder, ..]) | (_, _, [holder]) => {
                self.update(rules, command, *holder)
            }
            _ => Err(conflict.refusal.into()),
        }
    }

    /// Does to a user that exists what the create says.
    fn update(&mut self, rules: Rules, command: &Command, id: UserId) -> Result<Outcome, Failure> {
        if let Some(update) = command.updating(id) {
            return self.carry_out(rules, &update);
        }
        let stored = self.live.get(&id).map(|kept| kept.stored.clone());
        let gone = || StoreError::Internal("a key without its user".into());
        Ok(self.outcome(Effect::Skipped, stored.ok_or_else(gone)?))
    }

    /// Who else holds what a change claims.
    fn conflict(&self, change: &Change) -> Option<Conflict> {
        let claims = &change.claims;
        let holder = |claim: &Option<String>, key: fn(&Keys) -> Option<&String>| {
            let claim = claim.as_ref()?;
            let mut others = self.live.values().filter(|kept| kept.user.id != change.user.id);
            others.find(|other| key(&other.keys) == Some(claim)).map(|other| other.user.id)
        };
        let username = holder(&claims.username, |keys| Some(&keys.username));
        let email = holder(&claims.email, |keys| keys.email.as_ref());
        let external_id = holder(&claims.external_id, |keys| keys.external_id.as_ref());
        let refusal = claims.refuse(username.is_some(), email.is_some(), external_id.is_some())?;
        Some(Conflict { refusal, username, email, external_id })
    }

    pub(super) fn append(&mut self, event: Event, stored: Stored) -> Outcome {
        let effect = Effect::Changed(event.kind);
        self.position += 1;
        self.log.push((self.position, event));
        self.outcome(effect, stored)
    }

    pub(super) fn outcome(&self, effect: Effect, stored: Stored) -> Outcome {
        Outcome { effect, stored, position: self.position, replayed: false }
    }

    /// Position and counters, counted anew.
    pub(super) fn head(&self) -> Head {
        let active = self.live.values().filter(|kept| kept.user.status == Status::Active).count();
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        Head {
            position: self.position,
            active: count(active),
            suspended: count(self.live.len() - active),
            deleted: count(self.deleted.len()),
        }
    }

    /// Forgets all that has outlived its time; of the log, only from its start.
    pub(super) fn forget(&mut self, before: Outlived) -> u64 {
        let kept = self.done.len() + self.log.len();
        self.done.retain(|_, done| done.at >= before.keys_before);
        let young = self.log.iter().position(|(_, event)| event.at >= before.events_before);
        self.log.drain(..young.unwrap_or(self.log.len()));
        let forgotten = kept - self.done.len() - self.log.len();
        u64::try_from(forgotten).unwrap_or(u64::MAX)
    }
}

/// Who holds what a user claims, and the refusal for it.
struct Conflict {
    refusal: Refusal,
    username: Option<UserId>,
    email: Option<UserId>,
    external_id: Option<UserId>,
}

impl Conflict {
    /// Each holder once; the one of the user name first.
    fn holders(&self) -> Vec<UserId> {
        let mut seen = BTreeSet::new();
        let all = [self.username, self.email, self.external_id].into_iter().flatten();
        all.filter(|id| seen.insert(*id)).collect()
    }
}

impl Kept {
    fn of(change: &Change) -> (Self, Event) {
        let (user, keys) = (change.user.clone(), change.keys.clone());
        let stored = Stored { id: user.id, version: user.version, record: change.record.clone() };
        (Self { user, keys, stored }, Event::clone(&change.event))
    }

    /// A user as it was when it left: its last change.
    pub(super) fn as_deleted(&self) -> Deleted {
        Deleted { stored: self.stored.clone(), at: self.user.updated_at }
    }
}
