//! The records of a body, whatever its media type.

use std::sync::Arc;

use bytes::Bytes;
use roster_core::{
    Json, json,
    limits::{CSV_ROW_BYTES_MAX, USER_BYTES_MAX},
};

use super::{
    csv::{Columns, Pointers, Rows, is_blank},
    lines::{Line, Lines, RowFault},
};
use crate::problem::{Problem, ProblemCode};

/// Splits a stream into records.
#[derive(Debug)]
pub(super) enum Splitter {
    Lines(Lines),
    Rows(Rows),
}

impl Splitter {
    /// Adds the next piece. The records of the previous one must have been taken.
    pub(super) fn feed(&mut self, piece: Bytes) {
        match self {
            Self::Lines(lines) => lines.feed(piece),
            Self::Rows(rows) => rows.feed(&piece),
        }
    }

    /// The next record, and the number of its lines. After the end of the stream, also what has no
    /// end.
    pub(super) fn next(&mut self, is_ended: bool) -> Option<(Line, u64)> {
        match self {
            Self::Lines(lines) => {
                let line = lines.next();
                let line = line.or_else(|| if is_ended { lines.last() } else { None });
                line.map(|line| (line, 1))
            }
            Self::Rows(rows) if is_ended => rows.last(),
            Self::Rows(rows) => rows.next(),
        }
    }

    /// The number of bytes of useful records since the last call.
    pub(super) fn take_progress(&mut self) -> u64 {
        match self {
            Self::Lines(lines) => lines.take_progress(),
            Self::Rows(rows) => rows.take_progress(),
        }
    }
}

/// How the text of a record is read.
#[derive(Clone, Debug)]
pub(super) enum Format {
    /// One JSON text.
    Json,
    /// One row of CSV.
    Csv(Arc<Columns>),
}

impl Format {
    /// The maximum size of the text of a record.
    pub(super) const fn bytes_max(&self) -> usize {
        match self {
            Self::Json => USER_BYTES_MAX,
            Self::Csv(_) => CSV_ROW_BYTES_MAX,
        }
    }

    /// The detail for a text that is longer.
    pub(super) fn too_long(&self) -> String {
        let bytes_max = self.bytes_max();
        match self {
            Self::Json => format!("send at most {bytes_max} bytes a line"),
            Self::Csv(_) => format!(
                "send at most {bytes_max} bytes a row; a quotation mark that opens a cell and is \
                 not closed makes one row of all lines after it"
            ),
        }
    }

    /// Whether it is a blank line and no record.
    pub(super) fn is_blank(&self, text: &[u8]) -> bool {
        match self {
            Self::Json => text.trim_ascii().is_empty(),
            Self::Csv(columns) => is_blank(text, columns.delimiter),
        }
    }

    /// The JSON of a record.
    pub(super) fn read(&self, text: &[u8]) -> Result<Json, Problem> {
        match self {
            Self::Json => json::read(text).map_err(|fault| {
                // The result has the number of the line. The position within the line is enough
                // here.
                let detail = fault.detail.replace(" at line 1 column ", " at column ");
                Problem::saying(ProblemCode::MalformedJson, detail)
            }),
            Self::Csv(columns) => columns.record(text),
        }
    }

    /// The problem of a row that is not CSV in this cell.
    pub(super) fn malformed(&self, fault: RowFault, cell: usize) -> Problem {
        match self {
            Self::Json => Problem::new(ProblemCode::MalformedJson),
            Self::Csv(columns) => columns.malformed_row(fault, cell),
        }
    }

    /// Adds the columns to the errors of a row.
    pub(super) fn name_columns(&self, mut problem: Problem, row: Option<&[u8]>) -> Problem {
        if let Self::Csv(columns) = self {
            let row = row.unwrap_or_default();
            let pointers = Pointers::new(columns, row);
            problem.name_columns(|pointer| pointers.column(pointer));
        }
        problem
    }
}
