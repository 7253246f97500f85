//! Commands carried out in memory, upon what is known: a result for each, and all that is to be
//! written.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use roster_core::{
    Change, Command, Effect, Event, Failure, Idempotency, Outcome, Refusal, Rules, Status, Stored,
    Timestamp, UserId,
    found_by::{FoundBy, FoundByChange},
    group::{GroupChange, left},
    limits::IDEMPOTENCY_KEEP_MS,
};

use super::{
    facts::{Claim, Current, Facts, Mark, Missing, Place, Row},
    groups::GroupWrites,
    judge::{Halt, Judgement, Names, Scene},
    prepared::Prepared,
};

/// What commands come to.
#[derive(Debug)]
pub(crate) enum Run {
    /// This has to be known first.
    Missing(Missing),
    /// All that is known was enough.
    Done(Box<Done>),
}

/// What commands come to, before it is written.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) results: Vec<Result<Told, Failure>>,
    pub(crate) writes: Writes,
}

/// An outcome whose position may still be counted from the transaction's own events.
#[derive(Debug)]
pub(crate) struct Told {
    effect: Effect,
    stored: Stored,
    position: Place,
    replayed: bool,
}

impl Told {
    /// The outcome, once it is known after which position the transaction's own events stand.
    pub(crate) fn outcome(self, before: i64) -> Outcome {
        let Self { effect, stored, position, replayed } = self;
        let position = match position {
            Place::At(position) => position,
            Place::Own(nth) => before + nth,
        };
        Outcome { effect, stored, position, replayed }
    }
}

/// A repeated request's mark that is to be kept.
#[derive(Debug)]
pub(crate) struct NewMark {
    pub(crate) key: [u8; 32],
    pub(crate) fingerprint: [u8; 32],
    pub(crate) at: Timestamp,
    pub(crate) effect: Effect,
    pub(crate) stored: Stored,
    /// How many of the transaction's own events come before or are it.
    pub(crate) nth: i64,
}

/// All that is to be written.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// The live users that differ, before and after.
    pub(crate) live: BTreeMap<UserId, Differs>,
    /// The deleted users that differ, before and after.
    pub(crate) deleted: BTreeMap<UserId, Differs>,
    /// Words, further addresses and numbers: true where one is added, false where dropped.
    pub(crate) words: BTreeMap<(String, UserId), bool>,
    pub(crate) further: BTreeMap<(i16, String, UserId), bool>,
    pub(crate) events: Vec<Event>,
    pub(crate) marks: Vec<NewMark>,
    /// Marks that have outlived their time and are in the way.
    pub(crate) outlived: Vec<[u8; 32]>,
    pub(crate) purged: Vec<UserId>,
    pub(crate) groups: GroupWrites,
    pub(crate) active: i64,
    pub(crate) suspended: i64,
    pub(crate) kept_deleted: i64,
}

/// A row before and after the transaction.
#[derive(Debug)]
pub(crate) struct Differs {
    pub(crate) was_there: bool,
    pub(crate) is: Option<Arc<Current>>,
}

impl Writes {
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.marks.is_empty()
    }

    /// Notes a change of a group, with its event.
    pub(super) fn change_group(&mut self, change: GroupChange) {
        self.events.push(change.event.clone());
        self.groups.add(change);
    }

    /// How many events there are by now.
    fn count(&self) -> i64 {
        i64::try_from(self.events.len()).unwrap_or(i64::MAX)
    }
}

/// Carries the commands out upon the facts.
pub(crate) fn run(rules: Rules, names: Names, commands: &[&Prepared], facts: &Facts) -> Run {
    let mut stage = Stage { scene: Scene::new(rules, names, facts), writes: Writes::default() };
    let mut results = Vec::with_capacity(commands.len());
    for command in commands {
        match stage.once(command) {
            Ok(told) => results.push(Ok(told)),
            Err(Halt::Failure(failure)) => results.push(Err(failure)),
            // Those behind go on: what they need is fetched at once.
            Err(Halt::Missing) => {}
        }
    }
    if stage.scene.missing.is_empty() {
        Run::Done(Box::new(Done { results, writes: stage.writes }))
    } else {
        Run::Missing(stage.scene.missing)
    }
}

struct Stage<'f> {
    scene: Scene<'f>,
    writes: Writes,
}

impl Stage<'_> {
    /// Tells again what the same request came to before; else carries it out.
    fn once(&mut self, prepared: &Prepared) -> Result<Told, Halt> {
        let mark = prepared.command().and_then(|command| Some((command.at, command.idempotency?)));
        let Some((at, Idempotency { key, fingerprint })) = mark else {
            return self.anew(prepared);
        };
        // Both are asked for, so that what either misses is fetched at once.
        let mark = self.scene.mark(&key);
        let Ok(mark) = mark else {
            let _misses_too = self.scene.judge(prepared);
            return Err(Halt::Missing);
        };
        let is_known = mark.is_some();
        let age = |mark: &Mark| at.as_millis().saturating_sub(mark.at.as_millis());
        // After its time it is as if it had never come.
        if let Some(mark) = mark.filter(|mark| age(mark) <= IDEMPOTENCY_KEEP_MS) {
            if mark.fingerprint != fingerprint {
                return Err(Refusal::KeyReused.into());
            }
            if let Some(stored) = mark.stored {
                let (effect, position) = (mark.effect, mark.position);
                return Ok(Told { effect, stored, position, replayed: true });
            }
        }
        let told = self.anew(prepared)?;
        // No request with a mark asks to be passed over.
        if told.effect != Effect::Skipped {
            if is_known {
                self.writes.outlived.push(key);
            }
            self.remember(key, fingerprint, at, &told);
        }
        Ok(told)
    }

    fn remember(&mut self, key: [u8; 32], fingerprint: [u8; 32], at: Timestamp, told: &Told) {
        let nth = self.writes.count();
        let (effect, stored) = (told.effect, told.stored.clone());
        let position = Place::Own(nth);
        let mark = Mark { fingerprint, at, effect, stored: Some(stored.clone()), position };
        self.scene.own.marks.insert(key, Some(mark));
        self.writes.marks.push(NewMark { key, fingerprint, at, effect, stored, nth });
    }

    fn anew(&mut self, prepared: &Prepared) -> Result<Told, Halt> {
        let judgement = self.scene.judge(prepared)?;
        if let (Judgement::Remove(..), Some(command)) = (&judgement, prepared.command()) {
            self.leave_groups(command)?;
        }
        Ok(self.write(judgement))
    }

    /// A user that is deleted leaves its groups; each of them is another one in its place.
    fn leave_groups(&mut self, command: &Command) -> Result<(), Halt> {
        let id = command.user_id();
        for group in self.scene.groups_of(id)? {
            let change = left(&group, id, command.at, &command.caller);
            self.scene.groups.insert(group.id, change.group.clone());
            self.writes.change_group(change);
        }
        self.scene.own.groups_of.insert(id, Vec::new());
        Ok(())
    }

    fn write(&mut self, judgement: Judgement) -> Told {
        match judgement {
            Judgement::Stands(effect, stored) => {
                let position = Place::Own(self.writes.count());
                Told { effect, stored, position, replayed: false }
            }
            Judgement::Create(change, found_by) => {
                self.found_by(change.user.id, found_by);
                self.enter(&change);
                self.append(*change)
            }
            Judgement::Replace(change, found_by, current) => {
                self.found_by(change.user.id, found_by);
                self.leave(&current);
                self.enter(&change);
                self.append(*change)
            }
            Judgement::Remove(change, found_by, current) => {
                self.found_by(change.user.id, found_by);
                self.leave(&current);
                self.writes.kept_deleted += 1;
                self.keep_deleted(change.user.id, Some(current_of(&change)));
                self.append(*change)
            }
            Judgement::Restore(change, found_by) => {
                self.found_by(change.user.id, found_by);
                self.writes.kept_deleted -= 1;
                self.keep_deleted(change.user.id, None);
                self.enter(&change);
                self.append(*change)
            }
            Judgement::Purge(event, current) => self.purge(*event, &current),
        }
    }

    /// A live user as it is from now on.
    fn enter(&mut self, change: &Change) {
        let current = current_of(change);
        *self.count(change.user.status) += 1;
        self.claim(&current, Some(change.user.id));
        self.live(change.user.id, Some(current));
    }

    /// A live user as it was until now.
    fn leave(&mut self, current: &Arc<Current>) {
        *self.count(current.user.status) -= 1;
        self.claim(current, None);
        self.live(current.user.id, None);
    }

    /// Who holds the user's keys from now on. Keys that may be shared are never asked about.
    fn claim(&mut self, current: &Current, holder: Option<UserId>) {
        let keys = roster_core::Keys::of(&current.user);
        self.scene.claim(Claim::Username(keys.username), holder);
        if let Some(key) = keys.email {
            self.scene.claim(Claim::Email(key), holder);
        }
        if let Some(key) = keys.external_id {
            self.scene.claim(Claim::ExternalId(key), holder);
        }
    }

    fn live(&mut self, id: UserId, is: Option<Arc<Current>>) {
        self.scene.own.live.insert(id, row(is.as_ref()));
        let was_there = self.scene.was_live(id);
        self.writes.live.insert(id, Differs { was_there, is });
    }

    fn keep_deleted(&mut self, id: UserId, is: Option<Arc<Current>>) {
        self.scene.own.deleted.insert(id, row(is.as_ref()));
        let was_there = self.scene.was_deleted(id);
        self.writes.deleted.insert(id, Differs { was_there, is });
    }

    fn purge(&mut self, event: Event, current: &Current) -> Told {
        let id = current.user.id;
        self.keep_deleted(id, None);
        self.writes.kept_deleted -= 1;
        self.writes.purged.push(id);
        // What the transaction itself would have told of the user.
        for own in self.writes.events.iter_mut().filter(|own| own.user_id == id) {
            own.record = Bytes::new();
        }
        self.writes.marks.retain(|mark| mark.stored.id != id);
        let is_other = |mark: &Option<Mark>| {
            let stored = mark.as_ref().and_then(|mark| mark.stored.as_ref());
            stored.is_none_or(|stored| stored.id != id)
        };
        self.scene.forget_marks(is_other);
        self.append_event(event, Bytes::new())
    }

    fn append(&mut self, change: Change) -> Told {
        let Change { event, record, .. } = change;
        self.append_event(event, record)
    }

    fn append_event(&mut self, event: Event, record: Bytes) -> Told {
        let stored = Stored { id: event.user_id, version: event.version, record };
        let effect = Effect::Changed(event.kind);
        self.writes.events.push(event);
        Told { effect, stored, position: Place::Own(self.writes.count()), replayed: false }
    }

    fn found_by(&mut self, id: UserId, change: FoundByChange) {
        let mut note = |found_by: FoundBy, added: bool| {
            let FoundBy { words, emails, phone_numbers } = found_by;
            for word in words {
                toggle(&mut self.writes.words, (word, id), added);
            }
            for (kind, keys) in [(EMAIL, emails), (PHONE_NUMBER, phone_numbers)] {
                for key in keys {
                    toggle(&mut self.writes.further, (kind, key, id), added);
                }
            }
        };
        note(change.dropped, false);
        note(change.added, true);
    }

    fn count(&mut self, status: Status) -> &mut i64 {
        match status {
            Status::Active => &mut self.writes.active,
            Status::Suspended => &mut self.writes.suspended,
        }
    }
}

/// The number of an e-mail address's kind in `further_keys`.
pub(crate) const EMAIL: i16 = 0;
/// The number of a telephone number's kind in `further_keys`.
pub(crate) const PHONE_NUMBER: i16 = 1;

/// Notes that a row is added or dropped; what is both comes to nothing.
fn toggle<K: Ord>(rows: &mut BTreeMap<K, bool>, key: K, added: bool) {
    match rows.get(&key) {
        Some(before) if *before != added => {
            rows.remove(&key);
        }
        _ => {
            rows.insert(key, added);
        }
    }
}

fn current_of(change: &Change) -> Arc<Current> {
    Arc::new(Current { user: change.user.clone(), record: change.record.clone() })
}

fn row(is: Option<&Arc<Current>>) -> Row {
    is.map_or(Row::Nobody, |current| Row::There(Arc::clone(current)))
}
