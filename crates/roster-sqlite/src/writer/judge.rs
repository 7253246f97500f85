//! The judgement of one command: load, decide, look the claims up.
//!
//! Nothing is written here, so that a dry run comes to exactly what the write would come to. All
//! of it is to be read in one transaction, the one that writes or one that only reads.

use bytes::Bytes;
use roster_core::{
    Act, Among, Change, Claims, Command, Decision, Effect, Event, Failure, OnConflict, Refusal,
    Rules, StoreError, Stored, User, UserId, decide,
};
use rusqlite::{CachedStatement, Connection, params};

use super::sql;
use crate::columns::{id_of, text_of};

/// Why a command has no outcome.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The command's own failure: its neighbours go on.
    Command(Failure),
    /// An error of SQLite, which ends the transaction.
    Transaction(rusqlite::Error),
}

impl From<rusqlite::Error> for Halt {
    fn from(error: rusqlite::Error) -> Self {
        Self::Transaction(error)
    }
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Command(refusal.into())
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Command(error.into())
    }
}

/// A user as it was loaded.
pub(super) struct Current {
    pub(super) number: i64,
    pub(super) user: User,
    pub(super) record: Bytes,
}

impl Current {
    fn stored(self) -> Stored {
        Stored { id: self.user.id, version: self.user.version, record: self.record }
    }
}

/// What a command comes to.
pub(super) enum Judgement {
    /// Nothing is written.
    Stands(Effect, Stored),
    Create(Box<Change>),
    Replace(Box<Change>, Box<Current>),
    Remove(Box<Change>, Box<Current>),
    Restore(Box<Change>, Box<Current>),
    Purge(Box<Event>, Box<Current>),
}

impl Judgement {
    /// The effect, and the user after it.
    pub(super) fn foretold(self) -> (Effect, Stored) {
        match self {
            Self::Stands(effect, stored) => (effect, stored),
            Self::Create(change)
            | Self::Replace(change, _)
            | Self::Remove(change, _)
            | Self::Restore(change, _) => {
                let Change { user, record, event, .. } = *change;
                let stored = Stored { id: user.id, version: user.version, record };
                (Effect::Changed(event.kind), stored)
            }
            Self::Purge(event, _) => {
                let Event { kind, user_id, version, record, .. } = *event;
                (Effect::Changed(kind), Stored { id: user_id, version, record })
            }
        }
    }
}

/// Who judges, with the statements that nearly every judgement needs, prepared once.
pub(super) struct Judge<'c> {
    connection: &'c Connection,
    rules: Rules,
    load: CachedStatement<'c>,
    holds_username: CachedStatement<'c>,
    holds_email: CachedStatement<'c>,
}

impl<'c> Judge<'c> {
    pub(super) fn new(connection: &'c Connection, rules: Rules) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            rules,
            load: connection.prepare_cached(sql::LOAD)?,
            holds_username: connection.prepare_cached(sql::HOLDS_USERNAME)?,
            holds_email: connection.prepare_cached(sql::HOLDS_EMAIL)?,
        })
    }

    pub(super) fn judge(&mut self, command: &Command) -> Result<Judgement, Halt> {
        let id = command.user_id();
        let current = match command.among() {
            Among::Nobody => None,
            Among::Live => load(&mut self.load, id, "users.record")?,
            Among::Deleted => {
                let mut load_deleted = self.connection.prepare_cached(sql::LOAD_DELETED)?;
                load(&mut load_deleted, id, "deleted_users.record")?
            }
        };
        let decision = decide(self.rules, current.as_ref().map(|current| &current.user), command)?;
        let current = |what| current.map(Box::new).ok_or_else(|| internal(what));
        match decision {
            Decision::Unchanged => {
                let stored = current("nothing stayed unchanged")?.stored();
                Ok(Judgement::Stands(Effect::Unchanged, stored))
            }
            Decision::Write(change) => {
                if let Some(conflict) = self.conflict(&change.claims, id)? {
                    return self.settle(command, conflict);
                }
                match command.among() {
                    Among::Nobody => Ok(Judgement::Create(change)),
                    Among::Live | Among::Deleted => {
                        Ok(Judgement::Replace(change, current("nobody was replaced")?))
                    }
                }
            }
            Decision::Remove(change) => {
                Ok(Judgement::Remove(change, current("nobody was deleted")?))
            }
            Decision::Restore(change) => match self.conflict(&change.claims, id)? {
                Some(conflict) => Err(conflict.refusal.into()),
                None => Ok(Judgement::Restore(change, current("nobody was restored")?)),
            },
            Decision::Purge(event) => Ok(Judgement::Purge(event, current("nobody was purged")?)),
        }
    }

    /// What becomes of a user whose claims others hold.
    fn settle(&mut self, command: &Command, conflict: Conflict) -> Result<Judgement, Halt> {
        let Act::Create { on_conflict, .. } = &command.act else {
            return Err(conflict.refusal.into());
        };
        match (on_conflict, conflict.holders.as_slice()) {
            (OnConflict::Skip, [holder, ..]) => {
                let holder = load(&mut self.load, *holder, "users.record")?;
                let stored = holder.ok_or_else(|| internal("held by nobody"))?.stored();
                Ok(Judgement::Stands(Effect::Skipped, stored))
            }
            (OnConflict::Replace, [holder]) => match command.replacing(*holder) {
                // A replacement is no create: it meets a conflict as any other does.
                Some(replacement) => self.judge(&replacement),
                None => Err(conflict.refusal.into()),
            },
            (OnConflict::Fail | OnConflict::Skip | OnConflict::Replace, _) => {
                Err(conflict.refusal.into())
            }
        }
    }

    /// Who else among the live users holds what is claimed.
    fn conflict(&mut self, claims: &Claims, id: UserId) -> Result<Option<Conflict>, Halt> {
        let username = holder(&mut self.holds_username, claims.username.as_deref(), id)?;
        let email = holder(&mut self.holds_email, claims.email.as_deref(), id)?;
        let external_id = match &claims.external_id {
            Some(key) => {
                let mut statement = self.connection.prepare_cached(sql::HOLDS_EXTERNAL_ID)?;
                holder(&mut statement, Some(key), id)?
            }
            None => None,
        };
        let refusal = claims.refuse(username.is_some(), email.is_some(), external_id.is_some());
        let Some(refusal) = refusal else { return Ok(None) };
        let mut holders = Vec::with_capacity(3);
        for holder in [username, email, external_id].into_iter().flatten() {
            if !holders.contains(&holder) {
                holders.push(holder);
            }
        }
        Ok(Some(Conflict { refusal, holders }))
    }
}

/// Claims that others hold.
struct Conflict {
    refusal: Refusal,
    /// Each holder once; the one of the user name first.
    holders: Vec<UserId>,
}

fn load(
    statement: &mut CachedStatement<'_>,
    id: UserId,
    column: &str,
) -> Result<Option<Current>, Halt> {
    let mut rows = statement.query([id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let number = row.get(0)?;
    let record = Bytes::copy_from_slice(text_of(row.get_ref(1)?, column)?);
    match User::from_record(&record) {
        Ok(user) => Ok(Some(Current { number, user, record })),
        Err(corrupt) => {
            let place = format!("{column} of {id}, {}", corrupt.member);
            Err(StoreError::Corrupt { place }.into())
        }
    }
}

fn holder(
    statement: &mut CachedStatement<'_>,
    key: Option<&str>,
    id: UserId,
) -> Result<Option<UserId>, Halt> {
    let Some(key) = key else { return Ok(None) };
    let mut rows = statement.query(params![key, id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(id_of(row.get_ref(0)?, "users.id")?))
}

/// A decision that does not fit its command: a fault of ours.
fn internal(what: &str) -> StoreError {
    StoreError::Internal(what.into())
}
