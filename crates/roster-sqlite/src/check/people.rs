//! Users, deleted users and their histories, walked abreast in the order of ids.
//!
//! Whatever is kept beside a record is made from it again and must be the same; and what the log
//! says of a user last must be what there is.

use roster_core::{Head, Keys, User};
use rusqlite::{Connection, types::Value};

use super::{
    findings::{Line, Name},
    groups::Groups,
    history::History,
    keys::BesideRecord,
    log::Span,
    rows::{DELETED, EVENTS, Entry, GROUPS, Gone, Grouped, Kept, LIVE, Live, NO_GROUPS, Stream},
};
use crate::columns::status_number;

/// All that belongs to users: a line for each table.
pub(super) fn look(connection: &Connection, head: Head, kept: Kept) -> Vec<Line> {
    let mut events = Line::new("events");
    let span = Span::read(connection, head, &mut events);
    let mut people = People {
        live: Line::new("users"),
        gone: Line::new("deleted users"),
        events,
        groups: kept.groups.then(|| Groups::new(connection)),
        beside: kept.words.then(|| BesideRecord::new(connection)),
    };
    let read = span.and_then(|span| people.walk(connection, span, kept));
    people.live.end(read);
    let mut lines = vec![people.live, people.gone];
    lines.extend(people.groups.into_iter().flat_map(Groups::end));
    lines.extend(people.beside.into_iter().flat_map(BesideRecord::end));
    lines.push(people.events);
    lines
}

struct People<'c> {
    live: Line,
    gone: Line,
    events: Line,
    groups: Option<Groups<'c>>,
    beside: Option<BesideRecord<'c>>,
}

impl People<'_> {
    fn walk(&mut self, connection: &Connection, span: Span, kept: Kept) -> rusqlite::Result<()> {
        let mut live = connection.prepare(LIVE)?;
        let mut gone = connection.prepare(DELETED)?;
        let mut events = connection.prepare(EVENTS)?;
        let grouped = if self.groups.is_some() { GROUPS } else { NO_GROUPS };
        let mut grouped = connection.prepare(grouped)?;
        let mut erasing = connection.prepare(kept.is_being_erased())?;
        let mut grouped = Stream::begin(grouped.query([])?, Grouped::read, |row| &row.id)?;
        let mut live = Stream::begin(live.query([])?, Live::read, |row| &row.id)?;
        let mut gone = Stream::begin(gone.query([])?, Gone::read, |row| &row.id)?;
        let mut events = Stream::begin(events.query([])?, Entry::read, |row| &row.id)?;
        loop {
            let ids = [live.id(), gone.id(), grouped.id(), events.id()];
            let next = ids.into_iter().flatten().min();
            let Some(id) = next.map(<[u8]>::to_vec) else { return Ok(()) };
            let user = live.take(&id)?;
            let deleted = gone.take(&id)?;
            let group = grouped.take(&id)?;
            let is_being_erased = erasing.exists([&id])?;
            let mut history = History::begin(span, is_being_erased);
            while let Some(event) = events.take(&id)? {
                history.add(event, &mut self.events);
            }
            if let Some(row) = &user {
                self.live(row)?;
            }
            if let Some(row) = &deleted {
                self.gone(row);
                let what = "is live and deleted at once";
                self.gone.hold(user.is_none(), &place("deleted_users", &id), what);
            }
            if let (Some(groups), Some(row)) = (&mut self.groups, &group) {
                groups.hold(row)?;
            }
            if group.is_some() || history.is_of_group() {
                let nobody = user.is_none() && deleted.is_none();
                self.events.hold(nobody, &place("groups", &id), "is a group and a user at once");
                history.end_of_group(&id, group.as_ref(), &mut self.events);
                continue;
            }
            history.end(&id, user.as_ref(), deleted.as_ref(), &mut self.events);
        }
    }

    fn live(&mut self, row: &Live) -> rusqlite::Result<()> {
        self.live.count += 1;
        let place = place("users", &row.id);
        let Some(user) = read(&mut self.live, &place, &row.id, row.version, &row.record) else {
            return Ok(());
        };
        let keys = Keys::of(&user);
        let status = status_number(keys.status);
        self.live.hold(row.status == status, &place, "status is not the record's");
        let updated_at = keys.updated_at.as_millis();
        self.live.hold(row.updated_at == updated_at, &place, "updated_at is not the record's");
        let made = [
            ("username_key", Value::Text(keys.username)),
            ("email_key", sorted(keys.email)),
            ("phone_number_key", absent(keys.phone_number)),
            ("external_id", absent(keys.external_id)),
            ("family_name_key", sorted(keys.family_name)),
            ("name_key", sorted(keys.name)),
        ];
        hold_keys(&mut self.live, &place, &row.keys, &made);
        match &mut self.beside {
            Some(beside) => beside.hold(&user),
            None => Ok(()),
        }
    }

    fn gone(&mut self, row: &Gone) {
        self.gone.count += 1;
        let place = place("deleted_users", &row.id);
        let Some(user) = read(&mut self.gone, &place, &row.id, row.version, &row.record) else {
            return;
        };
        let left = user.updated_at.as_millis();
        self.gone.hold(row.deleted_at == left, &place, "deleted_at is not the record's");
        let keys = Keys::of(&user);
        let made = [
            ("username_key", Value::Text(keys.username)),
            ("email_key", absent(keys.email)),
            ("external_id", absent(keys.external_id)),
        ];
        hold_keys(&mut self.gone, &place, &row.keys, &made);
    }
}

/// A table and an id, as a fault is named.
pub(super) fn place(table: &str, id: &[u8]) -> String {
    format!("{table} of {}", Name(id))
}

/// The user of a record that is as core writes it, under this id and version.
fn read(line: &mut Line, place: &str, id: &[u8], version: i64, record: &[u8]) -> Option<User> {
    let user = match User::from_record(record) {
        Ok(user) => user,
        Err(corrupt) => {
            line.fault(&place, &corrupt.to_string());
            return None;
        }
    };
    line.hold(user.id.as_bytes() == id, &place, "the record has another id");
    line.hold(user.version == version, &place, "the record has another version");
    line.hold(user.to_record() == record, &place, "the record is not spelt as it is written");
    Some(user)
}

fn hold_keys(line: &mut Line, place: &str, stored: &[Value], made: &[(&str, Value)]) {
    for (stored, (column, made)) in stored.iter().zip(made) {
        line.hold(stored == made, &place, &format!("{column} is not the record's"));
    }
}

/// An absent sort key is the empty blob.
fn sorted(key: Option<String>) -> Value {
    key.map_or(Value::Blob(Vec::new()), Value::Text)
}

fn absent(key: Option<String>) -> Value {
    key.map_or(Value::Null, Value::Text)
}
