//! The judgement of one command: load, decide, look the claims up.
//!
//! Nothing is written here, so that a dry run comes to exactly what the write would come to. All
//! of it is to be read in one transaction, the one that writes or one that only reads.

use bytes::Bytes;
use roster_core::{
    Among, Change, Claims, Command, Decision, Effect, Event, Failure, Refusal, Rules, StoreError,
    Stored, User, UserId,
    decide::{Holders, Settlement},
    found_by::{Decided, FoundByChange, decided},
};
use rusqlite::{CachedStatement, Connection, params};

use super::{foresee::Foreseen, sql};
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
    Create(Box<Change>, FoundByChange),
    Replace(Box<Change>, FoundByChange, Box<Current>),
    Remove(Box<Change>, FoundByChange, Box<Current>),
    Restore(Box<Change>, FoundByChange, Box<Current>),
    Purge(Box<Event>, Box<Current>),
}

impl Judgement {
    /// The effect, and the user after it.
    pub(super) fn foretold(self) -> (Effect, Stored) {
        match self {
            Self::Stands(effect, stored) => (effect, stored),
            Self::Create(change, _)
            | Self::Replace(change, ..)
            | Self::Remove(change, ..)
            | Self::Restore(change, ..) => {
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

    /// Judges a command; what was foreseen of it counts if it was decided upon the same user.
    pub(super) fn judge(
        &mut self,
        command: &Command,
        foreseen: Option<Foreseen>,
    ) -> Result<Judgement, Halt> {
        let id = command.user_id();
        let (current, foretold) = match command.among() {
            Among::Nobody => (None, foreseen.map(|foreseen| foreseen.decided)),
            Among::Live => load(&mut self.load, id, "users.record", foreseen)?,
            Among::Deleted => {
                let mut load_deleted = self.connection.prepare_cached(sql::LOAD_DELETED)?;
                load(&mut load_deleted, id, "deleted_users.record", None)?
            }
        };
        let user = current.as_ref().map(|current| &current.user);
        let Decided { decision, found_by } =
            foretold.unwrap_or_else(|| decided(self.rules, user, command))?;
        let current = |what| current.map(Box::new).ok_or_else(|| internal(what));
        match decision {
            Decision::Unchanged => {
                let stored = current("nothing stayed unchanged")?.stored();
                Ok(Judgement::Stands(Effect::Unchanged, stored))
            }
            Decision::Write(change) => {
                if let Some(judgement) = self.settle(command, &change.claims, id)? {
                    return Ok(judgement);
                }
                match command.among() {
                    Among::Nobody => Ok(Judgement::Create(change, found_by)),
                    Among::Live | Among::Deleted => {
                        Ok(Judgement::Replace(change, found_by, current("nobody was replaced")?))
                    }
                }
            }
            Decision::Remove(change) => {
                Ok(Judgement::Remove(change, found_by, current("nobody was deleted")?))
            }
            Decision::Restore(change) => match self.settle(command, &change.claims, id)? {
                Some(judgement) => Ok(judgement),
                None => Ok(Judgement::Restore(change, found_by, current("nobody was restored")?)),
            },
            Decision::Purge(event) => Ok(Judgement::Purge(event, current("nobody was purged")?)),
        }
    }

    /// What becomes of the claims of a command; none where it goes on.
    fn settle(
        &mut self,
        command: &Command,
        claims: &Claims,
        id: UserId,
    ) -> Result<Option<Judgement>, Halt> {
        match claims.settle(command, self.holders(claims, id)?) {
            Settlement::Free => Ok(None),
            Settlement::Refused(refusal) => Err(refusal.into()),
            Settlement::PassedOver(holder) => {
                let (holder, _) = load(&mut self.load, holder, "users.record", None)?;
                let stored = holder.ok_or_else(|| internal("held by nobody"))?.stored();
                Ok(Some(Judgement::Stands(Effect::Skipped, stored)))
            }
            Settlement::Instead(replacement) => self.judge(&replacement, None).map(Some),
        }
    }

    /// Who else among the live users holds what is claimed.
    fn holders(&mut self, claims: &Claims, id: UserId) -> Result<Holders, Halt> {
        let external_id = match &claims.external_id {
            Some(key) => {
                let mut statement = self.connection.prepare_cached(sql::HOLDS_EXTERNAL_ID)?;
                holder(&mut statement, Some(key), id)?
            }
            None => None,
        };
        Ok(Holders {
            username: holder(&mut self.holds_username, claims.username.as_deref(), id)?,
            email: holder(&mut self.holds_email, claims.email.as_deref(), id)?,
            external_id,
        })
    }
}

/// What was decided beforehand.
type Foretold = Result<Decided, Refusal>;

/// The user of a row, and what was foreseen if it was decided upon the same record.
fn load(
    statement: &mut CachedStatement<'_>,
    id: UserId,
    column: &str,
    foreseen: Option<Foreseen>,
) -> Result<(Option<Current>, Option<Foretold>), Halt> {
    let mut rows = statement.query([id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok((None, None)) };
    let number = row.get(0)?;
    let stored = text_of(row.get_ref(1)?, column)?;
    if let Some(Foreseen { upon: Some((user, record)), decided }) = foreseen
        && record == stored
    {
        return Ok((Some(Current { number, user, record }), Some(decided)));
    }
    let record = Bytes::copy_from_slice(stored);
    match User::from_record(&record) {
        Ok(user) => Ok((Some(Current { number, user, record }), None)),
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
