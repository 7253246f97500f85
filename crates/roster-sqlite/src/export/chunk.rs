//! Rows as they leave this engine.

use rusqlite::{
    CachedStatement, Connection, Row, ToSql,
    types::{ToSqlOutput, ValueRef},
};

use super::{
    error::ExportError,
    table::{Column, ColumnKind, Table},
};

/// The length of a field that is absent.
const ABSENT: [u8; 4] = [0xff; 4];

/// Some rows of a table, in the order of keys.
///
/// A row is the number of its fields (2 bytes), and each field its length (4 bytes) and that many
/// bytes; an absent one has the length -1 and nothing after it. Numbers have the highest byte
/// first. The same row is always the same bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The rows, one behind the other.
    pub tuples: Vec<u8>,
    /// How many.
    pub rows: u64,
    /// The key of the last one, to go on from; `None` where there are no more.
    pub last_key: Option<Vec<u8>>,
}

/// Reads the rows after a key.
pub(super) fn read(
    connection: &Connection,
    table: &Table,
    after: Option<&[u8]>,
    bytes_max: usize,
) -> Result<Chunk, ExportError> {
    let mut statement = connection.prepare_cached(&table.select_sql(after.is_some()))?;
    if let Some(key) = after {
        bind(&mut statement, table, key)?;
    }
    let fields = u16::try_from(table.columns.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut chunk = Chunk::default();
    let mut last = 0..0;
    let mut rows = statement.raw_query();
    while chunk.tuples.len() < bytes_max
        && let Some(row) = rows.next()?
    {
        chunk.tuples.extend_from_slice(&fields);
        last.start = chunk.tuples.len();
        for (index, column) in table.columns.iter().enumerate() {
            if index == table.key_columns {
                last.end = chunk.tuples.len();
            }
            append(&mut chunk.tuples, row, index, column, table)?;
        }
        if table.key_columns == table.columns.len() {
            last.end = chunk.tuples.len();
        }
        chunk.rows += 1;
    }
    if chunk.rows > 0 {
        chunk.last_key = chunk.tuples.get(last).map(<[u8]>::to_vec);
    }
    Ok(chunk)
}

/// Binds the fields of a key.
fn bind(statement: &mut CachedStatement<'_>, table: &Table, key: &[u8]) -> Result<(), ExportError> {
    let mut left = key;
    for (index, column) in table.key().iter().enumerate() {
        let (field, rest) = first_field(left).ok_or(ExportError::ForeignKey)?;
        statement.raw_bind_parameter(index + 1, KeyField { field, kind: column.kind })?;
        left = rest;
    }
    if left.is_empty() { Ok(()) } else { Err(ExportError::ForeignKey) }
}

fn first_field(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = key.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// A field of a key as it is bound.
struct KeyField<'a> {
    field: &'a [u8],
    kind: ColumnKind,
}

impl ToSql for KeyField<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self.kind {
            ColumnKind::Number => {
                let bytes = <[u8; 8]>::try_from(self.field)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                ValueRef::Integer(i64::from_be_bytes(bytes))
            }
            ColumnKind::Text | ColumnKind::OptionalText | ColumnKind::SortText => {
                ValueRef::Text(self.field)
            }
            ColumnKind::Id | ColumnKind::Bytes | ColumnKind::Setting => ValueRef::Blob(self.field),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

/// Appends a field, held against its column's kind.
fn append(
    tuples: &mut Vec<u8>,
    row: &Row<'_>,
    index: usize,
    column: &Column,
    table: &Table,
) -> Result<(), ExportError> {
    let number: [u8; 8];
    let field = match (column.kind, row.get_ref(index)?) {
        (ColumnKind::Id, ValueRef::Blob(bytes)) if bytes.len() == 16 => Some(bytes),
        (ColumnKind::Number, ValueRef::Integer(value)) => {
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
        (_, _) => {
            let what = format!("a value in {}.{} is none of its kind", table.name, column.name);
            return Err(ExportError::Damaged { what });
        }
    };
    let Some(field) = field else {
        tuples.extend_from_slice(&ABSENT);
        return Ok(());
    };
    let length = i32::try_from(field.len()).map_err(|_| ExportError::Damaged {
        what: format!("a value in {}.{} is too long", table.name, column.name),
    })?;
    tuples.extend_from_slice(&length.to_be_bytes());
    tuples.extend_from_slice(field);
    Ok(())
}
