//! Rows of new indexes, from the read of their users until they are written.

use std::{collections::BTreeSet, iter, mem};

use roster_core::{StoreError, TenantId, User, UserId, schema::MemberIndex};

use crate::database::{Database, Values, corrupt_record, first, rows};

/// A row of an index: its number, a key, and the user.
pub type IndexRow = (i16, String, UserId);

/// Writes rows of indexes.
pub trait IndexWriter: Database {
    /// Inserts the rows that do not exist.
    fn add_index_rows(self, rows: &[IndexRow]) -> impl Future<Output = Result<(), Self::Error>>;
}

/// The maximum number of users that a step reads, and of rows that it writes, if rows are kept
/// between steps.
const USERS_AT_ONCE: i64 = 100;
const ROWS_AT_ONCE: usize = 64;

/// The record of a user.
const USER: &str = "SELECT record FROM users WHERE tenant = $1 AND id = $2";

/// The memory for a user or a row beside its key.
const ROW_BYTES: usize = 80;

/// How far indexes are built.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// The last user that has its rows.
    pub(crate) last: Option<UserId>,
    /// The number of users up to there.
    pub(crate) users: u64,
    /// Whether all users have their rows.
    pub(crate) is_end: bool,
}

/// How the next users are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextUsers {
    /// The statement, as [`crate::IndexSql::users`].
    pub(crate) sql: &'static str,
    /// The maximum number of rows that are written in the order of users.
    pub(crate) rows_max: i64,
}

/// Rows that were read for the indexes of one tenant and are not written yet.
///
/// In the order of users each row is on another page of the index. A writer that can keep rows
/// between steps reads those of many users first, and then writes them in the order of the index,
/// where a page has many of them.
#[derive(Debug, Default)]
pub struct IndexRows {
    /// About how much memory they may occupy; 0 if each step writes the rows that it reads.
    bytes_max: usize,
    tenant: Option<TenantId>,
    /// The indexes as they were when the first user was read.
    indexes: Vec<MemberIndex>,
    rows: BTreeSet<IndexRow>,
    bytes: usize,
    /// How far users are read.
    progress: Progress,
}

impl IndexRows {
    /// Keeps rows between steps, in about this memory.
    pub fn in_memory(bytes_max: usize) -> Self {
        Self { bytes_max, ..Self::default() }
    }

    /// The tenant that has rows here.
    pub fn tenant(&self) -> Option<TenantId> {
        self.tenant
    }

    /// Forgets the rows. The next step reads them again.
    pub fn clear(&mut self) {
        *self = Self::in_memory(self.bytes_max);
    }

    /// Reads users or writes rows for these indexes, which all continue after the same user.
    /// Returns the progress to be stored if all rows that were read are written.
    pub(crate) async fn step<D: IndexWriter>(
        &mut self,
        db: D,
        next: NextUsers,
        indexes: Vec<MemberIndex>,
        from: Progress,
    ) -> Result<Option<Progress>, D::Error> {
        if self.tenant != Some(db.tenant()) || self.indexes != indexes {
            let tenant = Some(db.tenant());
            *self = Self { tenant, indexes, progress: from, ..Self::in_memory(self.bytes_max) };
        }
        if !self.is_read() {
            self.read(db, next).await?;
        }
        if !self.is_read() {
            return Ok(None);
        }
        let written = if self.bytes_max == 0 {
            mem::take(&mut self.rows).into_iter().collect()
        } else {
            self.next(db).await?
        };
        db.add_index_rows(&written).await?;
        if !self.rows.is_empty() {
            return Ok(None);
        }
        let progress = self.progress;
        self.clear();
        Ok(Some(progress))
    }

    fn is_read(&self) -> bool {
        self.progress.is_end || self.bytes > self.bytes_max
    }

    /// Reads the rows of the next users.
    async fn read<D: Database>(&mut self, db: D, next: NextUsers) -> Result<(), D::Error> {
        let most = if self.bytes_max == 0 {
            (next.rows_max / i64::try_from(self.indexes.len()).unwrap_or(1)).max(1)
        } else {
            USERS_AT_ONCE
        };
        let after = self.progress.last.unwrap_or(UserId::from_bytes([0; 16]));
        let found = rows(db, next.sql, &[db.tenant().into(), after.into(), most.into()]).await?;
        for row in &found {
            let id = row.id(0, "users.id")?;
            let user = user(id, row, 1)?;
            for index in &self.indexes {
                for key in index.keys(&user) {
                    self.bytes += ROW_BYTES + key.len();
                    self.rows.insert((index.kind, key, id));
                }
            }
            // A user without rows counts too, so that a step that keeps nothing makes progress.
            self.bytes += ROW_BYTES;
            self.progress.last = Some(id);
        }
        self.progress.users += u64::try_from(found.len()).unwrap_or(0);
        self.progress.is_end = i64::try_from(found.len()).unwrap_or(i64::MAX) < most;
        Ok(())
    }

    /// The next rows in the order of the index. A write has updated the rows of a user that has
    /// changed since it was read, so those are left out.
    async fn next<D: Database>(&mut self, db: D) -> Result<Vec<IndexRow>, D::Error> {
        let mut next = Vec::new();
        for row in iter::from_fn(|| self.rows.pop_first()).take(ROWS_AT_ONCE) {
            let (kind, key, id) = &row;
            let Some(record) = first(db, USER, &[db.tenant().into(), (*id).into()]).await? else {
                continue;
            };
            let user = user(*id, &record, 0)?;
            let index = self.indexes.iter().find(|index| index.kind == *kind);
            if index.is_some_and(|index| index.keys(&user).contains(key)) {
                next.push(row);
            }
        }
        Ok(next)
    }
}

fn user(id: UserId, row: &Values, at: usize) -> Result<User, StoreError> {
    User::from_record(row.bytes(at, "users.record")?)
        .map_err(|fault| corrupt_record("users", id, &fault.member))
}
