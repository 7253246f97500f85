//! Groups and who belongs to them: every row against its record, every membership against both of
//! its ends, and the counters.

use roster_core::Group;
use rusqlite::{Connection, params};

use super::{findings::Line, people::place, rows::Grouped};

const COUNT_MEMBERS: &str = "SELECT count(*) FROM group_members WHERE group_id = ?1";

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

    /// Holds a row against its record, and its count against its members.
    pub(super) fn hold(&mut self, row: &Grouped) -> rusqlite::Result<()> {
        self.rows.count += 1;
        let place = place("groups", &row.id);
        let mut count = self.connection.prepare_cached(COUNT_MEMBERS)?;
        let members: i64 = count.query_row(params![row.id], |row| row.get(0))?;
        let what = format!("members is {}, but there are {members}", row.members);
        self.rows.hold(row.members == members, &place, &what);
        let group = match Group::from_record(&row.record) {
            Ok(group) => group,
            Err(corrupt) => {
                self.rows.fault(&place, &corrupt.to_string());
                return Ok(());
            }
        };
        let external_id = group.external_id.as_ref().map(|id| id.as_bytes().to_vec());
        for (holds, what) in [
            (group.id.as_bytes() == &*row.id, "the record has another id"),
            (group.version == row.version, "the record has another version"),
            (group.to_record() == row.record, "the record is not spelt as it is written"),
            (group.name_key().as_bytes() == row.name_key, "name_key is not the record's"),
            (external_id == row.external_id, "external_id is not the record's"),
        ] {
            self.rows.hold(holds, &place, what);
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
