//! Executes a batch of commands in memory: returns a result for each command, and everything that
//! must be written.
//!
//! Database reads go only through [`Facts`], and this module writes nothing. Each command is
//! decided on the facts and on the changes of the commands before it.

use std::{
    collections::{HashMap, HashSet},
    ops::AddAssign,
    sync::Arc,
};

use bytes::Bytes;
use roster_core::{
    Act, Caller, Change, Command, Decision, Effect, Event, EventKind, Failure, Group, GroupId,
    Outcome, Refusal, Rules, SchemaDraft, StoreError, Stored, Target, Timestamp, UserAct, UserId,
    UserSchema,
    decide::{MatchKey, Settlement},
    group::{GroupChange, joined, left},
    schema::decide_schema,
};

use crate::write::{
    executed::{Executed, LogPosition},
    facts::{ClaimKind, CommandError, Current, Facts},
    idempotency::IdempotencyRecord,
    queue::Results,
    request::{Request, USES_OF_ID},
    writes::{NewIdempotencyRecord, Writes, rows_of},
};

/// The number of examined or changed memberships after which a transaction is full.
pub const MEMBERSHIPS_MAX: usize = 2000;

/// The number of unique keys after which a transaction is full: an engine may lock each of them.
pub const CLAIMS_MAX: usize = 1536;

/// The number of added and deleted rows of search keys after which a transaction is full. A user
/// has at most about 10,000; the rows of 512 common users are fewer.
const SEARCH_ROWS_MAX: usize = 20_000;

/// The bytes of records, before and after their changes, after which a transaction is full: a
/// decision on a large record takes milliseconds. 512 common users have less.
const RECORD_BYTES_MAX: usize = 2 << 20;

/// What the commands of a transaction have taken so far. A full transaction executes no further
/// command. So the next commands wait for one costly command, and not for hundreds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    memberships: usize,
    pub(super) claims: usize,
    search_rows: usize,
    record_bytes: usize,
}

impl Cost {
    /// Whether the transaction is full.
    pub const fn is_full(&self) -> bool {
        self.memberships >= MEMBERSHIPS_MAX
            || self.claims >= CLAIMS_MAX
            || self.search_rows >= SEARCH_ROWS_MAX
            || self.record_bytes >= RECORD_BYTES_MAX
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.memberships += other.memberships;
        self.claims += other.claims;
        self.search_rows += other.search_rows;
        self.record_bytes += other.record_bytes;
    }
}

/// The result of a batch, before it is written.
#[derive(Debug)]
pub struct Completed {
    /// The results of the commands, in their order. There may be fewer results than commands: a
    /// later batch must execute the remaining commands.
    pub results: Vec<Result<Executed, Failure>>,
    /// Everything that must be written.
    pub writes: Writes,
    /// What the commands took.
    pub cost: Cost,
    /// Whether a user was deleted between two reads: the commands are to be executed again.
    pub is_stale: bool,
}

/// Splits the requests of a queue into batches, each about one tenant. Commands about users share a
/// batch. A command about a group has a separate batch, because it reads memberships, which a batch
/// does not keep up to date. So does a command that restores memberships. A command about the
/// schema has a separate batch too, because the commands after it are decided under the new schema.
pub fn batches<'r>(requests: &'r [&'r Request]) -> impl Iterator<Item = &'r [&'r Request]> {
    requests.chunk_by(|one, other| {
        one.tenant() == other.tenant() && one.shares_batch() && other.shares_batch()
    })
}

/// Executes a batch. If a fact is missing, the result is incomplete and must not be written.
pub fn run(
    rules: Rules,
    schema: &Arc<UserSchema>,
    requests: &[&Request],
    facts: &mut impl Facts,
) -> Completed {
    let mut batch = Batch::new(rules, Arc::clone(schema), facts, requests.len() > 1);
    let mut results = Vec::with_capacity(requests.len());
    for request in requests {
        let events_before = batch.writes.events.len();
        match batch.execute_or_replay(request) {
            Ok(executed) => {
                let events = batch.writes.events.iter().skip(events_before);
                let events: usize = events.map(|event| event.bytes()).sum();
                let copy = if executed.replayed { 0 } else { batch.stored_copy(request) };
                request.command.note_logged(events + copy);
                results.push(Ok(executed));
            }
            Err(CommandError::Failed(failure)) => results.push(Err(failure)),
            // Continue, so that one run finds all missing facts.
            Err(CommandError::MissingFact) => {}
        }
        if batch.cost().is_full() {
            break;
        }
    }
    Completed { results, cost: batch.cost(), is_stale: batch.is_stale, writes: batch.writes }
}

/// The results of the requests of a tenant that was deleted.
pub fn refuse_deleted_tenant(requests: &[&Request]) -> Results {
    requests.iter().map(|_| Err(Refusal::TenantNotFound.into())).collect()
}

/// The outcome of a request as if it were sent for the first time; `None` if a fact is missing.
/// `position` is the current position of the log.
pub fn preview(
    rules: Rules,
    schema: &Arc<UserSchema>,
    request: &Request,
    facts: &mut impl Facts,
    position: i64,
) -> Option<Result<Outcome, Failure>> {
    match Batch::new(rules, Arc::clone(schema), facts, false).execute(request) {
        Ok(executed) => Some(Ok(Outcome { position, ..executed.outcome(position) })),
        Err(CommandError::Failed(failure)) => Some(Err(failure)),
        Err(CommandError::MissingFact) => None,
    }
}

pub(crate) struct Batch<'f, F> {
    pub(crate) rules: Rules,
    pub(super) schema: Arc<UserSchema>,
    pub(crate) facts: &'f mut F,
    /// Whether there are several commands. Only then must changes be tracked for later commands.
    pub(super) has_several: bool,
    /// The users that hold unique keys after the commands so far.
    pub(super) holders: HashMap<ClaimKind, HashMap<String, Option<UserId>>>,
    /// What the commands took so far, without the memberships.
    pub(super) cost: Cost,
    is_stale: bool,
    groups: HashMap<GroupId, Group>,
    without_groups: HashSet<UserId>,
    pub(crate) writes: Writes,
}

impl<'f, F: Facts> Batch<'f, F> {
    fn new(rules: Rules, schema: Arc<UserSchema>, facts: &'f mut F, has_several: bool) -> Self {
        Self {
            rules,
            schema,
            facts,
            has_several,
            holders: HashMap::new(),
            cost: Cost::default(),
            is_stale: false,
            groups: HashMap::new(),
            without_groups: HashSet::new(),
            writes: Writes::default(),
        }
    }

    fn cost(&self) -> Cost {
        Cost { memberships: self.writes.groups.memberships(), ..self.cost }
    }

    /// Returns the stored result of a repeated request. Executes any other request.
    fn execute_or_replay(&mut self, request: &Request) -> Result<Executed, CommandError> {
        let Some(idempotency) = &request.command.idempotency else { return self.execute(request) };
        let record = self.idempotency_record(&idempotency.key)?;
        let replaces_record = record.is_some();
        if let Some(record) = record
            && let Some(executed) = record.replay(idempotency)?
        {
            return Ok(executed);
        }
        let executed = self.execute(request)?;
        // If a create was skipped, a repeated request gets the user as unchanged. The response is
        // the same.
        let effect = match executed.effect {
            Effect::Skipped => Effect::Unchanged,
            effect @ (Effect::Unchanged | Effect::Changed(_)) => effect,
        };
        let record = NewIdempotencyRecord {
            fingerprint: idempotency.fingerprint,
            at: request.command.at,
            effect,
            stored: executed.stored.clone(),
            nth: self.writes.event_count(),
            replaces_record,
        };
        self.writes.idempotency.insert(idempotency.key, record);
        Ok(executed)
    }

    /// The size of the record that the stored result of a request copies, because no event has it.
    fn stored_copy(&self, request: &Request) -> usize {
        let key = request.command.idempotency.as_ref().map(|idempotency| idempotency.key);
        match key.and_then(|key| self.writes.idempotency.get(&key)) {
            Some(NewIdempotencyRecord { effect: Effect::Unchanged, stored, .. }) => {
                stored.record.len()
            }
            _ => 0,
        }
    }

    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        if let Some(new) = self.writes.idempotency.get(key) {
            return Ok(Some(IdempotencyRecord {
                fingerprint: new.fingerprint,
                at: new.at,
                effect: new.effect,
                stored: Some(new.stored.clone()),
                position: LogPosition::InBatch(new.nth),
            }));
        }
        let record = self.facts.idempotency_record(key)?;
        // Records of a purged user are erased with it.
        let is_purged = |id: UserId| self.writes.purged.iter().any(|(purged, _)| *purged == id);
        Ok(record.filter(|record| record.stored.as_ref().is_none_or(|user| !is_purged(user.id))))
    }

    fn execute(&mut self, request: &Request) -> Result<Executed, CommandError> {
        match &request.command.act {
            Act::User(act) => self.execute_user(act, request),
            Act::Group(act) => self.execute_group(act, &request.command),
            Act::Schema(draft) => self.execute_schema(draft, &request.command),
        }
    }

    fn execute_schema(
        &mut self,
        draft: &SchemaDraft,
        command: &Command,
    ) -> Result<Executed, CommandError> {
        let Some(change) = decide_schema(&self.schema, draft, command)? else {
            return Ok(self.unchanged(Effect::Unchanged, self.schema.stored()));
        };
        self.writes.schema = Some(change.schema);
        Ok(self.append(change.event, change.record))
    }

    fn execute_user(&mut self, act: &UserAct, request: &Request) -> Result<Executed, CommandError> {
        let command = &request.command;
        let matched = act.match_key(self.rules, &self.schema)?.map(|key| match key {
            MatchKey::ExternalId(key) => (ClaimKind::ExternalId, key),
            MatchKey::Indexed(kind, key) => (ClaimKind::Indexed(kind), key),
        });
        if let Some((kind, key)) = matched
            && let Some(holder) = self.holder(kind, &key, true)?
            && let Some(settlement) = act.settle_with(holder)
            && let Some(executed) = self.follow(settlement, command)?
        {
            return Ok(executed);
        }
        let id = act.id();
        let current = match act.target() {
            Target::New => None,
            Target::Live => self.live(id)?,
            Target::Deleted => self.deleted(id)?,
        };
        self.cost.record_bytes += current.as_ref().map_or(0, |current| current.record.len());
        let decision = request.decision(self.rules, &self.schema, act, current.as_ref());
        if let Err(Refusal::Invalid(_)) = decision
            && let Some(executed) = self.update_selected(act, command)?
        {
            return Ok(executed);
        }
        match decision? {
            Decision::Unchanged => {
                let missing = || StoreError::Internal("a user that does not exist".into());
                Ok(self.unchanged(Effect::Unchanged, current.ok_or_else(missing)?.stored()))
            }
            Decision::Write(change) | Decision::Restore(change) => {
                let groups = self.groups_to_join(act)?;
                let follows = act.follows_holders();
                let (is_id_taken, is_full) = (self.is_kept_id_taken(act), self.is_full(act));
                let own = (act.target() != Target::New).then_some(id);
                let holders = self.holders_of(&change.claims, own, follows)?;
                let settlement = change.claims.settle(act, holders);
                if let Some(executed) = self.follow(settlement, command)? {
                    return Ok(executed);
                }
                if is_id_taken? {
                    return Err(Refusal::IdTaken.into());
                }
                if is_full? {
                    return Err(Refusal::QuotaExceeded.into());
                }
                if change.event.kind == EventKind::Restored {
                    self.writes.change_deleted_user(id, None);
                }
                let mut executed = self.change_user(&change);
                for group in groups {
                    let change = joined(&group, id, command.at, &command.caller);
                    executed.position = self.change_group(change).position;
                }
                Ok(executed)
            }
            Decision::Remove(mut change) => {
                let groups = self.leave_groups(id, command.at, &command.caller)?;
                if !groups.is_empty() {
                    let change = Arc::make_mut(&mut change);
                    Arc::make_mut(&mut change.event).members.removed = groups;
                }
                self.writes.change_deleted_user(id, Some(Arc::clone(&change)));
                Ok(self.change_user(&change))
            }
            Decision::Purge(event) => Ok(self.purge(&event)),
        }
    }

    /// Updates the user that an invalid new user selects, if it selects exactly one.
    fn update_selected(
        &mut self,
        act: &UserAct,
        command: &Command,
    ) -> Result<Option<Executed>, CommandError> {
        let Some(claims) = act.selecting(self.rules, &self.schema) else { return Ok(None) };
        let holders = self.holders_of(&claims, None, true)?;
        match claims.settle(act, holders) {
            update @ Settlement::Instead(_) => self.follow(update, command),
            Settlement::Free | Settlement::Refused(_) | Settlement::PassedOver(_) => Ok(None),
        }
    }

    /// Continues a command after its conflicts are settled. Returns `None` if there is no conflict.
    fn follow(
        &mut self,
        settlement: Settlement,
        command: &Command,
    ) -> Result<Option<Executed>, CommandError> {
        match settlement {
            Settlement::Free => Ok(None),
            Settlement::Refused(refusal) => Err(refusal.into()),
            Settlement::PassedOver(holder) => {
                let holder = self.live(holder)?.ok_or_else(|| self.deleted_meanwhile())?;
                Ok(Some(self.unchanged(Effect::Skipped, holder.stored())))
            }
            Settlement::Instead(update) => {
                let updating = command.updating_instead(*update);
                let tenant = self.facts.tenant();
                match self.execute(&Request::new(tenant, self.rules, &self.schema, updating)) {
                    Err(CommandError::Failed(Failure::Refused(Refusal::NotFound))) => {
                        Err(self.deleted_meanwhile().into())
                    }
                    executed => executed.map(Some),
                }
            }
        }
    }

    /// Whether a create should keep an id that is in use.
    fn is_kept_id_taken(&mut self, act: &UserAct) -> Result<bool, CommandError> {
        let UserAct::Create { draft, .. } = act else { return Ok(false) };
        let Some(id) = draft.kept_id() else { return Ok(false) };
        // Read everything before returning, so that one run finds all missing facts.
        let (live, deleted) = (self.live(id), self.deleted(id));
        let tenant = self.tenant();
        let others = self.facts.rows(USES_OF_ID.to_owned(), vec![tenant, id.into()]);
        // What this batch erases would include the new user.
        let is_purged = self.writes.purged.iter().any(|(purged, _)| *purged == id);
        Ok(live?.is_some() || deleted?.is_some() || !others?.is_empty() || is_purged)
    }

    /// Whether an act would add a live user to a tenant that has its maximum number.
    fn is_full(&mut self, act: &UserAct) -> Result<bool, CommandError> {
        // The default tenant has no maximum.
        if act.target() == Target::Live || self.facts.tenant().is_default() {
            return Ok(false);
        }
        let added = self.writes.counts.active + self.writes.counts.suspended;
        Ok(self.facts.users_room()?.is_some_and(|room| added >= room))
    }

    fn live(&mut self, id: UserId) -> Result<Option<Current>, CommandError> {
        match self.writes.users.get(&id) {
            Some(write) => Ok(write.after().map(|change| current(change))),
            None => self.facts.live(id),
        }
    }

    fn deleted(&mut self, id: UserId) -> Result<Option<Current>, CommandError> {
        match self.writes.deleted_users.get(&id) {
            Some(write) => Ok(write.row.as_ref().map(|change| current(change))),
            None => self.facts.deleted(id),
        }
    }

    /// The error if a user was deleted between two reads. On PostgreSQL the holder of a key is read
    /// before its row is locked, so another process may delete the user in between.
    fn deleted_meanwhile(&mut self) -> StoreError {
        self.is_stale = true;
        StoreError::Unavailable("the user was deleted at the same time".into())
    }

    fn change_user(&mut self, change: &Arc<Change>) -> Executed {
        self.track_keys(change);
        self.writes.change_user(change);
        self.cost.record_bytes += change.record.len();
        self.cost.search_rows +=
            [&change.index.removed, &change.index.added].map(rows_of).iter().sum::<usize>();
        let record = change.record.clone();
        self.append(Arc::clone(&change.event), record)
    }

    /// Erases a deleted user, including what this batch wrote about it.
    fn purge(&mut self, event: &Arc<Event>) -> Executed {
        let id = event.user_id;
        self.writes.change_deleted_user(id, None);
        for earlier in self.writes.events.iter_mut().filter(|earlier| earlier.user_id == id) {
            Arc::make_mut(earlier).record = Bytes::new();
        }
        self.writes.idempotency.retain(|_, record| record.stored.id != id);
        let executed = self.append(Arc::clone(event), Bytes::new());
        self.writes.purged.push((id, self.writes.event_count()));
        executed
    }

    /// Removes a user or group from the groups that it is a direct member of, and returns them.
    pub(crate) fn leave_groups(
        &mut self,
        member: UserId,
        at: Timestamp,
        caller: &Caller,
    ) -> Result<Vec<GroupId>, CommandError> {
        let mut left_groups = Vec::new();
        if self.without_groups.contains(&member) {
            return Ok(left_groups);
        }
        for group in self.facts.groups_of(member)? {
            let group = self.groups.get(&group.id).unwrap_or(&group);
            let change = left(group, member, at, caller);
            left_groups.push(change.group.id);
            self.groups.insert(change.group.id, change.group.clone());
            self.change_group(change);
        }
        if self.has_several {
            self.without_groups.insert(member);
        }
        Ok(left_groups)
    }

    pub(crate) fn change_group(&mut self, change: GroupChange) -> Executed {
        let (event, record) = (Arc::clone(&change.event), change.record.clone());
        self.writes.groups.add(change);
        self.append(event, record)
    }

    fn append(&mut self, event: Arc<Event>, record: Bytes) -> Executed {
        let stored = Stored { id: event.user_id, version: event.version, record };
        let effect = Effect::Changed(event.kind);
        self.writes.events.push(event);
        let position = LogPosition::InBatch(self.writes.event_count());
        Executed { effect, stored, position, replayed: false }
    }

    /// The result of a command that writes nothing.
    pub(crate) fn unchanged(&self, effect: Effect, stored: Stored) -> Executed {
        let position = LogPosition::InBatch(self.writes.event_count());
        Executed { effect, stored, position, replayed: false }
    }
}

/// The user after a change of this batch.
fn current(change: &Change) -> Current {
    Current { user: Arc::clone(&change.user), record: change.record.clone() }
}
