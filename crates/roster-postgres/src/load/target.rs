//! The tables as they are filled: in which order, which columns, how a field stands in each.
//!
//! Fields come in one form, whatever engine they come from: ids are 16 bytes, numbers 8 bytes with
//! the highest first, texts are UTF-8, what is absent is absent. It is also how PostgreSQL sends
//! its own values, but for those whose kind says otherwise.

/// A table that is filled.
#[derive(Debug)]
pub(super) struct Target {
    /// Its name.
    pub(super) name: &'static str,
    /// Its columns in the order of the fields, those of the key first.
    pub(super) columns: &'static [(&'static str, Kind)],
    /// How many columns make its key.
    key_columns: usize,
    /// Rows that are not the source's, as a condition.
    beside: Option<&'static str>,
}

/// How a field stands in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As it is: `uuid`, `bigint`, `text` or `bytea`.
    Same,
    /// A number in a `smallint`.
    Small,
    /// A text in a `bytea` that is never null: absent is the one byte ff, after every text.
    Sort,
}

use Kind::{Same, Small, Sort};

impl Target {
    /// Every table but `log_head`, in the order in which they are filled.
    pub(super) const ALL: &'static [Self] = &[
        Self {
            name: "users",
            columns: &[
                ("id", Same),
                ("version", Same),
                ("status", Small),
                ("updated_at", Same),
                ("username_key", Same),
                ("email_key", Sort),
                ("phone_number_key", Same),
                ("external_id", Same),
                ("family_name_key", Sort),
                ("name_key", Sort),
                ("record", Same),
            ],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "deleted_users",
            columns: &[
                ("id", Same),
                ("version", Same),
                ("deleted_at", Same),
                ("username_key", Same),
                ("email_key", Same),
                ("external_id", Same),
                ("record", Same),
            ],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "events",
            columns: &[
                ("position", Same),
                ("kind", Same),
                ("at", Same),
                ("actor", Same),
                ("request_id", Same),
                ("user_id", Same),
                ("version", Same),
                ("changed", Same),
                ("record", Same),
            ],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "words",
            columns: &[("word", Same), ("id", Same)],
            key_columns: 2,
            beside: None,
        },
        Self {
            name: "further_keys",
            columns: &[("kind", Small), ("key", Same), ("id", Same)],
            key_columns: 3,
            beside: None,
        },
        Self {
            name: "idempotency_keys",
            columns: &[
                ("key", Same),
                ("fingerprint", Same),
                ("at", Same),
                ("user_id", Same),
                ("version", Same),
                ("position", Same),
                ("effect", Same),
                ("record", Same),
            ],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "settings",
            columns: &[("name", Same), ("value", Same)],
            key_columns: 1,
            beside: Some("name = 'migration' OR name LIKE 'migration.%'"),
        },
        Self {
            name: "keys",
            columns: &[
                ("id", Same),
                ("name", Same),
                ("scopes", Same),
                ("created_at", Same),
                ("created_by", Same),
                ("expires_at", Same),
                ("revoked_at", Same),
                ("rotated_at", Same),
                ("last_used_at", Same),
                ("secret", Same),
                ("former_secret", Same),
                ("former_until", Same),
            ],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "keys_head",
            columns: &[("id", Small), ("generation", Same)],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "groups",
            columns: &[
                ("id", Same),
                ("version", Same),
                ("members", Same),
                ("name_key", Same),
                ("external_id", Same),
                ("record", Same),
            ],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "group_members",
            columns: &[("group_id", Same), ("member_id", Same), ("kind", Small)],
            key_columns: 2,
            beside: None,
        },
        Self {
            name: "groups_head",
            columns: &[("id", Small), ("total", Same)],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "erasures",
            columns: &[("id", Same), ("reached", Same)],
            key_columns: 1,
            beside: None,
        },
        Self {
            name: "clock_mark",
            columns: &[
                ("id", Small),
                ("revision", Same),
                ("at", Same),
                ("pending_at", Same),
                ("waited_ms", Same),
            ],
            key_columns: 1,
            beside: None,
        },
    ];

    /// The table of that name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|target| target.name == name)
    }

    /// The statement that takes rows.
    pub(super) fn copy_in_sql(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|(name, _)| quoted(name)).collect();
        format!("COPY {} ({}) FROM STDIN (FORMAT binary)", self.name, names.join(", "))
    }

    /// The statement that gives all rows back, in the order of keys and with fields as they came.
    pub(super) fn copy_out_sql(&self) -> String {
        let fields = self.columns.iter().map(|(name, kind)| {
            let name = quoted(name);
            match kind {
                Same => name,
                Small => format!("{name}::bigint"),
                Sort => format!(r"nullif({name}, '\xff'::bytea)"),
            }
        });
        let fields: Vec<_> = fields.collect();
        let keys = self.columns.iter().take(self.key_columns).map(|(name, _)| quoted(name));
        let keys: Vec<_> = keys.collect();
        let condition = self.beside.map(|rows| format!(" WHERE NOT ({rows})")).unwrap_or_default();
        let name = self.name;
        let (fields, keys) = (fields.join(", "), keys.join(", "));
        format!(
            "COPY (SELECT {fields} FROM {name}{condition} ORDER BY {keys}) \
             TO STDOUT (FORMAT binary)"
        )
    }
}

/// Some names are words of SQL.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

#[cfg(test)]
impl Target {
    /// A table with a column of each kind.
    pub(super) const fn of_tests() -> Self {
        let columns = &[("same", Same), ("small", Small), ("sort", Sort)];
        Self { name: "tests", columns, key_columns: 1, beside: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_go_in_and_come_back_in_one_order() {
        let target = Target::of_tests();
        assert_eq!(
            target.copy_in_sql(),
            "COPY tests (\"same\", \"small\", \"sort\") FROM STDIN (FORMAT binary)"
        );
        assert_eq!(
            target.copy_out_sql(),
            "COPY (SELECT \"same\", \"small\"::bigint, nullif(\"sort\", '\\xff'::bytea) \
             FROM tests ORDER BY \"same\") TO STDOUT (FORMAT binary)"
        );
    }

    #[test]
    fn the_notes_of_the_load_are_not_taken_for_settings_of_the_source() {
        let settings = Target::named("settings").map(Target::copy_out_sql).unwrap_or_default();
        let without = "WHERE NOT (name = 'migration' OR name LIKE 'migration.%')";
        assert!(settings.contains(without), "{settings}");
    }
}
