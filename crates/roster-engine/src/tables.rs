//! The tables of a store, which one engine copies to another.
//!
//! Every engine has these tables and columns. A row is read as the same [`Values`] from every
//! engine, and a digest of rows is the same in every engine.

use roster_core::page::Flow;
use sha2::{Digest as _, Sha256};

use crate::database::{Cell, Database, Dialect, Values};

/// A table.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The columns of its key, as a statement lists them.
    pub key: &'static str,
    /// All its columns, those of the key first.
    pub columns: &'static str,
}

/// The number of rows of a table, and a digest over them in the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDigest {
    /// How many rows there are.
    pub rows: u64,
    /// SHA-256 over the rows.
    pub sha256: [u8; 32],
}

impl Table {
    /// Every table except `log_head`, in the order in which they are copied. The only row of
    /// `log_head` is the identity of the log and its last position.
    pub const ALL: &'static [Self] = &[
        Self {
            name: "users",
            key: "tenant, id",
            columns: "tenant, id, version, status, updated_at, username_key, email_key, \
                      phone_number_key, external_id, family_name_key, name_key, \
                      expires_at_key, record",
        },
        Self {
            name: "deleted_users",
            key: "tenant, id",
            columns: "tenant, id, version, deleted_at, username_key, email_key, external_id, \
                      record",
        },
        Self {
            name: "events",
            key: "position",
            columns: "position, tenant, kind, at, actor, request_id, subject_id, version, changed, \
                      record",
        },
        Self { name: "words", key: "tenant, word, id", columns: "tenant, word, id" },
        Self {
            name: "further_keys",
            key: "tenant, kind, key, id",
            columns: "tenant, kind, key, id",
        },
        Self {
            name: "idempotency_keys",
            key: "tenant, key",
            columns: "tenant, key, fingerprint, at, user_id, version, position, effect, record",
        },
        Self { name: "settings", key: "tenant, name", columns: "tenant, name, value" },
        Self {
            name: "keys",
            key: "id",
            columns: "id, tenant, name, scopes, created_at, created_by, expires_at, revoked_at, \
                      rotated_at, last_used_at, secret, former_secret, former_until, generation",
        },
        Self { name: "keys_head", key: "id", columns: "id, generation" },
        Self {
            name: "groups",
            key: "tenant, id",
            columns: "tenant, id, version, members, name_key, external_id, record",
        },
        Self {
            name: "group_members",
            key: "tenant, group_id, member_id",
            columns: "tenant, group_id, member_id, kind",
        },
        Self {
            name: "tenants",
            key: "id",
            columns: "id, name, version, status, display_name, external_id, users_max, created_at, \
                      updated_at, deleted_at, active, suspended, deleted, groups",
        },
        Self {
            name: "webhooks",
            key: "tenant, id",
            columns: "tenant, id, version, status, audit, record, secret, former_secret, \
                      former_until, log_id, position, failed_to, attempts, failing_since, \
                      failing_ms, next_attempt_at, deliveries",
        },
        Self { name: "erasures", key: "tenant, id", columns: "tenant, id, reached" },
        Self { name: "former_logs", key: "position", columns: "position, log_id" },
        Self { name: "clock_mark", key: "id", columns: "id, revision, at, pending_at, waited_ms" },
    ];

    /// For each table with rows of tenants, the statement that deletes the first `$2` rows of
    /// tenant `$1`. Events stay without their records, and what is still to be erased is deleted at
    /// the end.
    pub fn erase_tenant<D: Dialect>() -> impl Iterator<Item = String> {
        let stays = |table: &&Self| ["events", "erasures"].contains(&table.name);
        Self::ALL.iter().filter(move |table| !stays(table)).filter_map(|table| {
            let Self { name, key, columns } = table;
            let order = if key.starts_with("tenant") { key } else { "tenant, id" };
            let is_of_tenants = columns.split(", ").any(|column| column == "tenant");
            is_of_tenants.then(|| D::delete_first(name, key, order))
        })
    }

    /// The key of a row, whose first columns are the key. The next rows are read after it.
    pub fn key_of(&self, row: &Values) -> Vec<Cell> {
        // Only this key has the type bytes. PostgreSQL stores texts as bytes too, so its rows do
        // not show the difference.
        let is_bytes = self.name == "idempotency_keys";
        let field = |value: &Cell| {
            let text = if let Cell::Text(bytes) = value { Some(bytes) } else { None };
            let bytes = text.filter(|_| is_bytes).cloned().map(Cell::Bytes);
            bytes.unwrap_or_else(|| value.clone())
        };
        row.0.iter().take(self.key.split(", ").count()).map(field).collect()
    }

    /// Whether a value is an absent sort key, which is empty bytes, unlike an empty text. Only
    /// users have sort keys, and they have no other bytes that may be empty.
    pub fn is_absent_key(&self, value: &Cell) -> bool {
        self.name == "users" && matches!(value, Cell::Bytes(bytes) if bytes.is_empty())
    }

    /// The statement that reads all rows, or those after a key, in the order of keys.
    pub fn select<D: Dialect>(&self, is_after_key: bool) -> String {
        let Self { key, columns, .. } = self;
        let parameters = (1..).zip(key.split(", ")).map(|(nth, _)| format!("${nth}"));
        let after = if is_after_key {
            format!(" AND ({key}) > ({})", parameters.collect::<Vec<_>>().join(", "))
        } else {
            String::new()
        };
        format!("SELECT {columns} FROM {}{after} ORDER BY {key}", self.rows::<D>())
    }

    /// The statement that reads the key of the last row.
    pub fn select_last_key<D: Dialect>(&self) -> String {
        let (key, order) = (self.key, self.key.replace(", ", " DESC, "));
        format!("SELECT {key} FROM {} ORDER BY {order} DESC LIMIT 1", self.rows::<D>())
    }

    /// The statement that counts the rows.
    pub fn count<D: Dialect>(&self) -> String {
        format!("SELECT count(*) FROM {}", self.rows::<D>())
    }

    /// The rows that are copied, and the index that has the order of the key.
    fn rows<D: Dialect>(&self) -> String {
        match self.name {
            name @ ("users" | "deleted_users") => {
                format!("{name}{} WHERE true", D::indexed_by(&format!("{name}_id")))
            }
            // The other settings belong to the sweep of an SQLite file after a purge, to the
            // progress of a load, and to the processes over the other engine.
            "settings" => "settings WHERE name NOT IN ('purged', 'sweep_purged', 'sweep_page', \
                           'migration', 'start_settings') AND name NOT LIKE 'migration.%'"
                .to_owned(),
            name => format!("{name} WHERE true"),
        }
    }
}

/// Reads a whole table and hashes it. Each value is hashed with its length before it, so that no
/// two tables hash the same bytes. NULL and an absent sort key have no bytes and the length -1.
pub async fn digest<D: Database>(db: D, table: &Table) -> Result<TableDigest, D::Error> {
    let (mut hash, mut rows) = (Sha256::new(), 0);
    let add = |row: Values| {
        for value in &row.0 {
            let number;
            let bytes = match value {
                value if table.is_absent_key(value) => None,
                Cell::Null | Cell::Ids(_) => None,
                Cell::Integer(value) => {
                    number = value.to_be_bytes();
                    Some(number.as_slice())
                }
                Cell::Text(bytes) | Cell::Bytes(bytes) => Some(&**bytes),
            };
            let length = bytes.map_or(-1, |bytes| i64::try_from(bytes.len()).unwrap_or(i64::MAX));
            hash.update(length.to_be_bytes());
            hash.update(bytes.unwrap_or_default());
        }
        rows += 1;
        Ok(Flow::Next)
    };
    db.each(&table.select::<D>(false), &[], add).await?;
    Ok(TableDigest { rows, sha256: hash.finalize().into() })
}
