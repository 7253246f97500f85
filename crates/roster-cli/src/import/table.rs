//! The header row of a CSV file, and the cells of its rows, as the service reads them.

use std::fs::File;
use std::io;

use super::bytes::{newlines_in, read_at};

/// The delimiters that are recognised without a line `sep=`.
pub(super) const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// Columns with the results of an earlier import. The service ignores them at the end of a file.
pub(super) const RESULTS: [&str; 5] = ["status", "code", "line", "column", "detail"];

/// The longest row that the service reads.
pub(super) const ROW_BYTES_MAX: usize = 128 * 1024;

/// The header row of a CSV file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The file up to the end of the row.
    pub(super) bytes: Vec<u8>,
    pub(super) delimiter: u8,
    /// The names of the columns, without those of earlier results.
    pub(super) columns: Vec<String>,
    /// How many cells each row has.
    pub(super) cells: usize,
}

impl Header {
    pub(super) fn newlines(&self) -> u64 {
        newlines_in(&self.bytes)
    }

    /// The cells of a row below the columns; empty ones if the row has another number of cells.
    pub(super) fn cells_of(&self, row: &[u8]) -> Vec<String> {
        let mut cells = split(row, self.delimiter);
        if cells.len() != self.cells {
            cells.clear();
        }
        cells.resize(self.columns.len(), String::new());
        cells
    }
}

/// Reads the header row. The inner error is why there is none.
pub(super) fn header(file: &File) -> io::Result<Result<Header, String>> {
    let mut beginning = vec![0; 2 * ROW_BYTES_MAX];
    let count = read_at(file, &mut beginning, 0)?;
    beginning.truncate(count);
    Ok(find(&beginning))
}

fn find(file: &[u8]) -> Result<Header, String> {
    let mut start = if file.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut named = None;
    loop {
        let rest = file.get(start..).unwrap_or_default();
        if rest.is_empty() {
            return Err("it has no header row with the names of columns".to_owned());
        }
        let mut quoted = false;
        let end = rest.iter().position(|byte| {
            quoted ^= *byte == b'"';
            *byte == b'\n' && !quoted
        });
        let length = end.map_or(rest.len(), |end| end + 1);
        if length > ROW_BYTES_MAX || (end.is_none() && quoted) {
            return Err("its header row is too long, or a quotation mark in it is wrong".to_owned());
        }
        let row = rest.get(..length).unwrap_or_default();
        let row = row.strip_suffix(b"\n").unwrap_or(row);
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        start += length;
        if let (Some((word, [delimiter])), None) = (row.split_at_checked(4), named)
            && word.eq_ignore_ascii_case(b"sep=")
        {
            named = Some(*delimiter);
            continue;
        }
        let delimiter = named.unwrap_or_else(|| most_frequent(row));
        let is_empty = |cell: &[u8]| matches!(cell.trim_ascii(), b"" | b"\"\"");
        if row.split(|byte| *byte == delimiter).all(is_empty) {
            continue;
        }
        let mut columns: Vec<String> =
            split(row, delimiter).iter().map(|name| name.trim().to_owned()).collect();
        let cells = columns.len();
        if columns.ends_with(&RESULTS.map(str::to_owned)) {
            columns.truncate(cells - RESULTS.len());
        }
        let bytes = file.get(..start).unwrap_or_default().to_vec();
        return Ok(Header { bytes, delimiter, columns, cells });
    }
}

/// The delimiter that a header row has most often.
fn most_frequent(row: &[u8]) -> u8 {
    let count = |delimiter: u8| {
        let mut quoted = false;
        let outside = row.iter().filter(|byte| {
            quoted ^= **byte == b'"';
            **byte == delimiter && !quoted
        });
        outside.count()
    };
    let mut best = (b',', 0);
    for delimiter in DELIMITERS {
        let found = count(delimiter);
        if found > best.1 {
            best = (delimiter, found);
        }
    }
    best.0
}

/// The cells of a row.
fn split(row: &[u8], delimiter: u8) -> Vec<String> {
    // The end of the row was removed. A CR inside it ends no row.
    let terminator = csv::Terminator::Any(b'\n');
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .terminator(terminator)
        .has_headers(false)
        .from_reader(row);
    let mut record = csv::ByteRecord::new();
    match reader.read_byte_record(&mut record) {
        Ok(true) => record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect(),
        Ok(false) | Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_row_is_found() {
        for (file, length, delimiter, columns) in [
            ("a,b\r\n1,2", 5, b',', &["a", "b"][..]),
            ("\u{feff}\nsep=;\na;\"b,\nc\"\n1", 19, b';', &["a", "b,\nc"]),
            ("SEP=|\n||\na|b\n", 13, b'|', &["a", "b"]),
            ("a\tb,c\td", 7, b'\t', &["a", "b,c", "d"]),
            ("a,status,code,line,column,detail\n", 33, b',', &["a"]),
        ] {
            let header = find(file.as_bytes()).unwrap();
            assert_eq!((header.bytes.len(), header.delimiter), (length, delimiter), "{file}");
            assert_eq!(header.columns, columns, "{file}");
        }
        for file in ["", "\n\n", "a,\"b\n1,2\n", &"x".repeat(200_000)] {
            assert!(find(file.as_bytes()).is_err());
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let header = find(b"a,b\n").unwrap();
        for (row, cells) in [
            ("1,2", ["1", "2"]),
            ("\"x\n\"\"y\"\"\",z\rz", ["x\n\"y\"", "z\rz"]),
            ("1", ["", ""]),
            ("1,2,3", ["", ""]),
        ] {
            assert_eq!(header.cells_of(row.as_bytes()), cells, "{row}");
        }
    }
}
