//! The tables as they are handed out: which columns, of what kind, in the order of which key.
//!
//! The key's columns stand first. A table that is not here does not leave this engine: a new one
//! needs its row, and a test holds this list against the schema.

/// A table as it is handed out.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, those of the key first.
    pub columns: &'static [Column],
    /// How many columns make its key.
    pub key_columns: usize,
    /// What is read: the table, the index that gives the order, what is left out.
    from: &'static str,
}

/// A column as it is handed out.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: ColumnKind,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// An id: 16 bytes.
    Id,
    /// A whole number: 8 bytes, the highest first.
    Number,
    /// UTF-8.
    Text,
    /// UTF-8, or absent.
    OptionalText,
    /// What is sorted by: UTF-8, or absent, which sorts after every text.
    SortText,
    /// Any bytes.
    Bytes,
    /// The value of a setting: text or bytes, handed out as bytes.
    Setting,
}

use ColumnKind::{Bytes, Id, Number, OptionalText, Setting, SortText, Text};

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

const USERS: Table = Table {
    name: "users",
    columns: &[
        column("id", Id),
        column("version", Number),
        column("status", Number),
        column("updated_at", Number),
        column("username_key", Text),
        column("email_key", SortText),
        column("phone_number_key", OptionalText),
        column("external_id", OptionalText),
        column("family_name_key", SortText),
        column("name_key", SortText),
        column("record", Text),
    ],
    key_columns: 1,
    from: "users INDEXED BY users_id WHERE true",
};

const DELETED_USERS: Table = Table {
    name: "deleted_users",
    columns: &[
        column("id", Id),
        column("version", Number),
        column("deleted_at", Number),
        column("username_key", Text),
        column("email_key", OptionalText),
        column("external_id", OptionalText),
        column("record", Text),
    ],
    key_columns: 1,
    from: "deleted_users INDEXED BY deleted_users_id WHERE true",
};

const EVENTS: Table = Table {
    name: "events",
    columns: &[
        column("position", Number),
        column("kind", Text),
        column("at", Number),
        column("actor", Text),
        column("request_id", Text),
        column("user_id", Id),
        column("version", Number),
        column("changed", Text),
        column("record", Text),
    ],
    key_columns: 1,
    from: "events WHERE true",
};

const WORDS: Table = Table {
    name: "words",
    columns: &[column("word", Text), column("id", Id)],
    key_columns: 2,
    from: "words WHERE true",
};

const FURTHER_KEYS: Table = Table {
    name: "further_keys",
    columns: &[column("kind", Number), column("key", Text), column("id", Id)],
    key_columns: 3,
    from: "further_keys WHERE true",
};

const IDEMPOTENCY_KEYS: Table = Table {
    name: "idempotency_keys",
    columns: &[
        column("key", Bytes),
        column("fingerprint", Bytes),
        column("at", Number),
        column("user_id", Id),
        column("version", Number),
        column("position", Number),
        column("effect", Text),
        column("record", OptionalText),
    ],
    key_columns: 1,
    from: "idempotency_keys WHERE true",
};

/// Without what is noted about a sweep: it is about the files of this engine.
const SETTINGS: Table = Table {
    name: "settings",
    columns: &[column("name", Text), column("value", Setting)],
    key_columns: 1,
    from: "settings WHERE name NOT IN ('purged', 'sweep_purged', 'sweep_page')",
};

const KEYS: Table = Table {
    name: "keys",
    columns: &[
        column("id", Text),
        column("name", Text),
        column("scopes", Text),
        column("created_at", Number),
        column("created_by", Text),
        column("expires_at", Number),
        column("revoked_at", Number),
        column("rotated_at", Number),
        column("last_used_at", Number),
        column("secret", Bytes),
        column("former_secret", Bytes),
        column("former_until", Number),
    ],
    key_columns: 1,
    from: "keys WHERE true",
};

const KEYS_HEAD: Table = Table {
    name: "keys_head",
    columns: &[column("id", Number), column("generation", Number)],
    key_columns: 1,
    from: "keys_head WHERE true",
};

const GROUPS: Table = Table {
    name: "groups",
    columns: &[
        column("id", Id),
        column("version", Number),
        column("members", Number),
        column("name_key", Text),
        column("external_id", OptionalText),
        column("record", Text),
    ],
    key_columns: 1,
    from: "groups WHERE true",
};

const GROUP_MEMBERS: Table = Table {
    name: "group_members",
    columns: &[column("group_id", Id), column("member_id", Id), column("kind", Number)],
    key_columns: 2,
    from: "group_members WHERE true",
};

const GROUPS_HEAD: Table = Table {
    name: "groups_head",
    columns: &[column("id", Number), column("total", Number)],
    key_columns: 1,
    from: "groups_head WHERE true",
};

const ERASURES: Table = Table {
    name: "erasures",
    columns: &[column("id", Id), column("reached", Number)],
    key_columns: 1,
    from: "erasures WHERE true",
};

const CLOCK_MARK: Table = Table {
    name: "clock_mark",
    columns: &[
        column("id", Number),
        column("revision", Number),
        column("at", Number),
        column("pending_at", Number),
        column("waited_ms", Number),
    ],
    key_columns: 1,
    from: "clock_mark WHERE true",
};

impl Table {
    /// Every table but `log_head`, whose one row is [`super::Export::log_id`] and
    /// [`super::Export::head`].
    pub const ALL: &'static [Self] = &[
        USERS,
        DELETED_USERS,
        EVENTS,
        WORDS,
        FURTHER_KEYS,
        IDEMPOTENCY_KEYS,
        SETTINGS,
        KEYS,
        KEYS_HEAD,
        GROUPS,
        GROUP_MEMBERS,
        GROUPS_HEAD,
        ERASURES,
        CLOCK_MARK,
    ];

    /// The columns of the key.
    pub fn key(&self) -> &'static [Column] {
        self.columns.get(..self.key_columns).unwrap_or(self.columns)
    }

    /// The statement that reads all rows, or those after a key.
    pub(crate) fn select_sql(&self, is_after_key: bool) -> String {
        let Self { from, .. } = self;
        let (columns, key) = (names(self.columns), names(self.key()));
        let places = vec!["?"; self.key_columns].join(", ");
        let after = if is_after_key { format!(" AND ({key}) > ({places})") } else { String::new() };
        format!("SELECT {columns} FROM {from}{after} ORDER BY {key}")
    }

    /// The statement that counts the rows.
    pub(super) fn count_sql(&self) -> String {
        format!("SELECT count(*) FROM {}", self.from)
    }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}
