//! Splits a stream of pieces into the rows of a CSV file (RFC 4180).
//!
//! A quoted cell may have line ends, so a row may span several lines. One wrong quotation mark
//! would join a row with the rows after it. Such a row is given back as its first line alone, and
//! the next row begins on the next line. No line of a correctly quoted cell is ever a row, however
//! long the row is: a row that is too long is skipped up to its end without storing it. Rows end
//! with LF or CRLF; the last row may have no end. Lines that end with CR alone are given back as
//! one row that is not CSV.

use bytes::Bytes;

use crate::rest::bulk::lines::{Line, RowFault};

/// The detail for line breaks that are CR alone.
pub(super) const BARE_CR: &str =
    "a line ends with CR alone; save the file with LF or CRLF as line breaks";

/// The rows of a stream, as far as it has arrived.
#[derive(Debug)]
pub(in super::super) struct Rows {
    delimiter: u8,
    /// The number of cells of the header row.
    cells: usize,
    bytes_max: usize,
    /// The bytes that no row has taken, and the position where the first of them is.
    buffer: Vec<u8>,
    start: usize,
    /// How much of the buffered bytes is scanned, and what was found there.
    scanned: usize,
    quoted: bool,
    /// Where the first line of the row ends, if the row has more lines.
    first_end: Option<usize>,
    line_ends: u64,
    /// What a row that is too long is given back as, while the rest of it is skipped.
    skipped: Option<Line>,
    progress: u64,
}

impl Rows {
    /// A splitter with this delimiter, this number of cells, and this maximum length of a row.
    pub(in super::super) fn new(delimiter: u8, cells: usize, bytes_max: usize) -> Self {
        Self {
            delimiter,
            cells,
            bytes_max,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            quoted: false,
            first_end: None,
            line_ends: 0,
            skipped: None,
            progress: 0,
        }
    }

    /// Adds the next piece.
    pub(in super::super) fn feed(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.first_end = self.first_end.map(|end| end - self.start);
        self.start = 0;
        self.buffer.extend_from_slice(piece);
    }

    /// The next complete row, and the number of its lines.
    pub(in super::super) fn next(&mut self) -> Option<(Line, u64)> {
        while let Some(byte) = self.buffer.get(self.scanned).copied() {
            if byte == b'"' {
                self.quoted = !self.quoted;
            } else if byte == b'\n' && !self.quoted {
                return Some(self.end_row(self.scanned, self.scanned + 1));
            } else if byte == b'\n' {
                if self.skipped.is_none() {
                    self.first_end.get_or_insert(self.scanned);
                }
                self.line_ends += 1;
            }
            self.scanned += 1;
            // The byte beyond the limit may be the CR of the row's end.
            if self.skipped.is_none() && self.scanned - self.start > self.bytes_max + 1 {
                let first = self.first_end.and_then(|end| self.buffer.get(self.start..end));
                if first.is_some_and(|line| !ends_quoted(line, self.delimiter)) {
                    return Some(self.give_up(self.buffer.len()));
                }
                self.skip_row();
            }
        }
        if self.skipped.is_some() {
            self.start = self.scanned;
        }
        None
    }

    /// The rows that are left after the stream has ended.
    pub(in super::super) fn last(&mut self) -> Option<(Line, u64)> {
        if let Some(row) = self.next() {
            return Some(row);
        }
        if let Some(skipped) = self.skipped.take() {
            let lines = self.line_ends + 1;
            self.begin(self.buffer.len());
            return Some((skipped, lines));
        }
        if self.start >= self.buffer.len() {
            return None;
        }
        if self.quoted {
            return Some(self.give_up(self.buffer.len()));
        }
        Some(self.end_row(self.buffer.len(), self.buffer.len()))
    }

    /// The number of bytes of rows since the last call.
    pub(in super::super) const fn take_progress(&mut self) -> u64 {
        let progress = self.progress;
        self.progress = 0;
        progress
    }

    fn end_row(&mut self, end: usize, next: usize) -> (Line, u64) {
        if let Some(skipped) = self.skipped.take() {
            let lines = self.line_ends + 1;
            self.begin(next);
            return (skipped, lines);
        }
        let row = self.buffer.get(self.start..end).unwrap_or_default();
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        if row.len() > self.bytes_max {
            let lines = self.line_ends + 1;
            self.begin(next);
            return (Line::TooLong, lines);
        }
        let cells = count_cells(row, self.delimiter);
        if cells.is_err() {
            return self.give_up(next);
        }
        if !is_blank(row, self.delimiter) {
            // Other rows may have a CR in a cell.
            let is_suspect = cells != Ok(self.cells) || self.cells == 1 || row.ends_with(b"\r");
            if let Some(cell) = self.cell_with_cr(row).filter(|_| is_suspect) {
                let lines = self.line_ends + 1;
                self.begin(next);
                return (Line::Malformed(RowFault::BareCr, cell), lines);
            }
            self.progress += u64::try_from(row.len()).unwrap_or_default();
        }
        let (row, lines) = (Bytes::copy_from_slice(row), self.line_ends + 1);
        self.begin(next);
        (Line::Whole(row), lines)
    }

    /// Begins to skip a row that has too many bytes so far.
    fn skip_row(&mut self) {
        let row = self.buffer.get(self.start..self.scanned).unwrap_or_default();
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        let cell = self.cell_with_cr(row);
        let fault = cell.map_or(Line::TooLong, |cell| Line::Malformed(RowFault::BareCr, cell));
        (self.skipped, self.first_end) = (Some(fault), None);
    }

    /// Gives up the first line of a row that ends before `next`.
    fn give_up(&mut self, next: usize) -> (Line, u64) {
        let end = self.first_end.unwrap_or(next);
        let line = self.buffer.get(self.start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // The cell with the wrong quotation mark may be in a later line.
        let misquoted = || count_cells(line, self.delimiter).err().unwrap_or_default();
        let fault = self.cell_with_cr(line).map_or_else(
            || Line::Malformed(RowFault::Misquoted, misquoted()),
            |cell| Line::Malformed(RowFault::BareCr, cell),
        );
        self.begin(self.first_end.map_or(next, |end| end + 1));
        (fault, 1)
    }

    /// The cell behind which a line ends with CR alone, counted from 0.
    fn cell_with_cr(&self, row: &[u8]) -> Option<usize> {
        let line = row.get(..bare_cr(row)?).unwrap_or_default();
        Some(count_cells(line, self.delimiter).map_or_else(|cell| cell, |cells| cells - 1))
    }

    fn begin(&mut self, next: usize) {
        (self.start, self.scanned) = (next, next);
        (self.quoted, self.first_end, self.line_ends) = (false, None, 0);
    }
}

/// Whether a line has no cell: nothing, or nothing but spaces. A row of empty cells is a row.
pub(in super::super) fn is_blank(line: &[u8], delimiter: u8) -> bool {
    line.trim_ascii().is_empty() && !line.contains(&delimiter)
}

/// Whether all cells of a row are empty.
pub(super) fn is_empty(row: &[u8], delimiter: u8) -> bool {
    row.split(|byte| *byte == delimiter).all(|cell| matches!(cell.trim_ascii(), b"" | b"\"\""))
}

/// The position of the first CR outside quotation marks.
pub(super) fn bare_cr(row: &[u8]) -> Option<usize> {
    let mut quoted = false;
    row.iter().position(|byte| {
        quoted ^= *byte == b'"';
        *byte == b'\r' && !quoted
    })
}

/// The number of cells of a row. The error is the first cell with a quotation mark that neither
/// opens it, nor closes it, nor is doubled inside it, counted from 0.
pub(super) fn count_cells(row: &[u8], delimiter: u8) -> Result<usize, usize> {
    read_cells(row, delimiter).map_err(|misquoted| misquoted.cell)
}

/// Whether a line ends within a cell that a quotation mark opens, as the first line of a correct
/// row of several lines does.
fn ends_quoted(line: &[u8], delimiter: u8) -> bool {
    read_cells(line, delimiter).is_err_and(|misquoted| misquoted.is_open)
}

/// The first cell with a wrong quotation mark, and whether that only opens it.
struct Misquoted {
    cell: usize,
    is_open: bool,
}

fn read_cells(row: &[u8], delimiter: u8) -> Result<usize, Misquoted> {
    let (mut rest, mut cell) = (row, 0);
    loop {
        if let Some(quoted) = rest.strip_prefix(b"\"") {
            match behind_quoted(quoted).map(<[u8]>::split_first) {
                Some(None) => return Ok(cell + 1),
                Some(Some((byte, after))) if *byte == delimiter => rest = after,
                Some(Some(_)) => return Err(Misquoted { cell, is_open: false }),
                None => return Err(Misquoted { cell, is_open: true }),
            }
        } else {
            let end = rest.iter().position(|byte| *byte == delimiter || *byte == b'"');
            match end.and_then(|end| rest.get(end..)).and_then(<[u8]>::split_first) {
                None => return Ok(cell + 1),
                Some((b'"', _)) => return Err(Misquoted { cell, is_open: false }),
                Some((_, after)) => rest = after,
            }
        }
        cell += 1;
    }
}

/// What follows the closing quotation mark of a cell.
fn behind_quoted(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let end = rest.iter().position(|byte| *byte == b'"')?;
        rest = rest.get(end + 1..)?;
        match rest.strip_prefix(b"\"") {
            Some(after) => rest = after,
            None => return Some(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<(String, u64)> {
        let mut rows = Rows::new(b',', 2, 40);
        let mut found = Vec::new();
        let mut take = |row: (Line, u64)| {
            let text = match row.0 {
                Line::Whole(text) => String::from_utf8_lossy(&text).into_owned(),
                Line::TooLong => "<too long>".to_owned(),
                Line::Malformed(RowFault::Misquoted, cell) => format!("<misquoted {cell}>"),
                Line::Malformed(RowFault::BareCr, cell) => format!("<cr {cell}>"),
            };
            found.push((text, row.1));
        };
        for piece in pieces {
            rows.feed(piece);
            while let Some(row) = rows.next() {
                take(row);
            }
        }
        while let Some(row) = rows.last() {
            take(row);
        }
        found
    }

    #[test]
    fn wherever_the_pieces_are_cut_the_rows_are_the_same() {
        let long = "x".repeat(41);
        for (text, expected) in [
            ("a,b\r\nc,d\n\ne", vec![("a,b", 1), ("c,d", 1), ("", 1), ("e", 1)]),
            ("\"a\r\n\"\"b\"\"\",c\nd", vec![("\"a\r\n\"\"b\"\"\",c", 2), ("d", 1)]),
            // An open quotation mark spoils its own line alone.
            ("a,\"b\nc,d\ne,\"f, g\"\n", vec![("<misquoted 1>", 1), ("c,d", 1), ("e,\"f, g\"", 1)]),
            // So does one that a quotation mark of another row seems to close.
            (
                "\"a\nb,c\n\"d\ne,f\n",
                vec![("<misquoted 0>", 1), ("b,c", 1), ("<misquoted 0>", 1), ("e,f", 1)],
            ),
            // Correctly quoted cells have no rows, whatever the number of cells.
            ("\"a\nb,c\nd\"\ne,f\n", vec![("\"a\nb,c\nd\"", 3), ("e,f", 1)]),
            ("a,b \"c\nd,e\n\"f,g\n", vec![("<misquoted 1>", 1), ("d,e", 1), ("<misquoted 0>", 1)]),
            ("a,\"b\nc,d\ne\"\n", vec![("a,\"b\nc,d\ne\"", 3)]),
            ("a,\"b\nc,d", vec![("<misquoted 1>", 1), ("c,d", 1)]),
            ("a,\"b\"c\nd", vec![("<misquoted 1>", 1), ("d", 1)]),
            ("a,b\"c\nd", vec![("<misquoted 1>", 1), ("d", 1)]),
            ("a,b\"c\"\nd", vec![("<misquoted 1>", 1), ("d", 1)]),
            // Lines that end with CR alone look like one row.
            ("a,b\rc,d\re,f\r", vec![("<cr 1>", 1)]),
            ("a,\"b\"\rc,\"d\"\ne,f", vec![("<cr 1>", 1), ("e,f", 1)]),
            ("a,b\r\r\n\r\r\nc,d", vec![("<cr 1>", 1), ("\r", 1), ("c,d", 1)]),
            (&"a,b\r".repeat(20), vec![("<cr 1>", 1)]),
            ("a\rb,c\n", vec![("a\rb,c", 1)]),
            (&format!("{long}\na"), vec![("<too long>", 1), ("a", 1)]),
            (&long, vec![("<too long>", 1)]),
            (
                &format!("\"a\n{}\nb\n{}\nc", "x".repeat(30), "y".repeat(30)),
                vec![("<too long>", 5)],
            ),
            (&format!("\"a\n{}\"\nb", "x".repeat(60)), vec![("<too long>", 2), ("b", 1)]),
            (
                &format!("\"a\nb,c\n{}\nd,e\n\",f\ng,h\n", "x".repeat(60)),
                vec![("<too long>", 5), ("g,h", 1)],
            ),
            // Its first line alone is wrong.
            (
                &format!("a b\"c,d\n{}\ne,f\n{}\n", "x".repeat(30), "y".repeat(30)),
                vec![("<misquoted 0>", 1), (&"x".repeat(30), 1), ("e,f", 1), (&"y".repeat(30), 1)],
            ),
            (
                &format!("a,\"{}\n\"\"b\"\"\n\"\nc,d", "x".repeat(60)),
                vec![("<too long>", 3), ("c,d", 1)],
            ),
        ] {
            let expected: Vec<_> =
                expected.into_iter().map(|(row, lines)| (row.to_owned(), lines)).collect();
            assert_eq!(split(&[text.as_bytes()]), expected, "{text:?}");
            for size in 1..text.len() {
                let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                assert_eq!(split(&pieces), expected, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_not_kept() {
        let mut rows = Rows::new(b',', 2, 40);
        rows.feed(&[b'x'; 100]);
        assert_eq!(rows.next(), None);
        for _ in 0..1_000 {
            rows.feed(&[b'x'; 100]);
            assert_eq!(rows.next(), None);
        }
        assert!(rows.buffer.capacity() < 1_000);
        rows.feed(b"\na\n");
        assert_eq!(rows.next(), Some((Line::TooLong, 1)));
        assert_eq!(rows.next(), Some((Line::Whole(Bytes::from_static(b"a")), 1)));
    }
}
