//! CSV (RFC 4180) on `/bulk/users`: a record for each row, a member for each column.
//!
//! The text is UTF-8, with or without a byte order mark. Cells are separated by a comma, a
//! semicolon or a tab, whichever the header row has most often, unless a line `sep=` before it
//! names one. A cell that is empty is no value.

mod cells;
mod columns;
mod export;
mod mapping;
mod names;
mod pointers;
mod results;
mod rows;

use roster_core::{UserSchema, limits::CSV_ROW_BYTES_MAX};
use roster_server::{BodyFault, Upload};

pub(super) use cells::BOM;
pub(super) use columns::{Columns, malformed};
pub(super) use export::CsvUsers;
pub(super) use mapping::Mapping;
pub(super) use pointers::Pointers;
pub(super) use results::{header_of_results, row_of_result};
pub(super) use rows::{Rows, is_blank};

use crate::{
    extract::BROKEN_OFF,
    problem::{Problem, ProblemCode},
};

/// The delimiters that are recognised, the one of RFC 4180 first.
pub(super) const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// The beginning of a file: its columns, and the rows as far as they have arrived.
pub(super) struct Beginning {
    pub(super) columns: Columns,
    pub(super) rows: Rows,
    /// The number of lines before the first row.
    pub(super) lines: u64,
    /// Whether the whole file has arrived.
    pub(super) is_whole: bool,
}

/// Reads a file to the end of its header row.
pub(super) async fn begin(
    upload: &mut Upload,
    mapping: &Mapping,
    schema: UserSchema,
) -> Result<Beginning, Problem> {
    let (mut buffer, mut search) = (Vec::new(), Search::default());
    loop {
        let piece = upload.next().await.map_err(|fault| match fault {
            BodyFault::TooSlow => Problem::new(ProblemCode::BodyTooSlow),
            BodyFault::TooLarge | BodyFault::Aborted | BodyFault::NoMemory => {
                Problem::saying(ProblemCode::InvalidRequest, BROKEN_OFF)
            }
        })?;
        let is_whole = piece.is_none();
        if let Some(piece) = piece {
            upload.progress(u64::try_from(piece.len()).unwrap_or_default());
            buffer.extend_from_slice(&piece);
        }
        let Some(header) = search.header(&buffer, is_whole)? else { continue };
        let Header { text, delimiter, next, lines } = header;
        let columns = Columns::read(text, delimiter, mapping, schema)?;
        let mut rows = Rows::new(delimiter, columns.count(), CSV_ROW_BYTES_MAX);
        rows.feed(buffer.get(next..).unwrap_or_default());
        return Ok(Beginning { columns, rows, lines, is_whole });
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Header<'h> {
    text: &'h [u8],
    delimiter: u8,
    /// Where the first row begins.
    next: usize,
    lines: u64,
}

/// The search for the header row in a file that arrives in pieces. No byte is searched twice.
#[derive(Debug, Default)]
struct Search {
    /// Where the line begins that is searched for its end, and how far it was searched.
    start: usize,
    searched: usize,
    quoted: bool,
    /// The delimiter that a line `sep=` names.
    named: Option<u8>,
    /// The number of lines that were passed.
    lines: u64,
}

impl Search {
    /// The header row, once all of it has arrived. `buffer` is the file as far as it has arrived.
    fn header<'h>(
        &mut self,
        buffer: &'h [u8],
        is_whole: bool,
    ) -> Result<Option<Header<'h>>, Problem> {
        if buffer.starts_with(b"\xFF\xFE") || buffer.starts_with(b"\xFE\xFF") {
            return Err(malformed("the file is UTF-16; save it as CSV UTF-8"));
        }
        if self.start == 0 && buffer.starts_with(b"\xEF\xBB\xBF") {
            self.start = 3;
            self.searched = self.searched.max(3);
        }
        while let Some(text) = self.next_line(buffer, is_whole)? {
            if let (Some(delimiter), None) = (delimiter_named(text), self.named) {
                self.named = Some(delimiter);
                continue;
            }
            let delimiter = self.named.unwrap_or_else(|| most_frequent(text));
            // No table has columns without any name.
            if rows::is_empty(text, delimiter) {
                continue;
            }
            if rows::bare_cr(text).is_some() {
                return Err(malformed(rows::BARE_CR));
            }
            if rows::count_cells(text, delimiter).is_err() {
                return Err(malformed("a quotation mark in the header row is wrong"));
            }
            return Ok(Some(Header { text, delimiter, next: self.start, lines: self.lines }));
        }
        Ok(None)
    }

    /// The next line, or lines that one quoted cell joins, without its end.
    fn next_line<'h>(
        &mut self,
        buffer: &'h [u8],
        is_whole: bool,
    ) -> Result<Option<&'h [u8]>, Problem> {
        let mut quoted = self.quoted;
        let end = buffer.get(self.searched..).unwrap_or_default().iter().position(|byte| {
            quoted ^= *byte == b'"';
            *byte == b'\n' && !quoted
        });
        let end = end.map(|end| self.searched + end);
        (self.quoted, self.searched) = (quoted, end.map_or(buffer.len(), |end| end + 1));
        if self.start > CSV_ROW_BYTES_MAX {
            let detail = format!("more than {CSV_ROW_BYTES_MAX} bytes are before the header row");
            return Err(malformed(detail));
        }
        if end.unwrap_or(buffer.len()) - self.start > CSV_ROW_BYTES_MAX + 1 {
            let detail = format!(
                "the header row has more than {CSV_ROW_BYTES_MAX} bytes, or a quotation mark in it \
                 is wrong"
            );
            return Err(malformed(detail));
        }
        let text = buffer.get(self.start..end.unwrap_or(buffer.len())).unwrap_or_default();
        if end.is_none() && !is_whole {
            return Ok(None);
        }
        if end.is_none() && text.trim_ascii().is_empty() {
            return Err(malformed("send a header row with the names of columns"));
        }
        let joined = text.split(|byte| *byte == b'\n').count();
        self.lines += u64::try_from(joined).unwrap_or_default();
        (self.start, self.quoted) = (self.searched, false);
        Ok(Some(text.strip_suffix(b"\r").unwrap_or(text)))
    }
}

/// The delimiter that a line `sep=` names.
fn delimiter_named(line: &[u8]) -> Option<u8> {
    let (word, delimiter) = line.split_at_checked(4)?;
    let [delimiter] = delimiter else { return None };
    word.eq_ignore_ascii_case(b"sep=").then_some(*delimiter)
}

/// The delimiter that a header row has most often.
fn most_frequent(header: &[u8]) -> u8 {
    let count = |delimiter: u8| {
        let mut quoted = false;
        let outside = header.iter().filter(|byte| {
            quoted ^= **byte == b'"';
            **byte == delimiter && !quoted
        });
        outside.count()
    };
    let mut best = (0, b',');
    for delimiter in DELIMITERS {
        let count = count(delimiter);
        if count > best.0 {
            best = (count, delimiter);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(buffer: &[u8], is_whole: bool) -> Result<Option<Header<'_>>, Problem> {
        Search::default().header(buffer, is_whole)
    }

    fn found(text: &str) -> Option<(String, char, usize, u64)> {
        // However it is cut, what is found is the same.
        let header = header(text.as_bytes(), true).ok()??;
        let mut search = Search::default();
        for end in 0..header.next {
            let _sooner = search.header(&text.as_bytes()[..end], false);
        }
        assert_eq!(search.header(text.as_bytes(), true).ok().flatten(), Some(header));
        let header = super::tests::header(text.as_bytes(), true).ok()??;
        let Header { text, delimiter, next, lines } = header;
        Some((String::from_utf8_lossy(text).into_owned(), char::from(delimiter), next, lines))
    }

    #[test]
    fn the_delimiter_and_the_end_of_the_header_are_found() {
        let some =
            |text: &str, delimiter, next, lines| Some((text.to_owned(), delimiter, next, lines));
        assert_eq!(found("a,b\r\n1,2"), some("a,b", ',', 5, 1));
        assert_eq!(found("a;\"b,c,d\";e\n"), some("a;\"b,c,d\";e", ';', 12, 1));
        assert_eq!(found("\u{FEFF}a\tb"), some("a\tb", '\t', 6, 1));
        assert_eq!(found("\nsep=;\r\n\"a\nb\";c,d,e\n"), some("\"a\nb\";c,d,e", ';', 20, 4));
        assert_eq!(found("SEP=|\n||\na|b\n"), some("a|b", '|', 13, 3));
        assert_eq!(found(";;\r\n\"\";;\r\na;b;c\r\n"), some("a;b;c", ';', 17, 3));
        assert_eq!(found("username"), some("username", ',', 8, 1));
        assert_eq!(found("\"a\r\nb\",c\r\n"), some("\"a\r\nb\",c", ',', 10, 2));
        for wrong in ["", "\n\n", "a\"b\n", "\"a", "a,b\rc,d\r"] {
            assert_eq!(found(wrong), None, "{wrong:?}");
        }
        assert!(header(b"a,b", false).is_ok_and(|header| header.is_none()));
        assert!(header(b"\xFF\xFEa\0", false).is_err());
        assert!(header(&vec![b'a'; CSV_ROW_BYTES_MAX + 2], false).is_err());
        assert!(header(&vec![b'\n'; CSV_ROW_BYTES_MAX + 2], false).is_err());
    }
}
