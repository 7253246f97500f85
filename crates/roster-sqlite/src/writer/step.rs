//! One command inside a transaction: judge, write, and remember it where it may come twice.
//!
//! An error of SQLite ends the transaction; every other answer, a refusal as well, is the
//! command's own, and comes before anything of it is written.

use roster_core::{
    Change, Effect, Event, EventKind, Failure, Head, Outcome, Rules, Status, Stored,
    event::changed_text,
};
use rusqlite::{CachedStatement, Connection, Result, params};

use super::{
    Prepared,
    judge::{Current, Halt, Judge, Judgement},
    once,
    rows::{Rows, text},
    sql,
};
use crate::{cache::Touched, scrub};

/// The state of a transaction between its commands.
pub(super) struct Step<'c> {
    connection: &'c Connection,
    judge: Judge<'c>,
    rows: Rows<'c>,
    append_event: CachedStatement<'c>,
    end: End,
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
            judge: Judge::new(connection, rules)?,
            rows: Rows::new(connection)?,
            append_event: connection.prepare_cached(sql::APPEND_EVENT)?,
            end: End { head, touched: Vec::new(), purged: None },
        })
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
        let command = &prepared.command;
        let Some(mark) = &command.idempotency else { return self.anew(prepared) };
        if let Some(outcome) = once::recall(self.connection, mark, command.at)? {
            return Ok(outcome);
        }
        let outcome = self.anew(prepared)?;
        once::remember(self.connection, mark, command.at, &outcome)?;
        Ok(outcome)
    }

    fn anew(&mut self, prepared: &Prepared) -> std::result::Result<Outcome, Halt> {
        let judgement = self.judge.judge(&prepared.command, prepared.take())?;
        Ok(self.write(judgement)?)
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
        self.rows.purge(current)?;
        self.end.head.deleted -= 1;
        let outcome = self.append(event, bytes::Bytes::new())?;
        // In the same transaction, so that it is done whatever happens meanwhile.
        scrub::mark(self.connection, outcome.position)?;
        self.end.purged = Some(outcome.position);
        Ok(outcome)
    }

    fn append_change(&mut self, change: Change) -> Result<Outcome> {
        self.append(change.event, change.record)
    }

    fn append(&mut self, event: Event, after: bytes::Bytes) -> Result<Outcome> {
        let Event { kind, at, actor, request_id, user_id, version, changed, record } = event;
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
            changed_text(&changed),
            text(&record)?,
        ])?;
        let live = match kind {
            EventKind::Created | EventKind::Updated | EventKind::Restored => {
                Some((version, after.clone()))
            }
            EventKind::Deleted | EventKind::Purged => None,
        };
        self.end.touched.push(Touched { id: user_id, live });
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
