//! The tables of a store in the form in which one engine copies them to another.
//!
//! Every engine has these tables and columns. A row is the number of its fields (2 bytes) and its
//! fields; a field is its length (4 bytes, -1 for NULL) and its bytes. All integers are big-endian,
//! so that a row has one form whatever engine it comes from, and a digest over rows is the same in
//! every engine.

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
}

/// Appends a field to a row; `None` if it is too long for its length.
pub fn append_field(row: &mut Vec<u8>, field: Option<&[u8]>) -> Option<()> {
    let length = field.map_or(Ok(-1), |field| i32::try_from(field.len())).ok()?;
    row.extend_from_slice(&length.to_be_bytes());
    row.extend_from_slice(field.unwrap_or_default());
    Some(())
}

/// Splits the first field from a row; `None` if the bytes do not begin with one.
pub fn split_field(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = i32::from_be_bytes(*length);
    if length == -1 {
        return Some((None, rest));
    }
    let (field, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((Some(field), rest))
}
