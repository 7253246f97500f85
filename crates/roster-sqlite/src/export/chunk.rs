//! The rows of a table as another engine reads them.

use roster_engine::{ColumnKind, Table, append_field, split_field};
use rusqlite::{
    CachedStatement, Connection, Row,
    types::{ToSqlOutput, ValueRef},
};

use super::error::ExportError;

/// Some rows of a table, in the order of keys and in the form of [`Table`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The rows, one after the other.
    pub tuples: Vec<u8>,
    /// How many there are.
    pub rows: u64,
    /// The key of the last row, from which to continue; `None` if there are no more rows.
    pub last_key: Option<Vec<u8>>,
}

/// Reads the rows after a key: as many as fit into `bytes_max`, but at least one.
pub(super) fn read(
    connection: &Connection,
    table: &Table,
    after: Option<&[u8]>,
    bytes_max: usize,
) -> Result<Chunk, ExportError> {
    let mut statement = connection.prepare_cached(&select_sql(table, after.is_some()))?;
    if let Some(key) = after {
        bind(&mut statement, table, key)?;
    }
    let fields = u16::try_from(table.columns.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut chunk = Chunk::default();
    let mut key = 0..0;
    let mut rows = statement.raw_query();
    while chunk.tuples.len() < bytes_max
        && let Some(row) = rows.next()?
    {
        chunk.tuples.extend_from_slice(&fields);
        key.start = chunk.tuples.len();
        for (index, column) in table.columns.iter().enumerate() {
            append(&mut chunk.tuples, row, index, column, table)?;
            if index + 1 == table.key_columns {
                key.end = chunk.tuples.len();
            }
        }
        chunk.rows += 1;
    }
    if chunk.rows > 0 {
        chunk.last_key = chunk.tuples.get(key).map(<[u8]>::to_vec);
    }
    Ok(chunk)
}

/// Binds the fields of a key.
fn bind(statement: &mut CachedStatement<'_>, table: &Table, key: &[u8]) -> Result<(), ExportError> {
    let mut left = key;
    for (index, (_, kind)) in table.key().iter().enumerate() {
        let Some((Some(field), rest)) = split_field(left) else {
            return Err(ExportError::ForeignKey);
        };
        let value = match kind {
            ColumnKind::Integer | ColumnKind::SmallInteger => {
                let bytes = field.try_into().map_err(|_| ExportError::ForeignKey)?;
                ValueRef::Integer(i64::from_be_bytes(bytes))
            }
            ColumnKind::Text | ColumnKind::OptionalText | ColumnKind::SortText => {
                ValueRef::Text(field)
            }
            ColumnKind::Id | ColumnKind::Bytes | ColumnKind::Setting => ValueRef::Blob(field),
        };
        statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value))?;
        left = rest;
    }
    if left.is_empty() { Ok(()) } else { Err(ExportError::ForeignKey) }
}

/// Appends a field, if its value is of the column's kind.
fn append(
    tuples: &mut Vec<u8>,
    row: &Row<'_>,
    index: usize,
    (name, kind): &(&str, ColumnKind),
    table: &Table,
) -> Result<(), ExportError> {
    let number: [u8; 8];
    let damaged =
        |what| ExportError::Damaged { what: format!("a value in {}.{name} is {what}", table.name) };
    let field = match (kind, row.get_ref(index)?) {
        (ColumnKind::Id, ValueRef::Blob(bytes)) if bytes.len() == 16 => Some(bytes),
        (ColumnKind::Integer | ColumnKind::SmallInteger, ValueRef::Integer(value)) => {
            number = value.to_be_bytes();
            Some(number.as_slice())
        }
        (
            ColumnKind::Text
            | ColumnKind::OptionalText
            | ColumnKind::SortText
            | ColumnKind::Setting,
            ValueRef::Text(text),
        ) if std::str::from_utf8(text).is_ok() => Some(text),
        (ColumnKind::Bytes | ColumnKind::Setting, ValueRef::Blob(bytes)) => Some(bytes),
        (ColumnKind::OptionalText, ValueRef::Null)
        | (ColumnKind::SortText, ValueRef::Blob(&[])) => None,
        (_, _) => return Err(damaged("none of its kind")),
    };
    append_field(tuples, field).ok_or_else(|| damaged("too long"))
}

/// The statement that reads all rows, or those after a key, in the order of keys.
pub(crate) fn select_sql(table: &Table, is_after_key: bool) -> String {
    let key = names(table.key());
    let parameters = vec!["?"; table.key_columns].join(", ");
    let after = if is_after_key { format!(" AND ({key}) > ({parameters})") } else { String::new() };
    format!("SELECT {} FROM {}{after} ORDER BY {key}", names(table.columns), from(table))
}

/// The statement that counts the rows.
pub(super) fn count_sql(table: &Table) -> String {
    format!("SELECT count(*) FROM {}", from(table))
}

/// The rows that leave this engine, with the index that has the order of the key.
fn from(table: &Table) -> String {
    match table.name {
        name @ ("users" | "deleted_users") => format!("{name} INDEXED BY {name}_id WHERE true"),
        // The others are about pages of this file that are to be overwritten after a purge.
        "settings" => {
            "settings WHERE name NOT IN ('purged', 'sweep_purged', 'sweep_page')".to_owned()
        }
        name => format!("{name} WHERE true"),
    }
}

fn names<T>(columns: &[(&str, T)]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}
