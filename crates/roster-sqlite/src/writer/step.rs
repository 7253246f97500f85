//! One command inside a transaction: load, decide, look the claims up, write.
//!
//! An error of SQLite ends the transaction; every other answer, a refusal as well, is the
//! command's own.

use bytes::Bytes;
use roster_core::{
    Among, Change, Claims, Command, Decision, Effect, Event, Failure, Head, Keys, Outcome, Rules,
    Status, StoreError, Stored, User, UserId, decide,
};
use rusqlite::{CachedStatement, Connection, Result, params};

use super::sql::{self, KeyColumn};
use crate::columns::{SortText, changed_text, status_number, text_of};

/// The statements that nearly every transaction needs, prepared once for it.
pub(super) struct Statements<'c> {
    load: CachedStatement<'c>,
    holds_username: CachedStatement<'c>,
    holds_email: CachedStatement<'c>,
    create: CachedStatement<'c>,
    append_event: CachedStatement<'c>,
}

impl<'c> Statements<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            load: connection.prepare_cached(sql::LOAD)?,
            holds_username: connection.prepare_cached(sql::HOLDS_USERNAME)?,
            holds_email: connection.prepare_cached(sql::HOLDS_EMAIL)?,
            create: connection.prepare_cached(sql::CREATE)?,
            append_event: connection.prepare_cached(sql::APPEND_EVENT)?,
        })
    }
}

/// A user as it was loaded.
struct Current {
    number: i64,
    user: User,
    record: Bytes,
}

/// The state of a transaction between its commands.
pub(super) struct Step<'c> {
    connection: &'c Connection,
    statements: Statements<'c>,
    rules: Rules,
    head: Head,
    touched: Vec<UserId>,
}

/// A command's own result, or the error that ends the transaction.
type Own = Result<std::result::Result<Outcome, Failure>>;

impl<'c> Step<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        statements: Statements<'c>,
        rules: Rules,
        head: Head,
    ) -> Self {
        Self { connection, statements, rules, head, touched: Vec::new() }
    }

    /// The head after all commands so far, and the users they changed.
    pub(super) fn end(self) -> (Head, Vec<UserId>) {
        (self.head, self.touched)
    }

    pub(super) fn carry_out(&mut self, command: &Command) -> Own {
        let current = match command.among() {
            Among::Nobody | Among::Deleted => None,
            Among::Live => match self.load(command.user_id())? {
                Ok(current) => current,
                Err(error) => return Ok(Err(Failure::Store(error))),
            },
        };
        let user = current.as_ref().map(|current| &current.user);
        match decide(self.rules, user, command) {
            Err(refusal) => Ok(Err(Failure::Refused(refusal))),
            Ok(Decision::Unchanged) => Ok(self.unchanged(current)),
            Ok(Decision::Write(change)) => self.write(*change, current),
            Ok(Decision::Remove(change)) => self.remove(*change, current),
            Ok(Decision::Restore(_) | Decision::Purge(_)) => Ok(Err(internal("not yet"))),
        }
    }

    fn load(&mut self, id: UserId) -> Result<std::result::Result<Option<Current>, StoreError>> {
        let mut rows = self.statements.load.query([id.as_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(Ok(None)) };
        let number = row.get(0)?;
        let record = match text_of(row.get_ref(1)?, "users.record") {
            Ok(record) => Bytes::copy_from_slice(record),
            Err(error) => return Ok(Err(error)),
        };
        Ok(match User::from_record(&record) {
            Ok(user) => Ok(Some(Current { number, user, record })),
            Err(corrupt) => {
                let place = format!("users.record of {id}, {}", corrupt.member);
                Err(StoreError::Corrupt { place })
            }
        })
    }

    fn unchanged(&self, current: Option<Current>) -> std::result::Result<Outcome, Failure> {
        let current = current.ok_or_else(|| internal("nothing stayed unchanged"))?;
        let Current { user, record, .. } = current;
        let stored = Stored { id: user.id, version: user.version, record };
        let position = self.head.position;
        Ok(Outcome { effect: Effect::Unchanged, stored, position, replayed: false })
    }

    fn write(&mut self, change: Change, current: Option<Current>) -> Own {
        if let Some(refusal) = self.refuse(&change.claims, change.user.id)? {
            return Ok(Err(refusal));
        }
        match current {
            None => self.create(&change)?,
            Some(current) => {
                self.replace(&change, &current)?;
                *self.count(current.user.status) -= 1;
            }
        }
        *self.count(change.user.status) += 1;
        self.append(change).map(Ok)
    }

    fn remove(&mut self, change: Change, current: Option<Current>) -> Own {
        let Some(current) = current else {
            return Ok(Err(internal("nobody was to be deleted")));
        };
        let Change { user, record, keys, .. } = &change;
        self.connection.prepare_cached(sql::DELETE)?.execute([current.number])?;
        self.connection.prepare_cached(sql::KEEP_DELETED)?.execute(params![
            user.id.as_bytes(),
            user.version,
            user.updated_at.as_millis(),
            keys.username,
            keys.email,
            keys.external_id,
            text(record)?,
        ])?;
        *self.count(current.user.status) -= 1;
        self.head.deleted += 1;
        self.append(change).map(Ok)
    }

    /// The refusal when another live user holds what is claimed.
    fn refuse(&mut self, claims: &Claims, id: UserId) -> Result<Option<Failure>> {
        let id = id.as_bytes();
        let username = match &claims.username {
            Some(key) => self.statements.holds_username.exists(params![key, id])?,
            None => false,
        };
        let email = match &claims.email {
            Some(key) => self.statements.holds_email.exists(params![key, id])?,
            None => false,
        };
        let external_id = match &claims.external_id {
            Some(key) => {
                self.connection.prepare_cached(sql::HOLDS_EXTERNAL_ID)?.exists(params![key, id])?
            }
            None => false,
        };
        Ok(claims.refuse(username, email, external_id).map(Failure::Refused))
    }

    fn create(&mut self, change: &Change) -> Result<()> {
        let Change { user, record, keys, .. } = change;
        self.statements.create.execute(params![
            user.id.as_bytes(),
            user.version,
            status_number(user.status),
            user.updated_at.as_millis(),
            keys.username,
            SortText(keys.email.as_deref()),
            keys.phone_number,
            keys.external_id,
            SortText(keys.family_name.as_deref()),
            SortText(keys.name.as_deref()),
            text(record)?,
        ])?;
        Ok(())
    }

    fn replace(&mut self, change: &Change, current: &Current) -> Result<()> {
        let Change { user, record, keys, .. } = change;
        let before = Keys::of(&current.user);
        let set: Vec<KeyColumn> =
            KeyColumn::ALL.into_iter().filter(|column| column.differs(&before, keys)).collect();
        let mut statement = self.connection.prepare_cached(&sql::replace(&set))?;
        statement.raw_bind_parameter(1, current.number)?;
        statement.raw_bind_parameter(2, user.version)?;
        statement.raw_bind_parameter(3, user.updated_at.as_millis())?;
        statement.raw_bind_parameter(4, text(record)?)?;
        for column in set {
            let parameter = column.parameter();
            match column {
                KeyColumn::Status => {
                    statement.raw_bind_parameter(parameter, status_number(keys.status))
                }
                KeyColumn::Username => statement.raw_bind_parameter(parameter, &keys.username),
                KeyColumn::Email => {
                    statement.raw_bind_parameter(parameter, SortText(keys.email.as_deref()))
                }
                KeyColumn::PhoneNumber => {
                    statement.raw_bind_parameter(parameter, &keys.phone_number)
                }
                KeyColumn::ExternalId => statement.raw_bind_parameter(parameter, &keys.external_id),
                KeyColumn::FamilyName => {
                    statement.raw_bind_parameter(parameter, SortText(keys.family_name.as_deref()))
                }
                KeyColumn::Name => {
                    statement.raw_bind_parameter(parameter, SortText(keys.name.as_deref()))
                }
            }?;
        }
        statement.raw_execute()?;
        Ok(())
    }

    fn append(&mut self, change: Change) -> Result<Outcome> {
        let Event { kind, at, actor, request_id, user_id, version, changed, record } = change.event;
        self.head.position += 1;
        let position = self.head.position;
        self.statements.append_event.execute(params![
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
        self.touched.push(user_id);
        let stored = Stored { id: user_id, version, record: change.record };
        Ok(Outcome { effect: Effect::Changed(kind), stored, position, replayed: false })
    }

    fn count(&mut self, status: Status) -> &mut i64 {
        match status {
            Status::Active => &mut self.head.active,
            Status::Suspended => &mut self.head.suspended,
        }
    }
}

/// A record as the text it is.
fn text(record: &Bytes) -> Result<&str> {
    std::str::from_utf8(record)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// A decision that does not fit its command: a fault of ours.
fn internal(what: &str) -> Failure {
    Failure::Store(StoreError::Internal(what.into()))
}
