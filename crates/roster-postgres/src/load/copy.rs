//! Tables in the format of binary `COPY`.
//!
//! Binary `COPY` has the rows of [`Table`] between a header and a trailer. Some columns have
//! another type here than in the form of [`Table`]: a [`ColumnKind::SmallInteger`] is a `smallint`,
//! and a [`ColumnKind::SortText`] is a `bytea` in which the byte ff, after every text, replaces
//! NULL.

use bytes::{Buf as _, Bytes, BytesMut};
use roster_engine::{ColumnKind, Table, append_field, split_field};

use super::error::LoadError;

/// The header of binary `COPY`: the signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The trailer: a row of -1 fields.
const TRAILER: [u8; 2] = [0xff, 0xff];

/// The value that replaces NULL in a column that users are sorted by.
const LAST: &[u8] = &[0xff];

/// The statement that inserts rows.
pub(super) fn copy_in_sql(table: &Table) -> String {
    format!("COPY {} ({}) FROM STDIN (FORMAT binary)", table.name, quoted(table.columns).join(", "))
}

/// The statement that returns all rows in the order of keys, in the form of [`Table`].
pub(super) fn copy_out_sql(table: &Table) -> String {
    let fields = table.columns.iter().zip(quoted(table.columns)).map(|((_, kind), name)| {
        if *kind == ColumnKind::SmallInteger {
            format!("{name}::bigint")
        } else if *kind == ColumnKind::SortText {
            format!(r"nullif({name}, '\xff'::bytea)")
        } else {
            name
        }
    });
    let fields = fields.collect::<Vec<_>>().join(", ");
    let keys = quoted(table.key()).join(", ");
    let Table { name, .. } = table;
    // The settings of the load itself are skipped.
    let condition = if *name == "settings" {
        " WHERE NOT (name = 'migration' OR name LIKE 'migration.%')"
    } else {
        ""
    };
    format!(
        "COPY (SELECT {fields} FROM {name}{condition} ORDER BY {keys}) TO STDOUT (FORMAT binary)"
    )
}

/// Names, some of which are key words of SQL.
fn quoted(columns: &[(&str, ColumnKind)]) -> Vec<String> {
    columns.iter().map(|(name, _)| format!("\"{name}\"")).collect()
}

/// Rows in the format of binary `COPY`.
pub(super) fn to_copy(table: &Table, rows: &[u8]) -> Result<Bytes, LoadError> {
    let mut out = Vec::with_capacity(HEADER.len() + rows.len() + TRAILER.len());
    out.extend_from_slice(HEADER);
    let mut left = rows;
    while !left.is_empty() {
        left =
            append_row(&mut out, table, left).ok_or(LoadError::Malformed { table: table.name })?;
    }
    out.extend_from_slice(&TRAILER);
    Ok(out.into())
}

/// Appends the first row, and returns the bytes after it; `None` if the row is not valid for the
/// table.
fn append_row<'r>(out: &mut Vec<u8>, table: &Table, rows: &'r [u8]) -> Option<&'r [u8]> {
    let (fields, mut left) = rows.split_first_chunk::<2>()?;
    if usize::from(u16::from_be_bytes(*fields)) != table.columns.len() {
        return None;
    }
    out.extend_from_slice(fields);
    for (_, kind) in table.columns {
        let (field, rest) = split_field(left)?;
        match (kind, field) {
            (ColumnKind::SortText, None) => append_field(out, Some(LAST))?,
            (ColumnKind::SmallInteger, Some(number)) => {
                let number = i64::from_be_bytes(number.try_into().ok()?);
                append_field(out, Some(&i16::try_from(number).ok()?.to_be_bytes()))?;
            }
            (_, field) => append_field(out, field)?,
        }
        left = rest;
    }
    Some(left)
}

/// Reads the rows from the pieces that `COPY` sends.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The bytes that follow the last complete row.
    buffer: BytesMut,
    section: Section,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Header,
    Rows,
    Done,
}

impl Rows {
    /// Adds a piece, and returns the complete rows and their number; `None` if the bytes are not
    /// valid.
    pub(super) fn take(&mut self, piece: &[u8]) -> Option<(Bytes, u64)> {
        self.buffer.extend_from_slice(piece);
        if self.section == Section::Header {
            if self.buffer.len() < HEADER.len() {
                return Some((Bytes::new(), 0));
            }
            self.buffer.starts_with(HEADER).then(|| self.buffer.advance(HEADER.len()))?;
            self.section = Section::Rows;
        }
        let (mut taken, mut rows) = (0, 0);
        while self.section == Section::Rows {
            let left = self.buffer.get(taken..)?;
            if left == TRAILER {
                self.section = Section::Done;
            } else if let Some(length) = row_length(left) {
                taken += length;
                rows += 1;
            } else {
                break;
            }
        }
        Some((self.buffer.split_to(taken).freeze(), rows))
    }

    /// Whether the trailer was read.
    pub(super) fn is_whole(&self) -> bool {
        self.section == Section::Done && *self.buffer == TRAILER
    }
}

/// The length of the first row; `None` if it is not complete.
fn row_length(bytes: &[u8]) -> Option<usize> {
    let (fields, mut left) = bytes.split_first_chunk::<2>()?;
    for _ in 0..u16::from_be_bytes(*fields) {
        left = split_field(left)?.1;
    }
    Some(bytes.len() - left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table {
        name: "tests",
        key_columns: 1,
        columns: &[
            ("same", ColumnKind::Text),
            ("small", ColumnKind::SmallInteger),
            ("sort", ColumnKind::SortText),
        ],
    };

    fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
        let mut row = u16::try_from(fields.len()).unwrap().to_be_bytes().to_vec();
        for field in fields {
            match field {
                Some(field) => {
                    row.extend(i32::try_from(field.len()).unwrap().to_be_bytes());
                    row.extend(*field);
                }
                None => row.extend([0xff; 4]),
            }
        }
        row
    }

    fn copied(rows: &[u8]) -> Vec<u8> {
        [HEADER, rows, &TRAILER].concat()
    }

    #[test]
    fn fields_become_what_their_columns_take() {
        let seven = 7_i64.to_be_bytes();
        let came = [
            row(&[Some(b"a"), Some(&seven), Some(b"x")]),
            row(&[None, None, None]),
            row(&[Some(b""), Some(&seven), Some(b"")]),
        ];
        let taken = [
            row(&[Some(b"a"), Some(&[0, 7]), Some(b"x")]),
            row(&[None, None, Some(&[0xff])]),
            row(&[Some(b""), Some(&[0, 7]), Some(b"")]),
        ];
        let copy = to_copy(&TABLE, &came.concat()).unwrap();
        assert_eq!(copy, copied(&taken.concat()));
        assert_eq!(to_copy(&TABLE, &[]).unwrap(), copied(&[]));
    }

    #[test]
    fn what_is_no_row_of_the_table_is_refused() {
        let whole = row(&[Some(b"a"), Some(&1_i64.to_be_bytes()), None]);
        for length in 1..whole.len() {
            assert!(to_copy(&TABLE, &whole[..length]).is_err(), "{length}");
        }
        for other in [
            row(&[Some(b"a"), Some(&1_i64.to_be_bytes())]),
            row(&[Some(b"a"), Some(&[1]), None]),
            row(&[Some(b"a"), Some(&40_000_i64.to_be_bytes()), None]),
        ] {
            assert!(to_copy(&TABLE, &other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn rows_are_whole_however_they_are_cut() {
        let rows = [row(&[Some(b"one"), None]), row(&[None, Some(b"")]), row(&[Some(b"3")])];
        let sent = copied(&rows.concat());
        for cut in 1..=sent.len() {
            let mut reader = Rows::default();
            let (mut read, mut count) = (Vec::new(), 0);
            for piece in sent.chunks(cut) {
                assert!(!reader.is_whole());
                let (rows, more) = reader.take(piece).unwrap();
                read.extend_from_slice(&rows);
                count += more;
            }
            assert_eq!((read, count), (rows.concat(), 3), "{cut}");
            assert!(reader.is_whole());
        }
    }

    #[test]
    fn what_ends_early_is_not_whole() {
        let sent = copied(&row(&[Some(b"one"), None]));
        for length in 0..sent.len() {
            let mut reader = Rows::default();
            reader.take(&sent[..length]).unwrap();
            assert!(!reader.is_whole(), "{length}");
        }
        assert!(Rows::default().take(&[b'x'; 32]).is_none());
    }

    #[test]
    fn fields_go_in_and_come_back_in_one_order() {
        assert_eq!(
            copy_in_sql(&TABLE),
            "COPY tests (\"same\", \"small\", \"sort\") FROM STDIN (FORMAT binary)"
        );
        assert_eq!(
            copy_out_sql(&TABLE),
            "COPY (SELECT \"same\", \"small\"::bigint, nullif(\"sort\", '\\xff'::bytea) \
             FROM tests ORDER BY \"same\") TO STDOUT (FORMAT binary)"
        );
    }

    #[test]
    fn the_notes_of_the_load_are_not_taken_for_settings_of_the_source() {
        let settings = Table::ALL.iter().find(|table| table.name == "settings").unwrap();
        let settings = copy_out_sql(settings);
        let without = "WHERE NOT (name = 'migration' OR name LIKE 'migration.%')";
        assert!(settings.contains(without), "{settings}");
    }
}
