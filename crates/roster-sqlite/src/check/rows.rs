//! The tables as streams of rows, each in the order of ids, so that they can be walked abreast.
//!
//! A row is copied out of its statement: the walk looks one row ahead.

use rusqlite::{Row, Rows, types::Value};

/// Which tables the schema of the database has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// Words, further keys and idempotency keys.
    pub(super) words: bool,
    /// Groups and their members.
    pub(super) groups: bool,
    /// Purged users whose history is still to be erased.
    pub(super) erasures: bool,
}

pub(super) const LIVE: &str = "SELECT id, version, status, updated_at, username_key, email_key, \
     phone_number_key, external_id, family_name_key, name_key, record \
     FROM users INDEXED BY users_id ORDER BY id";

pub(super) const DELETED: &str = "SELECT id, version, deleted_at, username_key, email_key, \
     external_id, record FROM deleted_users INDEXED BY deleted_users_id ORDER BY id";

pub(super) const EVENTS: &str = "SELECT user_id, position, kind, at, version, changed, record \
     FROM events INDEXED BY events_user ORDER BY user_id, position";

pub(super) const GROUPS: &str =
    "SELECT id, version, members, name_key, external_id, record FROM groups ORDER BY id";

/// Of a schema that has no groups yet.
pub(super) const NO_GROUPS: &str = "SELECT x'', 0, 0, '', NULL, '' WHERE false";

/// Whether the history of a purged user is still to be erased.
const IS_BEING_ERASED: &str = "SELECT 1 FROM erasures WHERE id = ?1";

/// The same of a schema that has no erasures yet.
const NO_ERASURES: &str = "SELECT 1 WHERE ?1 IS NULL";

impl Kept {
    /// The statement that checks whether a history is still to be erased.
    pub(super) const fn is_being_erased(self) -> &'static str {
        if self.erasures { IS_BEING_ERASED } else { NO_ERASURES }
    }
}

/// A row of `users`.
pub(super) struct Live {
    pub(super) id: Vec<u8>,
    pub(super) version: i64,
    pub(super) status: i64,
    pub(super) updated_at: i64,
    /// In the order of the columns.
    pub(super) keys: [Value; 6],
    pub(super) record: Vec<u8>,
}

impl Live {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            version: row.get(1)?,
            status: row.get(2)?,
            updated_at: row.get(3)?,
            keys: [row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?, row.get(8)?, row.get(9)?],
            record: bytes(row, 10)?,
        })
    }
}

/// A row of `deleted_users`.
pub(super) struct Gone {
    pub(super) id: Vec<u8>,
    pub(super) version: i64,
    pub(super) deleted_at: i64,
    /// In the order of the columns.
    pub(super) keys: [Value; 3],
    pub(super) record: Vec<u8>,
}

impl Gone {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            version: row.get(1)?,
            deleted_at: row.get(2)?,
            keys: [row.get(3)?, row.get(4)?, row.get(5)?],
            record: bytes(row, 6)?,
        })
    }
}

/// A row of `events`, without who asked.
pub(super) struct Entry {
    pub(super) id: Vec<u8>,
    pub(super) position: i64,
    pub(super) kind: String,
    pub(super) at: i64,
    pub(super) version: i64,
    pub(super) changed: String,
    pub(super) record: Vec<u8>,
}

impl Entry {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            position: row.get(1)?,
            kind: row.get(2)?,
            at: row.get(3)?,
            version: row.get(4)?,
            changed: row.get(5)?,
            record: bytes(row, 6)?,
        })
    }
}

/// A row of `groups`.
pub(super) struct Grouped {
    pub(super) id: Vec<u8>,
    pub(super) version: i64,
    pub(super) members: i64,
    pub(super) name_key: Vec<u8>,
    pub(super) external_id: Option<Vec<u8>>,
    pub(super) record: Vec<u8>,
}

impl Grouped {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            version: row.get(1)?,
            members: row.get(2)?,
            name_key: bytes(row, 3)?,
            external_id: row.get_ref(4)?.as_bytes_or_null()?.map(<[u8]>::to_vec),
            record: bytes(row, 5)?,
        })
    }
}

/// Text that may be no UTF-8 any more.
fn bytes(row: &Row<'_>, index: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(index)?.as_bytes()?.to_vec())
}

/// A stream of rows with a look at the next one.
pub(super) struct Stream<'s, T> {
    rows: Rows<'s>,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
    id: fn(&T) -> &[u8],
    next: Option<T>,
}

impl<'s, T> Stream<'s, T> {
    pub(super) fn begin(
        rows: Rows<'s>,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
        id: fn(&T) -> &[u8],
    ) -> rusqlite::Result<Self> {
        let mut stream = Self { rows, read, id, next: None };
        stream.step()?;
        Ok(stream)
    }

    /// The id of the next row.
    pub(super) fn id(&self) -> Option<&[u8]> {
        self.next.as_ref().map(self.id)
    }

    /// The next row if it has this id.
    pub(super) fn take(&mut self, id: &[u8]) -> rusqlite::Result<Option<T>> {
        if self.id() != Some(id) {
            return Ok(None);
        }
        let taken = self.next.take();
        self.step()?;
        Ok(taken)
    }

    fn step(&mut self) -> rusqlite::Result<()> {
        self.next = match self.rows.next()? {
            Some(row) => Some((self.read)(row)?),
            None => None,
        };
        Ok(())
    }
}
