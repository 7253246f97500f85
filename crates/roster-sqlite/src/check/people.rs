//! Users, deleted users and their histories, walked abreast in the order of ids.
//!
//! Whatever is kept beside a record is made from it again and must be the same; and what the log
//! says of a user last must be what there is.

use std::iter;

use bytes::Bytes;
use roster_core::{Head, Keys, User, UserId};
use rusqlite::{Connection, types::ValueRef};

use super::{
    findings::{Line, name},
    groups::Groups,
    history::History,
    keys::BesideRecord,
    log::Span,
    rows::{DELETED, EVENTS, Entry, GROUPS, IS_BEING_ERASED, Item, LIVE, Stream},
};
use crate::columns::{KEY_COLUMNS, key_values};

/// All that belongs to users: a line for each table.
pub(super) fn look(connection: &Connection, head: Head) -> Vec<Line> {
    let mut events = Line::new("events");
    let span = Span::read(connection, head, &mut events);
    let mut people = People {
        live: Line::new("users"),
        gone: Line::new("deleted users"),
        events,
        groups: Groups::new(connection),
        beside: BesideRecord::new(connection),
    };
    let read = span.and_then(|span| people.walk(connection, span));
    people.live.end(read);
    let mut lines = vec![people.live, people.gone];
    lines.extend(people.groups.end());
    lines.extend(people.beside.end());
    lines.push(people.events);
    lines
}

struct People<'c> {
    live: Line,
    gone: Line,
    events: Line,
    groups: Groups<'c>,
    beside: BesideRecord<'c>,
}

impl People<'_> {
    fn walk(&mut self, connection: &Connection, span: Span) -> rusqlite::Result<()> {
        let mut live = connection.prepare(LIVE)?;
        let mut gone = connection.prepare(DELETED)?;
        let mut events = connection.prepare(EVENTS)?;
        let mut grouped = connection.prepare(GROUPS)?;
        let mut erasing = connection.prepare(IS_BEING_ERASED)?;
        let mut grouped = Stream::begin(grouped.query([])?, Item::read, |row| &row.id)?;
        let mut live = Stream::begin(live.query([])?, Item::read, |row| &row.id)?;
        let mut gone = Stream::begin(gone.query([])?, Item::read, |row| &row.id)?;
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
            if let Some(row) = &group {
                self.groups.hold(row)?;
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

    fn live(&mut self, row: &Item) -> rusqlite::Result<()> {
        let (line, place) = (&mut self.live, row.place("users"));
        let Some(user) = row.compare(line, &place, User::from_record(&row.record), written) else {
            return Ok(());
        };
        let keys = Keys::of(&user);
        let columns = KEY_COLUMNS.iter().map(|(_, column)| *column).zip(key_values(&keys));
        let updated_at = ("updated_at", ValueRef::Integer(keys.updated_at.as_millis()));
        row.compare_columns(line, &place, iter::once(updated_at).chain(columns));
        self.beside.hold(&user)
    }

    fn gone(&mut self, row: &Item) {
        let (line, place) = (&mut self.gone, row.place("deleted_users"));
        let Some(user) = row.compare(line, &place, User::from_record(&row.record), written) else {
            return;
        };
        let keys = Keys::of(&user);
        let made = [
            ("deleted_at", ValueRef::Integer(user.updated_at.as_millis())),
            ("username_key", text(Some(&keys.username))),
            ("email_key", text(keys.email.as_ref())),
            ("external_id", text(keys.external_id.as_ref())),
        ];
        row.compare_columns(line, &place, made);
    }
}

fn written(user: &User) -> (UserId, i64, Bytes) {
    (user.id, user.version, user.to_record())
}

/// The value of a text column that may be absent.
pub(super) fn text(text: Option<&String>) -> ValueRef<'_> {
    text.map(String::as_str).into()
}

/// A table and an id, as a fault is named.
pub(super) fn place(table: &str, id: &[u8]) -> String {
    format!("{table} of {}", name(id))
}
