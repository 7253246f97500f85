//! One command inside a transaction: judge, write, and remember it where it may come twice.
//!
//! An error of SQLite ends the transaction; every other answer, a refusal as well, is the
//! command's own, and comes before anything of it is written.

use roster_core::{
    Change, Effect, Event, EventKind, Failure, Head, Outcome, Rules, Status, Stored,
    erasure::STEP_MAX, event::changed_text, group::GroupChange,
};
use rusqlite::{CachedStatement, Connection, Result, params};

use super::{
    Prepared,
    foresee::Asked,
    groups::{self, GroupJudgement},
    judge::{Current, Halt, Judge, Judgement},
    once,
    rows::{Rows, text},
    sql,
};
use crate::{cache::Touched, scrub};

/// The state of a transaction between its commands.
pub(super) struct Step<'c> {
    connection: &'c Connection,
    rules: Rules,
    judge: Judge<'c>,
    rows: Rows<'c>,
    append_event: CachedStatement<'c>,
    /// How many members of groups were looked at or changed.
    members: usize,
    end: End,
    /// How much more of the histories of purged users may be erased.
    erasure_room: i64,
}

/// What a transaction came to.
pub(super) struct End {
    /// The head after it.
    pub(super) head: Head,
    /// The users whose rows it changed.
    pub(super) touched: Vec<Touched>,
    /// The position of the last purge in it.
    pub(super) purged: Option<i64>,
}

impl<'c> Step<'c> {
    pub(super) fn new(connection: &'c Connection, rules: Rules, head: Head) -> Result<Self> {
        Ok(Self {
            connection,
            rules,
            judge: Judge::new(connection, rules)?,
            rows: Rows::new(connection)?,
            append_event: connection.prepare_cached(sql::APPEND_EVENT)?,
            members: 0,
            end: End { head, touched: Vec::new(), purged: None },
            erasure_room: STEP_MAX,
        })
    }

    /// How many members of groups were looked at or changed so far.
    pub(super) const fn members(&self) -> usize {
        self.members
    }

    /// What all commands so far came to.
    pub(super) fn end(self) -> End {
        self.end
    }

    /// The command's own result, or the error that ends the transaction.
    pub(super) fn carry_out(
        &mut self,
        command: &Prepared,
    ) -> Result<std::result::Result<Outcome, Failure>> {
        match self.once(command) {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(Halt::Command(failure)) => Ok(Err(failure)),
            Err(Halt::Transaction(error)) => Err(error),
        }
    }

    /// Tells again what the same request came to before; else carries it out.
    fn once(&mut self, prepared: &Prepared) -> std::result::Result<Outcome, Halt> {
        let (at, mark) = prepared.asked.mark();
        let Some(mark) = mark else { return self.anew(prepared) };
        if let Some(outcome) = once::recall(self.connection, mark, at)? {
            return Ok(outcome);
        }
        let outcome = self.anew(prepared)?;
        once::remember(self.connection, mark, at, &outcome)?;
        Ok(outcome)
    }

    fn anew(&mut self, prepared: &Prepared) -> std::result::Result<Outcome, Halt> {
        match &prepared.asked {
            Asked::User(command) => {
                let judgement = self.judge.judge(command, prepared.take())?;
                let left = match judgement {
                    Judgement::Remove(..) => {
                        let (id, at) = (command.user_id(), command.at);
                        groups::leaving(self.connection, id, at, &command.caller)?
                    }
                    Judgement::Stands(..)
                    | Judgement::Create(..)
                    | Judgement::Replace(..)
                    | Judgement::Restore(..)
                    | Judgement::Purge(..) => Vec::new(),
                };
                self.write_groups(left)?;
                Ok(self.write(judgement)?)
            }
            Asked::Group(command) => {
                self.members += command.members_named();
                let judgement = groups::judge(self.connection, self.rules, command)?;
                Ok(self.write_judged(judgement)?)
            }
        }
    }

    fn write_judged(&mut self, judgement: GroupJudgement) -> Result<Outcome> {
        match judgement {
            GroupJudgement::Stands(stored) => {
                let position = self.end.head.position;
                Ok(Outcome { effect: Effect::Unchanged, stored, position, replayed: false })
            }
            GroupJudgement::Create(change) | GroupJudgement::Replace(change) => {
                self.write_group(*change)
            }
            GroupJudgement::Remove(change, others) => {
                self.write_groups(others)?;
                self.write_group(*change)
            }
        }
    }

    fn write_groups(&mut self, changes: Vec<GroupChange>) -> Result<()> {
        changes.into_iter().try_for_each(|change| self.write_group(change).map(drop))
    }

    fn write_group(&mut self, change: GroupChange) -> Result<Outcome> {
        self.members += groups::write(self.connection, &change)?;
        self.append(change.event, change.record)
    }

    fn write(&mut self, judgement: Judgement) -> Result<Outcome> {
        match judgement {
            Judgement::Stands(effect, stored) => {
                let position = self.end.head.position;
                Ok(Outcome { effect, stored, position, replayed: false })
            }
            Judgement::Create(change, found_by) => {
                self.rows.create(&change, &found_by)?;
                *self.count(change.user.status) += 1;
                self.append_change(*change)
            }
            Judgement::Replace(change, found_by, current) => {
                self.rows.replace(&change, &found_by, &current)?;
                *self.count(current.user.status) -= 1;
                *self.count(change.user.status) += 1;
                self.append_change(*change)
            }
            Judgement::Remove(change, found_by, current) => {
                self.rows.remove(&change, &found_by, &current)?;
                *self.count(current.user.status) -= 1;
                self.end.head.deleted += 1;
                self.append_change(*change)
            }
            Judgement::Restore(change, found_by, current) => {
                self.rows.restore(&change, &found_by, &current)?;
                *self.count(change.user.status) += 1;
                self.end.head.deleted -= 1;
                self.append_change(*change)
            }
            Judgement::Purge(event, current) => self.purge(*event, &current),
        }
    }

    fn purge(&mut self, event: Event, current: &Current) -> Result<Outcome> {
        let erased = self.rows.purge(current, self.erasure_room)?;
        self.end.head.deleted -= 1;
        let outcome = self.append(event, bytes::Bytes::new())?;
        // Else the last step of the erasure marks the files.
        if let Some(erased) = erased {
            self.erasure_room -= erased;
            // In the same transaction, so that it is done whatever happens meanwhile.
            scrub::mark(self.connection, outcome.position)?;
            self.end.purged = Some(outcome.position);
        }
        Ok(outcome)
    }

    fn append_change(&mut self, change: Change) -> Result<Outcome> {
        self.append(change.event, change.record)
    }

    fn append(&mut self, event: Event, after: bytes::Bytes) -> Result<Outcome> {
        let Event { kind, at, actor, request_id, user_id, version, changed, members, record } =
            event;
        self.end.head.position += 1;
        let position = self.end.head.position;
        self.append_event.execute(params![
            position,
            kind.as_str(),
            at.as_millis(),
            actor,
            request_id,
            user_id.as_bytes(),
            version,
            changed_text(&changed, &members),
            text(&record)?,
        ])?;
        let live = match kind {
            EventKind::Created | EventKind::Updated | EventKind::Restored => {
                Some(Some((version, after.clone())))
            }
            EventKind::Deleted | EventKind::Purged => Some(None),
            // Groups are not held in memory.
            EventKind::GroupCreated | EventKind::GroupUpdated | EventKind::GroupDeleted => None,
        };
        self.end.touched.extend(live.map(|live| Touched { id: user_id, live }));
        let stored = Stored { id: user_id, version, record: after };
        Ok(Outcome { effect: Effect::Changed(kind), stored, position, replayed: false })
    }

    fn count(&mut self, status: Status) -> &mut i64 {
        match status {
            Status::Active => &mut self.end.head.active,
            Status::Suspended => &mut self.end.head.suspended,
        }
    }
}
