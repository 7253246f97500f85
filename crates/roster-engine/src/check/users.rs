//! Checks users, deleted users, groups and their histories, read in parallel in the order of ids.
//!
//! The columns of each row are computed again from its record and must be the same. The last event
//! of a user or group must have the current record.

use bytes::Bytes;
use roster_core::{EventKind, Keys, Status, User, UserId, event::LOG_SUBJECT, schema::SCHEMA_ID};

use super::{
    CheckReader, Line, audit,
    findings::place,
    forks,
    groups::{GROUPS, check_group, check_members, check_total},
    history::History,
    log::Span,
    rows::{Entry, Item, PAGE, Pages, text},
    schema::SchemaHistory,
    search::Search,
    tenants,
};
use crate::{database::Cell, settings::user_schema};

const USERS: &str = "SELECT id, version, record, updated_at, status, username_key, email_key, \
     phone_number_key, external_id, family_name_key, name_key, expires_at_key \
     FROM users WHERE tenant = $1 AND id > $2 ORDER BY id";

const DELETED_USERS: &str = "SELECT id, version, record, deleted_at, username_key, email_key, \
     external_id FROM deleted_users WHERE tenant = $1 AND id > $2 ORDER BY id";

/// The statement for a page of events: the remaining events of a subject, then those of the next
/// subjects. One range of pairs would be slow, because SQLite would find its start by the subject
/// only.
fn events() -> String {
    let columns = "SELECT subject_id, position, kind, at, version, changed, record, \
         EXISTS (SELECT 1 FROM erasures \
         WHERE erasures.tenant = events.tenant AND id = subject_id) FROM events WHERE tenant = $1";
    format!(
        "SELECT * FROM ({columns} AND subject_id = $2 AND position > $3 \
         ORDER BY position LIMIT {PAGE}) AS rest UNION ALL \
         SELECT * FROM ({columns} AND subject_id > $2 \
         ORDER BY subject_id, position LIMIT {PAGE}) AS next"
    )
}

/// Checks users, groups and their events: returns a line for each table.
pub(super) async fn check<R: CheckReader>(reader: R, position: i64) -> Vec<Line> {
    let mut found = Found {
        users: Line::new("users"),
        deleted_users: Line::new("deleted users"),
        groups: Line::new("groups"),
        events: Line::new("events"),
        search: Search::new(),
    };
    let read = found.read_all(reader, position).await;
    found.users.end(read);
    let mut members = Line::new("group members");
    let read = check_members(reader, &mut members).await;
    members.end(read);
    let [words, further_keys] = found.search.end(reader).await;
    let Found { users, deleted_users, groups, events, .. } = found;
    vec![users, deleted_users, groups, members, words, further_keys, events]
}

struct Found {
    users: Line,
    deleted_users: Line,
    groups: Line,
    events: Line,
    search: Search,
}

impl Found {
    async fn read_all<R: CheckReader>(&mut self, reader: R, position: i64) -> Result<(), R::Error> {
        let span = Span::check(reader, position, &mut self.events).await?;
        forks::check(reader, span, &mut self.events).await?;
        for tenant in tenants(reader).await? {
            let (reader, groups_before) = (reader.of(tenant), self.groups.count);
            self.search.begin_tenant(tenant, user_schema(reader).await?);
            self.read(reader, span).await?;
            audit::check_stored(reader, span, &mut self.events).await?;
            self.search.end_tenant(reader).await?;
            let groups = self.groups.count - groups_before;
            check_total(reader, groups, &mut self.groups).await?;
        }
        Ok(())
    }

    /// Reads the rows of one tenant.
    async fn read<R: CheckReader>(&mut self, reader: R, span: Span) -> Result<(), R::Error> {
        let before = || Cell::from([].as_slice());
        let mut users = Pages::begin(USERS, vec![before()]);
        let mut deleted_users = Pages::begin(DELETED_USERS, vec![before()]);
        let mut groups = Pages::begin(GROUPS, vec![before()]);
        let mut events = Pages::begin(&events(), vec![before(), Cell::Integer(0)]);
        let mut schema = SchemaHistory::new(span);
        loop {
            let ids = [
                users.next_id(reader).await?,
                deleted_users.next_id(reader).await?,
                groups.next_id(reader).await?,
                events.next_id(reader).await?,
            ];
            let next = ids.into_iter().flatten().min();
            let Some(id) = next.map(<[u8]>::to_vec) else { break };
            let user = users.take(reader, &id).await?.map(Item);
            let deleted = deleted_users.take(reader, &id).await?.map(Item);
            let group = groups.take(reader, &id).await?.map(Item);
            let mut history = History::new(span);
            let mut is_of_other = false;
            while let Some(event) = events.take(reader, &id).await? {
                is_of_other = self.add_event(Entry::of(&event), &mut history, &mut schema);
            }
            if let Some(row) = &user
                && let Some(user) = self.check_user(row)
            {
                self.search.add(reader, &user).await?;
            }
            if let Some(row) = &deleted {
                self.check_deleted(row);
                let what = "is live and deleted at once";
                self.deleted_users.require(user.is_none(), &place("deleted_users", &id), what);
            }
            if let Some(row) = &group {
                check_group(row, &mut self.groups);
            }
            if is_of_other {
                continue;
            }
            if group.is_some() || history.is_of_group() {
                let is_alone = user.is_none() && deleted.is_none();
                let what = "is a group and a user at once";
                self.events.require(is_alone, &place("groups", &id), what);
                history.end_of_group(&id, group.as_ref(), &mut self.events);
            } else {
                history.end(&id, user.as_ref(), deleted.as_ref(), &mut self.events);
            }
        }
        schema.end(reader, &mut self.events).await?;
        for (is_out_of_order, line) in [
            (users.is_out_of_order, &mut self.users),
            (deleted_users.is_out_of_order, &mut self.deleted_users),
            (groups.is_out_of_order, &mut self.groups),
            (events.is_out_of_order, &mut self.events),
        ] {
            line.require(!is_out_of_order, &"an index", "it is damaged; the check ended there");
        }
        Ok(())
    }

    /// Checks an event with those before it. Returns whether it is about neither a user nor a
    /// group.
    fn add_event(
        &mut self,
        event: Entry,
        history: &mut History,
        schema: &mut SchemaHistory,
    ) -> bool {
        let line = &mut self.events;
        if event.id == SCHEMA_ID.as_bytes() {
            schema.add(event, line);
        } else if EventKind::parse(&event.kind).is_some_and(EventKind::is_audit) {
            audit::check_event(&event, line);
        } else if event.id != LOG_SUBJECT.as_bytes() {
            history.add(event, line);
            return false;
        }
        true
    }

    /// Compares a row with its record. Returns the user if the record can be parsed.
    fn check_user(&mut self, row: &Item) -> Option<User> {
        let (line, place) = (&mut self.users, place("users", row.id()));
        let user = row.compare(line, &place, User::from_record(row.record()), written)?;
        row.compare_columns(line, &place, columns(&Keys::of(&user)));
        Some(user)
    }

    fn check_deleted(&mut self, row: &Item) {
        let (line, place) = (&mut self.deleted_users, place("deleted_users", row.id()));
        let user = row.compare(line, &place, User::from_record(row.record()), written);
        if let Some(user) = user {
            let keys = Keys::of(&user);
            let made = [
                ("deleted_at", Cell::Integer(user.updated_at.as_millis())),
                ("username_key", text(Some(&keys.username))),
                ("email_key", text(keys.email.as_ref())),
                ("external_id", text(keys.external_id.as_ref())),
            ];
            row.compare_columns(line, &place, made);
        }
    }
}

fn written(user: &User) -> (UserId, i64, Bytes) {
    (user.id, user.version, user.to_record())
}

/// The columns of `users` after the record.
fn columns(keys: &Keys) -> [(&'static str, Cell); 9] {
    let absent = || Cell::from([].as_slice());
    let sort_text = |key: Option<&String>| key.map_or_else(absent, |key| text(Some(key)));
    let status = i64::from(keys.status == Status::Suspended);
    [
        ("updated_at", Cell::Integer(keys.updated_at.as_millis())),
        ("status", Cell::Integer(status)),
        ("username_key", text(Some(&keys.username))),
        ("email_key", sort_text(keys.email.as_ref())),
        ("phone_number_key", text(keys.phone_number.as_ref())),
        ("external_id", text(keys.external_id.as_ref())),
        ("family_name_key", sort_text(keys.family_name.as_ref())),
        ("name_key", sort_text(keys.name.as_ref())),
        ("expires_at_key", sort_text(keys.expires_at.as_ref())),
    ]
}
