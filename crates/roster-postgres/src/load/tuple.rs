//! Rows as bytes: as they come, as `COPY` takes them, and as it gives them back.
//!
//! A row is the number of its fields (2 bytes), and each field its length (4 bytes, -1 where it is
//! absent) and that many bytes. `COPY` in its binary form has the same rows between a header and a
//! trailer; only some fields stand otherwise in their columns.

use bytes::{Buf as _, Bytes, BytesMut};

use super::{
    error::LoadError,
    target::{Kind, Target},
};

/// What `COPY` in its binary form begins with: the signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// What it ends with: a row of -1 fields.
const TRAILER: [u8; 2] = [0xff, 0xff];

/// The length of a field that is absent.
const ABSENT: [u8; 4] = [0xff; 4];

/// What stands for an absent text that is sorted by.
const LAST: [u8; 1] = [0xff];

/// The rows as the columns of a table take them.
pub(super) fn to_copy(target: &Target, tuples: &[u8]) -> Result<Bytes, LoadError> {
    let mut out = BytesMut::with_capacity(HEADER.len() + tuples.len() + TRAILER.len());
    out.extend_from_slice(HEADER);
    let mut left = tuples;
    let malformed = || LoadError::Malformed { table: target.name };
    while !left.is_empty() {
        let (fields, rest) = left.split_first_chunk::<2>().ok_or_else(malformed)?;
        if usize::from(u16::from_be_bytes(*fields)) != target.columns.len() {
            return Err(malformed());
        }
        out.extend_from_slice(fields);
        left = rest;
        for (_, kind) in target.columns {
            let (field, rest) = first_field(left).ok_or_else(malformed)?;
            put(&mut out, *kind, field).ok_or_else(malformed)?;
            left = rest;
        }
    }
    out.extend_from_slice(&TRAILER);
    Ok(out.freeze())
}

/// The first field, and what follows it.
fn first_field(tuples: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = tuples.split_first_chunk::<4>()?;
    if *length == ABSENT {
        return Some((None, rest));
    }
    let (field, rest) =
        rest.split_at_checked(usize::try_from(i32::from_be_bytes(*length)).ok()?)?;
    Some((Some(field), rest))
}

fn put(out: &mut BytesMut, kind: Kind, field: Option<&[u8]>) -> Option<()> {
    let small: [u8; 2];
    let field = match (kind, field) {
        (Kind::Same, field) => field,
        (Kind::Sort, field) => Some(field.unwrap_or(&LAST)),
        (Kind::Small, None) => None,
        (Kind::Small, Some(number)) => {
            let number = i64::from_be_bytes(number.try_into().ok()?);
            small = i16::try_from(number).ok()?.to_be_bytes();
            Some(small.as_slice())
        }
    };
    match field {
        Some(field) => {
            out.extend_from_slice(&i32::try_from(field.len()).ok()?.to_be_bytes());
            out.extend_from_slice(field);
        }
        None => out.extend_from_slice(&ABSENT),
    }
    Some(())
}

/// Takes the rows out of what `COPY` sends, however that is cut into pieces.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// What came and was not taken yet.
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
    /// Takes a piece, and gives the whole rows that are there by now, and how many; `None` if this
    /// is not what `COPY` sends.
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

    /// Whether all came.
    pub(super) fn is_whole(&self) -> bool {
        self.section == Section::Done && *self.buffer == TRAILER
    }
}

/// The length of the first row, if it is there as a whole.
fn row_length(bytes: &[u8]) -> Option<usize> {
    let (fields, mut left) = bytes.split_first_chunk::<2>()?;
    for _ in 0..u16::from_be_bytes(*fields) {
        left = first_field(left)?.1;
    }
    Some(bytes.len() - left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Target = Target::of_tests();

    fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
        let mut row = u16::try_from(fields.len()).unwrap().to_be_bytes().to_vec();
        for field in fields {
            match field {
                Some(field) => {
                    row.extend(i32::try_from(field.len()).unwrap().to_be_bytes());
                    row.extend(*field);
                }
                None => row.extend(ABSENT),
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
        let copy = to_copy(&TARGET, &came.concat()).unwrap();
        assert_eq!(copy, copied(&taken.concat()));
        assert_eq!(to_copy(&TARGET, &[]).unwrap(), copied(&[]));
    }

    #[test]
    fn what_is_no_row_of_the_table_is_refused() {
        let whole = row(&[Some(b"a"), Some(&1_i64.to_be_bytes()), None]);
        for length in 1..whole.len() {
            assert!(to_copy(&TARGET, &whole[..length]).is_err(), "{length}");
        }
        for other in [
            row(&[Some(b"a"), Some(&1_i64.to_be_bytes())]),
            row(&[Some(b"a"), Some(&[1]), None]),
            row(&[Some(b"a"), Some(&40_000_i64.to_be_bytes()), None]),
        ] {
            assert!(to_copy(&TARGET, &other).is_err(), "{other:?}");
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
}
