//! Words and further keys: what is looked up beside the record must be made from it, all of it
//! and nothing else.
//!
//! Each expected row is looked for; then the rows are counted. Only where there are more than
//! were expected, every row is compared with its user, to name those that are too many.

use roster_core::{SearchKeys, User, UserId};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter, types::Value};

use super::{findings::Line, people::place};
use crate::writer::search_rows::further;

const RECORD: &str = "SELECT record FROM users WHERE id = ?1";

/// A table with rows that are made from the records of live users. A row is an id and a key; the
/// key is one column or two.
struct Table<'c> {
    connection: &'c Connection,
    name: &'static str,
    exists: &'static str,
    count: &'static str,
    rows: &'static str,
    keys_of: fn(&SearchKeys) -> Vec<Vec<Value>>,
}

/// Both tables.
pub(super) struct BesideRecord<'c>([(Table<'c>, Line); 2]);

impl<'c> BesideRecord<'c> {
    pub(super) const fn new(connection: &'c Connection) -> Self {
        let words = Table {
            connection,
            name: "words",
            exists: "SELECT 1 FROM words WHERE id = ?1 AND word = ?2",
            count: "SELECT count(*) FROM words",
            rows: "SELECT id, word FROM words",
            keys_of: |keys| keys.words.iter().map(|word| vec![word.clone().into()]).collect(),
        };
        let keys = Table {
            connection,
            name: "further_keys",
            exists: "SELECT 1 FROM further_keys WHERE id = ?1 AND kind = ?2 AND key = ?3",
            count: "SELECT count(*) FROM further_keys",
            rows: "SELECT id, kind, key FROM further_keys",
            keys_of: |keys| {
                further(keys).map(|(kind, key)| vec![kind.into(), key.clone().into()]).collect()
            },
        };
        Self([(words, Line::new("words")), (keys, Line::new("further keys"))])
    }

    /// Looks for all that a user must have.
    pub(super) fn hold(&mut self, user: &User) -> rusqlite::Result<()> {
        let keys = SearchKeys::of(user);
        self.0.iter_mut().try_for_each(|(table, line)| table.look_for(user.id, &keys, line))
    }

    /// Counts what there is; names what is too much.
    pub(super) fn end(self) -> [Line; 2] {
        self.0.map(|(table, mut line)| {
            let read = table.surplus(&mut line);
            line.end(read);
            line
        })
    }
}

impl Table<'_> {
    fn look_for(&self, id: UserId, keys: &SearchKeys, line: &mut Line) -> rusqlite::Result<()> {
        let mut exists = self.connection.prepare_cached(self.exists)?;
        for key in (self.keys_of)(keys) {
            line.count += 1;
            let id_and_key = [Value::Blob(id.as_bytes().to_vec())].into_iter().chain(key);
            let there = exists.exists(params_from_iter(id_and_key))?;
            line.hold(there, &place(self.name, id.as_bytes()), "one is missing");
        }
        Ok(())
    }

    fn surplus(&self, line: &mut Line) -> rusqlite::Result<()> {
        let count: i64 = self.connection.query_row(self.count, [], |row| row.get(0))?;
        if count.unsigned_abs() == line.count - line.faults {
            return Ok(());
        }
        let mut statement = self.connection.prepare(self.rows)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: Vec<u8> = row.get(0)?;
            let place = place(self.name, &id);
            match self.user(&id)? {
                None => line.fault(&place, "there is no such user"),
                Some(user) => {
                    let own = (self.keys_of)(&SearchKeys::of(&user)).contains(&key(row)?);
                    line.hold(own, &place, "one is not the record's");
                }
            }
        }
        Ok(())
    }

    fn user(&self, id: &[u8]) -> rusqlite::Result<Option<User>> {
        let mut statement = self.connection.prepare_cached(RECORD)?;
        let record: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
        let user = record.and_then(|record| User::from_record(record.as_bytes()).ok());
        Ok(user.filter(|user| UserId::from_slice(id) == Some(user.id)))
    }
}

/// The columns of a row behind the id.
fn key(row: &Row<'_>) -> rusqlite::Result<Vec<Value>> {
    (1..row.as_ref().column_count()).map(|index| row.get(index)).collect()
}
