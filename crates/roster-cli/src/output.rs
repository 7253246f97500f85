//! What goes to stdout: tables, JSON, NDJSON and CSV.

use std::io::{self, IsTerminal as _, Write};

use anstream::AutoStream;
use clap::{Args, ValueEnum};
use futures_util::{Stream, TryStreamExt as _};
use indexmap::IndexMap;
use roster_client::Error;
use serde_json::Value;

use crate::failure::{Failure, exit};
use crate::table::Table;
use crate::text::{print, printable, say};

/// A record, its members in the order of the service.
pub type Record = IndexMap<String, Value>;

/// Rows of which the width of the columns is that of the longest cell.
const MEASURED_ROWS: usize = 200;

/// The form of the output.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// The form: a table for people, or one for programs
    #[arg(short, long, value_enum, value_name = "FORM", global = true, default_value_t)]
    output: Form,

    /// The members to show, separated by commas, such as id,email,attributes.team
    #[arg(long, value_name = "MEMBERS", value_delimiter = ',', global = true)]
    columns: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    #[default]
    Table,
    Json,
    Ndjson,
    Csv,
}

/// Prints a secret that is shown only once.
pub(crate) fn print_secret(secret: &str) -> Result<(), Failure> {
    let mut out = writer();
    let printed = writeln!(out, "{secret}").and_then(|()| out.flush());
    printed.map_err(|error| not_taken(error.into()))
}

/// The failure if stdout did not take a secret. Here a closed stdout is an error too.
pub(crate) fn not_taken(mut failure: Failure) -> Failure {
    if failure.text.is_empty() {
        failure.text.push_str("it is closed");
    }
    failure.text.insert_str(0, "stdout did not take the secret: ");
    Failure { status: exit::OTHER, ..failure }.next("nobody has the secret: rotate it")
}

impl Output {
    /// The columns that are shown.
    pub(crate) fn columns(&self, default: &[&str]) -> Vec<String> {
        if self.columns.is_empty() {
            return default.iter().map(|column| (*column).to_owned()).collect();
        }
        self.columns.clone()
    }

    /// The members to request for a list, if not all are needed.
    pub(crate) fn fields(&self, default: &[&str]) -> Option<String> {
        let is_whole = self.columns.is_empty() && matches!(self.output, Form::Json | Form::Ndjson);
        if is_whole {
            return None;
        }
        let mut fields = Vec::new();
        for column in self.columns(default) {
            let end = column.find(['.', '[']).unwrap_or(column.len());
            let member = column.get(..end).unwrap_or_default().to_owned();
            if !fields.contains(&member) {
                fields.push(member);
            }
        }
        Some(fields.join(","))
    }

    /// Whether people read it.
    pub(crate) fn is_table(&self) -> bool {
        self.output == Form::Table
    }

    /// Says what was done: on stdout to people, and on stderr if stdout is for programs.
    pub(crate) fn tell(&self, text: &str) -> io::Result<()> {
        if self.is_table() {
            return print(text);
        }
        say(text);
        Ok(())
    }

    /// Whether it has cells instead of JSON.
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.output, Form::Table | Form::Csv)
    }

    /// Writes one record.
    pub(crate) fn record(&self, record: &Record) -> Result<(), Failure> {
        let mut out = writer();
        tell_unseen(&unseen(&self.columns, record));
        match self.output {
            Form::Table => {
                let mut rows = Vec::new();
                for (name, value) in record {
                    flatten(name, value, &mut rows);
                }
                rows.retain(|(name, _)| {
                    let is_wanted = |column: &String| {
                        name.strip_prefix(column.as_str())
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                    };
                    self.columns.is_empty() || self.columns.iter().any(is_wanted)
                });
                let rows = rows.into_iter().map(|(name, value)| vec![name, value]);
                Table::of(&[], &rows.collect::<Vec<_>>()).write(&mut out)?;
            }
            Form::Json => writeln!(out, "{}", json(&self.selected(record), true)?)?,
            Form::Ndjson => writeln!(out, "{}", json(&self.selected(record), false)?)?,
            Form::Csv => {
                let names: Vec<&str> = record.keys().map(String::as_str).collect();
                let columns = self.columns(&names);
                let mut csv = csv::Writer::from_writer(&mut out);
                csv.write_record(&columns)?;
                csv.write_record(columns.iter().map(|column| unformula(cell(record, column))))?;
                csv.flush()?;
            }
        }
        out.flush()?;
        Ok(())
    }

    /// Writes a list as it arrives, with at most this many records. Returns how many were written,
    /// and whether there are more.
    pub(crate) async fn list(
        &self,
        records: impl Stream<Item = Result<Record, Error>>,
        default: &[&str],
        limit: Option<u64>,
    ) -> Result<(u64, bool), Failure> {
        let mut writing = Writing::begin(self, self.columns(default))?;
        futures_util::pin_mut!(records);
        let mut count = 0;
        let more = loop {
            let Some(record) = records.try_next().await? else { break false };
            if limit.is_some_and(|limit| count >= limit) {
                break true;
            }
            writing.record(self, &record)?;
            count += 1;
        };
        writing.end()?;
        Ok((count, more))
    }

    /// The members of a record that are shown.
    fn selected(&self, record: &Record) -> Record {
        if self.columns.is_empty() {
            return record.clone();
        }
        let found = self
            .columns
            .iter()
            .filter_map(|column| Some((column.clone(), lookup(record, column)?.clone())));
        found.collect()
    }
}

/// A list that is being written.
pub(crate) struct Writing {
    out: Box<dyn Write>,
    form: Form,
    columns: Vec<String>,
    /// The columns that were asked for and that no record has had.
    unseen: Vec<String>,
    /// The first rows of a table, until its columns are measured; then the table.
    rows: Vec<Vec<String>>,
    table: Option<Table>,
    count: u64,
}

impl Writing {
    pub(crate) fn begin(output: &Output, columns: Vec<String>) -> Result<Self, Failure> {
        let (form, rows, unseen) = (output.output, Vec::new(), output.columns.clone());
        let mut writing =
            Self { out: writer(), form, columns, unseen, rows, table: None, count: 0 };
        if form == Form::Csv {
            let columns = writing.columns.clone();
            writing.csv(&columns)?;
        }
        Ok(writing)
    }

    pub(crate) fn record(&mut self, output: &Output, record: &Record) -> Result<(), Failure> {
        self.count += 1;
        self.unseen = unseen(&self.unseen, record);
        match self.form {
            Form::Table => {
                let row: Vec<String> =
                    self.columns.iter().map(|column| cell(record, column)).collect();
                match &self.table {
                    Some(table) => table.row(&mut self.out, &row)?,
                    None => self.rows.push(row),
                }
                if self.rows.len() >= MEASURED_ROWS {
                    self.measure()?;
                }
            }
            Form::Json => {
                let begin = if self.count == 1 { "[" } else { "," };
                write!(self.out, "{begin}\n{}", json(&output.selected(record), false)?)?;
            }
            Form::Ndjson => writeln!(self.out, "{}", json(&output.selected(record), false)?)?,
            Form::Csv => {
                let row = self.columns.iter().map(|column| unformula(cell(record, column)));
                self.csv(&row.collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// Gives a table the widths of this row, for a list whose rows come late.
    pub(crate) fn expect(&mut self, row: &[String]) -> Result<(), Failure> {
        if self.form == Form::Table && row.len() == self.columns.len() {
            let table = Table::of(&self.columns, &[row.to_vec()]).without_rows();
            table.write(&mut self.out)?;
            self.table = Some(table);
        }
        self.out.flush()?;
        Ok(())
    }

    /// Writes the rows that wait, such as when the next one may come late.
    pub(crate) fn measure(&mut self) -> Result<(), Failure> {
        if self.form == Form::Table && !self.rows.is_empty() {
            let table = Table::of(&self.columns, &std::mem::take(&mut self.rows));
            table.write(&mut self.out)?;
            self.table = Some(table.without_rows());
        }
        self.out.flush()?;
        Ok(())
    }

    pub(crate) fn end(mut self) -> Result<(), Failure> {
        self.measure()?;
        match (self.form, self.count) {
            (Form::Json, 0) => writeln!(self.out, "[]")?,
            (Form::Json, _) => writeln!(self.out, "\n]")?,
            _ => {}
        }
        self.out.flush()?;
        if self.count > 0 {
            tell_unseen(&self.unseen);
        }
        Ok(())
    }

    fn csv(&mut self, row: &[String]) -> Result<(), Failure> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(row)?;
        csv.flush()?;
        let line = csv.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
        self.out.write_all(&line)?;
        Ok(())
    }
}

/// Stdout, without colours where they would not be shown, and without characters that control a
/// terminal if it is one.
fn writer() -> Box<dyn Write> {
    if io::stdout().is_terminal() {
        return Box::new(Terminal(AutoStream::auto(io::stdout())));
    }
    Box::new(io::BufWriter::new(io::stdout()))
}

/// Each write to it is a whole text.
struct Terminal(AutoStream<io::Stdout>);

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// JSON text. What controls a terminal is escaped as JSON does it, so the meaning is the same.
fn json(record: &Record, is_pretty: bool) -> Result<String, Failure> {
    let text = if is_pretty {
        serde_json::to_string_pretty(record)?
    } else {
        serde_json::to_string(record)?
    };
    Ok(if io::stdout().is_terminal() { printable(&text) } else { text })
}

/// The value at a path such as `emails[0].value`.
pub(crate) fn lookup<'a>(record: &'a Record, path: &str) -> Option<&'a Value> {
    if let Some(value) = record.get(path) {
        return Some(value);
    }
    let mut steps = path.split(['.', '[']);
    let mut value = record.get(steps.next()?)?;
    for step in steps {
        value = match step.strip_suffix(']') {
            Some(index) => value.get(index.parse::<usize>().ok()?)?,
            None => value.get(step)?,
        };
    }
    Some(value)
}

/// Those of the columns that the record does not have.
fn unseen(columns: &[String], record: &Record) -> Vec<String> {
    columns.iter().filter(|column| lookup(record, column).is_none()).cloned().collect()
}

/// An absent member may be misspelt.
fn tell_unseen(columns: &[String]) {
    if !columns.is_empty() {
        say(&format!("nothing shown here has {}", columns.join(", ")));
    }
}

fn cell(record: &Record, path: &str) -> String {
    lookup(record, path).map(plain).unwrap_or_default()
}

/// A value as people write it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().map(plain).collect::<Vec<_>>().join(",")
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A cell that no spreadsheet executes, as in the CSV of the service: one that begins with
/// apostrophes gets one more too, so that each is read as it was.
pub(crate) fn unformula(cell: String) -> String {
    let is_executed = cell.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_executed { format!("'{cell}") } else { cell }
}

/// The members of a value, with their paths.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others have one row")]
fn flatten(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                flatten(&format!("{path}.{name}"), value, rows);
            }
        }
        Value::Array(items) if !items.iter().all(Value::is_string) => {
            for (index, value) in items.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), value, rows);
            }
        }
        _ => rows.push((path.to_owned(), plain(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Record {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn cells_that_a_spreadsheet_executes_are_told_apart_from_those_that_look_escaped() {
        let cells = ["=x", "'=x", "''-1", "'x", "x", ""];
        let written = cells.map(|cell| unformula(cell.to_owned()));
        assert_eq!(written, ["'=x", "''=x", "'''-1", "'x", "x", ""]);
    }

    #[test]
    fn a_path_finds_a_part() {
        let user =
            record(r#"{"emails":[{"value":"a@b.c"}],"attributes":{"team":["x","y"]},"a.b":1}"#);
        for (path, found) in [
            ("emails[0].value", "a@b.c"),
            ("attributes.team", "x,y"),
            ("a.b", "1"),
            ("emails[1].value", ""),
            ("nobody.there", ""),
        ] {
            assert_eq!(cell(&user, path), found, "{path}");
        }
    }

    #[test]
    fn a_list_asks_for_the_members_of_its_columns() {
        let mut output = Output::default();
        assert_eq!(output.fields(&["username", "id"]).as_deref(), Some("username,id"));
        output.output = Form::Json;
        assert_eq!(output.fields(&["username"]), None);
        output.columns =
            vec!["emails[0].value".into(), "attributes.a".into(), "attributes.b".into()];
        assert_eq!(output.fields(&["username"]).as_deref(), Some("emails,attributes"));
    }
}
