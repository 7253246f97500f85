//! Groups and who belongs to them: every row against its record, every membership against both of
//! its ends, and the counters.

use roster_core::Group;
use rusqlite::Connection;

use super::{
    findings::Line,
    people::{place, text},
    rows::Item,
};

const COUNT_MEMBERS: &str = "SELECT members, \
     (SELECT count(*) FROM group_members WHERE group_id = ?1) FROM groups WHERE id = ?1";

/// Memberships that have lost one of their ends, or tell of the member what it is not.
const LOOSE: &str = "SELECT m.group_id, m.member_id FROM group_members AS m \
     WHERE NOT EXISTS (SELECT 1 FROM groups WHERE id = m.group_id) \
     OR NOT CASE m.kind WHEN 0 THEN EXISTS (SELECT 1 FROM users WHERE id = m.member_id) \
     WHEN 1 THEN EXISTS (SELECT 1 FROM groups WHERE id = m.member_id) ELSE false END";

/// What is found of groups.
pub(super) struct Groups<'c> {
    connection: &'c Connection,
    rows: Line,
    members: Line,
}

impl<'c> Groups<'c> {
    pub(super) const fn new(connection: &'c Connection) -> Self {
        Self { connection, rows: Line::new("groups"), members: Line::new("group members") }
    }

    /// Compares a row with its record, and its count with its members.
    pub(super) fn hold(&mut self, row: &Item) -> rusqlite::Result<()> {
        let (line, place) = (&mut self.rows, row.place("groups"));
        let mut count = self.connection.prepare_cached(COUNT_MEMBERS)?;
        let (kept, members): (i64, i64) =
            count.query_row([&row.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let what = format!("members is {kept}, but there are {members}");
        line.hold(kept == members, &place, &what);
        let written = |group: &Group| (group.id, group.version, group.to_record());
        let group = row.compare(line, &place, Group::from_record(&row.record), written);
        if let Some(group) = group {
            let name_key = group.name_key();
            let made = [
                ("name_key", text(Some(&name_key))),
                ("external_id", text(group.external_id.as_ref())),
            ];
            row.compare_columns(line, &place, made);
        }
        Ok(())
    }

    /// Looks at the memberships and the counter.
    pub(super) fn end(mut self) -> [Line; 2] {
        let read = self.count();
        self.rows.end(read);
        let read = self.loose();
        self.members.end(read);
        [self.rows, self.members]
    }

    fn count(&mut self) -> rusqlite::Result<()> {
        let kept: i64 =
            self.connection.query_row("SELECT total FROM groups_head", [], |row| row.get(0))?;
        let there = self.rows.count;
        let what = format!("is {kept}, but there are {there}");
        self.rows.hold(u64::try_from(kept) == Ok(there), &"groups_head.total", &what);
        Ok(())
    }

    fn loose(&mut self) -> rusqlite::Result<()> {
        let all = "SELECT count(*) FROM group_members";
        let all: i64 = self.connection.query_row(all, [], |row| row.get(0))?;
        self.members.count = all.unsigned_abs();
        let mut statement = self.connection.prepare(LOOSE)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (group, member): (Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(1)?);
            let what = format!("{} does not belong there", place("member", &member));
            self.members.fault(&place("group_members", &group), &what);
        }
        Ok(())
    }
}
