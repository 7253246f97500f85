//! The cells of a row, in both directions.
//!
//! A spreadsheet executes a cell that begins with `=`, `+`, `-`, `@`, a tab or a CR. So an
//! apostrophe is written before such a value, and removed when the cell is read. A value that
//! begins with apostrophes before one of these characters gets one more, so every value is read as
//! it was written.

use std::sync::{Mutex, PoisonError};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use roster_core::text::check_phone;

/// The characters that begin a cell that a spreadsheet executes.
const EXECUTED: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// U+FEFF in UTF-8.
pub(in super::super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Reads rows with one delimiter.
#[derive(Debug)]
pub(super) struct Cells {
    /// One reader for all rows, because making its table takes longer than reading a row. A copy of
    /// a reader reads wrongly (csv-core 0.1.13).
    reader: Mutex<Reader>,
}

impl Cells {
    pub(super) fn new(delimiter: u8) -> Self {
        // The end of the row is removed before. A CR inside it would end the row too.
        let terminator = Terminator::Any(b'\n');
        let reader = ReaderBuilder::new().delimiter(delimiter).terminator(terminator).build();
        Self { reader: Mutex::new(reader) }
    }

    /// The cells of a row whose quotation marks are correct, without them.
    pub(super) fn read(&self, row: &[u8]) -> Vec<Vec<u8>> {
        // The reader takes the first character of a row for a mark of its encoding.
        let marked = row.starts_with(BOM).then(|| [BOM, row].concat());
        let row = marked.as_deref().unwrap_or(row);
        let (mut text, mut ends) = (vec![0; row.len() + 1], vec![0; row.len() + 2]);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.reset();
        let (mut written, mut found, mut rest) = (0, 0, row);
        loop {
            let (result, read, wrote, ended) = reader.read_record(
                rest,
                text.get_mut(written..).unwrap_or_default(),
                ends.get_mut(found..).unwrap_or_default(),
            );
            rest = rest.get(read..).unwrap_or_default();
            written += wrote;
            found += ended;
            match result {
                // The end of the row is passed as empty input.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull
                | ReadRecordResult::OutputEndsFull
                | ReadRecordResult::Record
                | ReadRecordResult::End => break,
            }
        }
        let mut start = 0;
        let cells = ends.iter().take(found).map(|end| {
            let cell = text.get(start..*end).unwrap_or_default().to_vec();
            start = *end;
            cell
        });
        cells.collect()
    }
}

/// Whether a cell is a formula that nobody neutralised. A telephone number may begin with `+`, and
/// other texts with the other characters.
pub(super) fn is_formula(cell: &str) -> bool {
    let is_of_phone = |c: char| c.is_ascii_digit() || " +-./()".contains(c);
    cell.starts_with('=')
        || (cell.starts_with(['+', '-', '@'])
            && cell.contains(['(', '|', '!', '='])
            && !cell.chars().all(is_of_phone)
            && check_phone(cell).is_err())
}

/// The value of a cell, without the apostrophe of [`write`].
pub(super) fn restored(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(value) if is_executed(value) => value,
        _ => cell,
    }
}

/// Whether an apostrophe is written before a value.
fn is_executed(value: &str) -> bool {
    value.trim_start_matches('\'').starts_with(EXECUTED)
}

/// Appends a value as a cell, with the delimiter before it unless it is the first one.
pub(super) fn write(value: &str, delimiter: u8, is_first: bool, out: &mut Vec<u8>) {
    if !is_first {
        out.push(delimiter);
    }
    let mark = if is_executed(value) { "'" } else { "" };
    let is_special = |byte| matches!(byte, b'"' | b'\r' | b'\n') || byte == delimiter;
    let is_quoted = value.bytes().any(is_special)
        // Programs that trim cells leave quoted ones alone.
        || value.starts_with([' ', '\t'])
        || value.ends_with([' ', '\t']);
    if !is_quoted {
        out.extend_from_slice(mark.as_bytes());
        out.extend_from_slice(value.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(mark.as_bytes());
    for byte in value.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            row in prop::collection::vec("['=+@\\-\t\r\n\",; a-cé\u{feff}]{0,6}", 1..6),
            delimiter in prop::sample::select(b",;\t".to_vec()),
        ) {
            // One empty cell alone is a blank line.
            prop_assume!(row != [""]);
            let mut out = Vec::new();
            for (index, value) in row.iter().enumerate() {
                write(value, delimiter, index == 0, &mut out);
            }
            let cells = Cells::new(delimiter).read(&out);
            let text = |cell| str::from_utf8(cell).expect("UTF-8");
            let cells: Vec<&str> = cells.iter().map(|cell| text(cell)).collect();
            prop_assert!(cells.iter().all(|cell| !is_formula(cell)), "{cells:?}");
            let values: Vec<_> = cells.into_iter().map(restored).collect();
            prop_assert_eq!(values, row);
        }
    }

    #[test]
    fn formulas_are_told_from_numbers_and_names() {
        for formula in ["=1+1", "=", "+cmd|' /C calc'!A0", "@SUM(1+1)", "-2+3+cmd|x!A1", "+A1=2"] {
            assert!(is_formula(formula), "{formula}");
        }
        for text in [
            "",
            "+44 (20) 7946-0018",
            "-",
            "@ada",
            "-5",
            "'=1+1",
            "a=b",
            "+1",
            "+1 (555) 01 ext. 5",
        ] {
            assert!(!is_formula(text), "{text}");
        }
    }

    #[test]
    fn apostrophes_are_removed_only_before_what_a_spreadsheet_executes() {
        for (cell, value) in [
            ("'=1", "=1"),
            ("''=1", "'=1"),
            ("'+44", "+44"),
            ("'n", "'n"),
            ("'", "'"),
            ("''", "''"),
        ] {
            assert_eq!(restored(cell), value);
        }
    }
}
