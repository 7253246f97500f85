//! The faults file: a table that a spreadsheet opens, with the lines that failed and the reasons.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::source::{LineReader, Source};
use super::spool::{Fault, Spool};
use super::table::{DELIMITERS, RESULTS, ROW_BYTES_MAX};
use crate::environment::working_directory;
use crate::failure::{Failure, exit};
use crate::output::unformula;

/// How many faults are shown.
const SHOWN: usize = 3;

/// Lets a spreadsheet read UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The default name of the faults file.
pub(super) fn default_path(name: &Path, is_dry_run: bool) -> PathBuf {
    let stem = name.file_stem().filter(|stem| *stem != "-");
    let stem = stem.map_or_else(|| "stdin".into(), |stem| stem.to_string_lossy());
    let middle = if is_dry_run { ".dry-run" } else { "" };
    PathBuf::from(format!("{stem}{middle}.faults.csv"))
}

/// The name of the file, from where the command runs.
pub(super) fn shown(path: &Path) -> String {
    let here = working_directory();
    let inner = here.as_ref().and_then(|here| path.strip_prefix(here).ok());
    // The directory itself has no name from there.
    inner.filter(|inner| !inner.as_os_str().is_empty()).unwrap_or(path).display().to_string()
}

/// Checks that the file can be made, before anything is sent.
pub(super) fn check(path: &Path, may_replace: bool) -> Result<(), Failure> {
    let directory = parent(path);
    if !directory.is_dir() {
        return Err(Failure::usage(format!("{} is no directory", shown(directory))));
    }
    let there = fs::symlink_metadata(path);
    if there.as_ref().is_ok_and(|there| !there.is_file()) {
        return Err(no_file(&shown(path)));
    }
    if !may_replace && there.is_ok() {
        return Err(Failure::usage(format!("{} exists", shown(path)))
            .next("--faults names another file for the lines that fail; --restart overwrites it"));
    }
    Ok(())
}

/// The failure of a name that is none of a file.
pub(super) fn no_file(name: &str) -> Failure {
    Failure::usage(format!("{name} is no file"))
        .next("--faults names a file for the lines that fail")
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// What is in the file.
#[derive(Default)]
pub(super) struct Written {
    /// The first faults in words; none if there are no faults, and then there is no file either.
    pub(super) shown: Vec<String>,
    /// How many rows have no cells in it, so that it cannot be imported in their place.
    pub(super) lacking: u64,
    /// The line of the first of them.
    pub(super) first: u64,
}

/// Writes the file.
pub(super) fn write(path: &Path, source: &Source, spool: &mut Spool) -> io::Result<Written> {
    let mut written = Written::default();
    let mut faults = spool.faults()?.peekable();
    if faults.peek().is_none() {
        return Ok(written);
    }
    let mut file = NamedTempFile::new_in(parent(path))?;
    io::Write::write_all(&mut file, MARK)?;
    let delimiter = source.header.as_ref().map_or(b',', |header| header.delimiter);
    if !DELIMITERS.contains(&delimiter) {
        io::Write::write_all(&mut file, &[b"sep=", &[delimiter][..], b"\r\n"].concat())?;
    }
    let mut table = csv::WriterBuilder::new()
        .delimiter(delimiter)
        .terminator(csv::Terminator::CRLF)
        .from_writer(io::BufWriter::new(&mut file));
    table.write_record(columns(source))?;
    let mut lines = LineReader::new(source)?;
    for fault in faults {
        let fault = fault?;
        if written.shown.len() < SHOWN {
            written.shown.push(fault.words());
        }
        if fault.is_unsafe {
            written.lacking += 1;
            // They are in the order of their lines.
            written.first = if written.lacking == 1 { fault.line } else { written.first };
        }
        let limit = u64::try_from(ROW_BYTES_MAX).unwrap_or_default();
        let text = lines.text(fault.line, fault.end, limit)?;
        // A cell of the file has the apostrophe already that a formula needs.
        let cells = row(source, &fault, &text).into_iter();
        let is_marked = |cell: &String| cell.starts_with('\'');
        let cells = cells.map(|cell| if is_marked(&cell) { cell } else { unformula(cell) });
        table.write_record(cells)?;
    }
    table.flush()?;
    drop(table);
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(written)
}

fn columns(source: &Source) -> Vec<String> {
    let Some(header) = &source.header else {
        return ["status", "code", "line", "member", "detail", "record"].map(str::to_owned).into();
    };
    let results = RESULTS.map(str::to_owned);
    header.columns.iter().cloned().chain(results).collect()
}

fn row(source: &Source, fault: &Fault, text: &[u8]) -> Vec<String> {
    let Fault { line, status, code, place, detail, .. } = fault;
    let escaped = if code == "formula" {
        "; it is escaped in this file: to import it so stores it as text"
    } else {
        ""
    };
    let detail = format!("{detail}{escaped}");
    let result = [status.to_string(), code.clone(), line.to_string(), place.clone(), detail];
    if let Some(header) = &source.header {
        // Its cells may belong to other columns, so the detail has the whole row.
        let (text, result) = if fault.is_unsafe {
            let [status, code, line, place, detail] = result;
            let whole = String::from_utf8_lossy(text);
            (&[][..], [status, code, line, place, format!("{detail}; the row: {whole}")])
        } else {
            (text, result)
        };
        return header.cells_of(text).into_iter().chain(result).collect();
    }
    let record = String::from_utf8_lossy(text).into_owned();
    result.into_iter().chain([record]).collect()
}

/// The failure of a file that cannot be written.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(exit::OTHER, format!("{} cannot be written: {error}", shown(path)))
}
