//! The results of rows, as the rows themselves with five more columns.

use super::{
    DELIMITERS,
    cells::write,
    columns::{Columns, RESULT_COLUMNS},
};
use crate::{problem::Problem, rest::bulk::line_result::LineResult};

/// The header row of results, after a line `sep=` if the file had one that is needed.
pub(in super::super) fn header_of_results(columns: &Columns, out: &mut Vec<u8>) {
    if !DELIMITERS.contains(&columns.delimiter) {
        out.extend_from_slice(&[b"sep=", &[columns.delimiter][..], b"\r\n"].concat());
    }
    write_row(columns, columns.headers().chain(RESULT_COLUMNS), out);
}

/// The result of a row. A row that would be read as another one when the table is sent again has
/// empty cells.
pub(in super::super) fn row_of_result(
    columns: &Columns,
    (row, line): (Option<&[u8]>, u64),
    result: &LineResult,
    out: &mut Vec<u8>,
) {
    let is_unsafe = result.problem().is_some_and(Problem::is_about_cells);
    let cells = columns.values(row.filter(|_| !is_unsafe).unwrap_or_default());
    let (line, status) = (line.to_string(), result.status().to_string());
    let (code, column, detail) = result.problem().map(Problem::in_one_row).unwrap_or_default();
    let results = [status.as_str(), &code, &line, &column, &detail];
    write_row(columns, cells.iter().map(String::as_str).chain(results), out);
}

fn write_row<'c>(columns: &Columns, cells: impl Iterator<Item = &'c str>, out: &mut Vec<u8>) {
    for (index, cell) in cells.enumerate() {
        write(cell, columns.delimiter, index == 0, out);
    }
    out.extend_from_slice(b"\r\n");
}
