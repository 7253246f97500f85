//! The tables of a store, which one engine copies to another.
//!
//! Every engine has these tables and columns. A row is read as the same [`Values`] whatever engine
//! it comes from, and a digest over rows is the same in every engine.

use roster_core::page::Flow;
use sha2::{Digest as _, Sha256};

use crate::database::{Cell, Database, Dialect, Values};
use ColumnKind::{Bytes, Id, Integer, OptionalText, Setting, SmallInteger, SortText, Text};

/// A table.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// How many of its columns are its key.
    pub key_columns: usize,
    /// Its columns with their kinds, those of the key first.
    pub columns: &'static [(&'static str, ColumnKind)],
}

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// 16 bytes.
    Id,
    /// An integer of 64 bits: 8 bytes.
    Integer,
    /// An integer of 16 bits, copied as 8 bytes.
    SmallInteger,
    /// UTF-8.
    Text,
    /// UTF-8, or NULL.
    OptionalText,
    /// UTF-8 that users are sorted by, or NULL, which sorts after every text.
    SortText,
    /// Any bytes.
    Bytes,
    /// The value of a setting: text or bytes, copied as bytes.
    Setting,
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
    /// Every table but `log_head`, in the order in which they are copied. The one row of `log_head`
    /// is the identity of the log and its [`Head`](roster_core::Head).
    pub const ALL: &'static [Self] = &[
        Self {
            name: "users",
            key_columns: 1,
            columns: &[
                ("id", Id),
                ("version", Integer),
                ("status", SmallInteger),
                ("updated_at", Integer),
                ("username_key", Text),
                ("email_key", SortText),
                ("phone_number_key", OptionalText),
                ("external_id", OptionalText),
                ("family_name_key", SortText),
                ("name_key", SortText),
                ("record", Text),
            ],
        },
        Self {
            name: "deleted_users",
            key_columns: 1,
            columns: &[
                ("id", Id),
                ("version", Integer),
                ("deleted_at", Integer),
                ("username_key", Text),
                ("email_key", OptionalText),
                ("external_id", OptionalText),
                ("record", Text),
            ],
        },
        Self {
            name: "events",
            key_columns: 1,
            columns: &[
                ("position", Integer),
                ("kind", Text),
                ("at", Integer),
                ("actor", Text),
                ("request_id", Text),
                ("subject_id", Id),
                ("version", Integer),
                ("changed", Text),
                ("record", Text),
            ],
        },
        Self { name: "words", key_columns: 2, columns: &[("word", Text), ("id", Id)] },
        Self {
            name: "further_keys",
            key_columns: 3,
            columns: &[("kind", SmallInteger), ("key", Text), ("id", Id)],
        },
        Self {
            name: "idempotency_keys",
            key_columns: 1,
            columns: &[
                ("key", Bytes),
                ("fingerprint", Bytes),
                ("at", Integer),
                ("user_id", Id),
                ("version", Integer),
                ("position", Integer),
                ("effect", Text),
                ("record", OptionalText),
            ],
        },
        Self { name: "settings", key_columns: 1, columns: &[("name", Text), ("value", Setting)] },
        Self {
            name: "keys",
            key_columns: 1,
            columns: &[
                ("id", Text),
                ("name", Text),
                ("scopes", Text),
                ("created_at", Integer),
                ("created_by", Text),
                ("expires_at", Integer),
                ("revoked_at", Integer),
                ("rotated_at", Integer),
                ("last_used_at", Integer),
                ("secret", Bytes),
                ("former_secret", Bytes),
                ("former_until", Integer),
            ],
        },
        Self {
            name: "keys_head",
            key_columns: 1,
            columns: &[("id", SmallInteger), ("generation", Integer)],
        },
        Self {
            name: "groups",
            key_columns: 1,
            columns: &[
                ("id", Id),
                ("version", Integer),
                ("members", Integer),
                ("name_key", Text),
                ("external_id", OptionalText),
                ("record", Text),
            ],
        },
        Self {
            name: "group_members",
            key_columns: 2,
            columns: &[("group_id", Id), ("member_id", Id), ("kind", SmallInteger)],
        },
        Self {
            name: "groups_head",
            key_columns: 1,
            columns: &[("id", SmallInteger), ("total", Integer)],
        },
        Self { name: "erasures", key_columns: 1, columns: &[("id", Id), ("reached", Integer)] },
        Self {
            name: "clock_mark",
            key_columns: 1,
            columns: &[
                ("id", SmallInteger),
                ("revision", Integer),
                ("at", Integer),
                ("pending_at", Integer),
                ("waited_ms", Integer),
            ],
        },
    ];

    /// The columns of the key.
    pub fn key(&self) -> &'static [(&'static str, ColumnKind)] {
        self.columns.get(..self.key_columns).unwrap_or(self.columns)
    }

    /// The names of all columns, as a statement lists them.
    pub fn column_names(&self) -> String {
        names(self.columns)
    }

    /// The key of a row that begins with its columns, to read the rows after it.
    pub fn key_of(&self, row: &Values) -> Vec<Cell> {
        let field = |(value, (_, kind)): (&Cell, &(_, ColumnKind))| match (value, kind) {
            // PostgreSQL keeps texts as bytes too, so its rows do not tell them apart.
            (Cell::Text(bytes), Bytes) => Cell::Bytes(bytes.clone()),
            (value, _) => value.clone(),
        };
        row.0.iter().zip(self.key()).map(field).collect()
    }

    /// The statement that reads all rows, or those after a key, in the order of keys.
    pub fn select<D: Dialect>(&self, is_after_key: bool) -> String {
        let key = names(self.key());
        let parameters: Vec<_> = (1..=self.key_columns).map(|nth| format!("${nth}")).collect();
        let after = if is_after_key {
            format!(" AND ({key}) > ({})", parameters.join(", "))
        } else {
            String::new()
        };
        format!("SELECT {} FROM {}{after} ORDER BY {key}", self.column_names(), self.rows::<D>())
    }

    /// The statement that reads the key of the last row.
    pub fn select_last_key<D: Dialect>(&self) -> String {
        let order: Vec<_> = self.key().iter().map(|(name, _)| format!("{name} DESC")).collect();
        let (key, order) = (names(self.key()), order.join(", "));
        format!("SELECT {key} FROM {} ORDER BY {order} LIMIT 1", self.rows::<D>())
    }

    /// The statement that counts the rows.
    pub fn count<D: Dialect>(&self) -> String {
        format!("SELECT count(*) FROM {}", self.rows::<D>())
    }

    /// The rows that are copied, with the index that has the order of the key.
    fn rows<D: Dialect>(&self) -> String {
        match self.name {
            name @ ("users" | "deleted_users") => {
                format!("{name}{} WHERE true", D::indexed_by(&format!("{name}_id")))
            }
            // The others are about pages of an SQLite file that are to be overwritten after a
            // purge, and about the progress of a load.
            "settings" => "settings WHERE name NOT IN ('purged', 'sweep_purged', 'sweep_page', \
                           'migration') AND name NOT LIKE 'migration.%'"
                .to_owned(),
            name => format!("{name} WHERE true"),
        }
    }
}

impl ColumnKind {
    /// Whether a value that SQLite stores is of this kind.
    pub fn accepts(self, value: &Cell) -> bool {
        match value {
            Cell::Null => self == OptionalText,
            Cell::Integer(_) => matches!(self, Integer | SmallInteger),
            Cell::Text(text) => {
                matches!(self, Text | OptionalText | SortText | Setting)
                    && std::str::from_utf8(text).is_ok()
            }
            Cell::Bytes(bytes) => match self {
                Id => bytes.len() == 16,
                SortText => bytes.is_empty(),
                Bytes | Setting => true,
                Integer | SmallInteger | Text | OptionalText => false,
            },
            Cell::Ids(_) => false,
        }
    }
}

fn names(columns: &[(&str, ColumnKind)]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Reads a whole table and hashes it. Each value is hashed with its length before it, so that no
/// two tables hash the same bytes. NULL and an absent sort key have no bytes and the length -1.
pub async fn digest<D: Database>(db: D, table: &Table) -> Result<TableDigest, D::Error> {
    let (mut hash, mut rows) = (Sha256::new(), 0);
    let add = |row: Values| {
        for (value, (_, kind)) in row.0.iter().zip(table.columns) {
            let number;
            let bytes = match value {
                Cell::Bytes(_) if *kind == SortText => None,
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
