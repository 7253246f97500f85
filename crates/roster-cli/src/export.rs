//! `roster export`: all records of a kind, into a file or to stdout.

use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use futures_util::StreamExt as _;
use roster_client::{Body, Bytes, Call, Client, Error, Method, Response, header};
use tempfile::NamedTempFile;

use crate::connection::Remote;
use crate::failure::{Failure, Outcome, exit};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::text::{printable, say};

/// How often an export into a file begins again after a break, with pauses of 1 s, 2 s and so on.
const RETRIES: u32 = 3;

/// The largest `limit` of a request.
const LIMIT_MAX: u64 = 1000;

/// Lets a spreadsheet read UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The flags of `roster export`.
#[derive(Debug, Args)]
pub struct ExportFlags {
    /// The file to write, such as people.csv or people.ndjson; - is stdout
    #[arg(default_value = "-", hide_default_value = true)]
    file: PathBuf,

    /// What is exported
    #[arg(long, value_enum, value_name = "WHAT", default_value = "users")]
    what: What,

    #[command(flatten)]
    format: FormatFlags,

    /// A condition, such as 'department eq "Sales" and status eq "active"'
    #[arg(long, value_name = "CONDITION")]
    filter: Option<String>,

    /// The members to write besides id and version, separated by commas, such as username,email
    /// [default: all]
    #[arg(long, value_name = "MEMBERS")]
    fields: Option<String>,

    /// Stop after this many records [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// Replace a file that exists
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Args)]
struct FormatFlags {
    /// Write rows of CSV [default: if the name of the file ends in .csv]
    #[arg(long, conflicts_with = "ndjson")]
    csv: bool,

    /// Write a JSON object on each line
    #[arg(long)]
    ndjson: bool,

    /// Begin CSV with a byte order mark, so that spreadsheets recognise UTF-8
    #[arg(long)]
    bom: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Users
    Users,
    /// Groups with the ids of their members
    Groups,
    /// Deleted users
    DeletedUsers,
}

impl What {
    const fn path(self) -> &'static str {
        match self {
            Self::Users => "bulk/users",
            Self::Groups => "bulk/groups",
            Self::DeletedUsers => "bulk/deleted-users",
        }
    }

    const fn many(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Groups => "groups",
            Self::DeletedUsers => "deleted users",
        }
    }
}

/// Here `--fields` is a flag, not `--columns`.
fn refusal(error: Error) -> Failure {
    Failure::of_input(error, |fault| {
        fault.parameter.as_ref().filter(|name| *name == "fields").map(|_| "--fields".to_owned())
    })
}

/// Why a response was not read to its end.
enum Stop {
    Interrupted,
    Error(Error),
    Failure(Failure),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failure(error.into())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Runs the command.
pub(crate) async fn run(flags: ExportFlags) -> Outcome {
    let is_csv = flags.is_csv()?;
    let client = flags.remote.client()?;
    let mut interrupts = Interrupts::listen()?;
    if flags.is_stdout() {
        let mut out = Stdout::new();
        let read = read(&client, &flags, is_csv, &mut out, &mut interrupts).await;
        return match read {
            Ok(_) => Ok(0),
            Err(Stop::Interrupted) => {
                Err(Failure::new(exit::INTERRUPTED, "interrupted: the output is incomplete"))
            }
            Err(Stop::Error(error)) => {
                let mut failure = refusal(error);
                if out.has_begun {
                    failure.text += "; the output is incomplete";
                    failure.next = Some("a file, instead of stdout, is written whole".to_owned());
                }
                Err(failure)
            }
            Err(Stop::Failure(failure)) => Err(failure),
        };
    }
    into_file(&client, &flags, is_csv, &mut interrupts).await
}

/// Exports into a file, which gets its name once it is complete.
async fn into_file(
    client: &Client,
    flags: &ExportFlags,
    is_csv: bool,
    interrupts: &mut Interrupts,
) -> Outcome {
    let path = destination(&flags.file, flags.force)?;
    let shown = flags.file.display();
    let unwritable =
        |error: io::Error| Failure::new(exit::OTHER, format!("{shown} cannot be written: {error}"));
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    let mut tries = 0;
    loop {
        let file = NamedTempFile::new_in(directory).map_err(unwritable)?;
        let mut out = io::BufWriter::with_capacity(256 * 1024, file);
        let error = match read(client, flags, is_csv, &mut out, interrupts).await {
            Ok((count, position)) => {
                let file = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
                file.as_file().sync_all().map_err(unwritable)?;
                let kept =
                    if flags.force { file.persist(&path) } else { file.persist_noclobber(&path) };
                kept.map_err(|error| unwritable(error.error))?;
                let many = flags.what.many();
                let noun = if count == 1 { many.trim_end_matches('s') } else { many };
                say(&format!("{shown}: {count} {noun}"));
                if let Some(position) = position {
                    let words = flags.remote.words();
                    say(&format!(
                        "next: roster events --after {position}{words} shows what changed since"
                    ));
                }
                return Ok(0);
            }
            Err(Stop::Interrupted) => {
                let text = format!("interrupted: {shown} was not written");
                return Err(Failure::new(exit::INTERRUPTED, text));
            }
            Err(Stop::Failure(failure)) => {
                let text = format!("{shown} was not written: {}", failure.text);
                return Err(Failure { text, ..failure });
            }
            Err(Stop::Error(error)) => error,
        };
        tries += 1;
        if tries > RETRIES || !can_heal(&error, tries) {
            let is_broken = matches!(error, Error::Broken { .. });
            let mut failure = refusal(error);
            failure.text = format!("{}\n{shown} was not written", failure.text);
            return Err(if is_broken { failure.next("try again") } else { failure });
        }
        let pause = Duration::from_secs(1 << (tries - 1));
        say(&format!("{error}; beginning again in {} s", pause.as_secs()));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = interrupts.next() => {
                let text = format!("interrupted: {shown} was not written");
                return Err(Failure::new(exit::INTERRUPTED, text));
            }
        }
    }
}

/// Where a file is written. A link keeps pointing to it.
fn destination(file: &Path, is_forced: bool) -> Result<PathBuf, Failure> {
    let shown = file.display();
    let found = match fs::metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(file.to_owned()),
        Err(error) => return Err(Failure::usage(format!("{shown}: {error}"))),
    };
    if !found.is_file() {
        return Err(Failure::usage(format!("{shown} is no file")).next("- is stdout"));
    }
    if !is_forced {
        return Err(Failure::usage(format!("{shown} exists")).next("--force replaces it"));
    }
    Ok(file.canonicalize()?)
}

/// Whether the same request may succeed later. A service that was never reached is not waited for.
fn can_heal(error: &Error, tries: u32) -> bool {
    match error {
        Error::Connect { .. } => tries > 1,
        Error::Broken { .. } => true,
        Error::Problem(problem) => matches!(problem.status, 429 | 502..=504),
        Error::Strange { .. } | Error::Request(_) => false,
    }
}

/// Writes the records. Returns their number, and the position after which changes may be missing.
async fn read(
    client: &Client,
    flags: &ExportFlags,
    is_csv: bool,
    out: &mut impl Write,
    interrupts: &mut Interrupts,
) -> Result<(u64, Option<String>), Stop> {
    let call = flags.call(is_csv);
    let response = tokio::select! {
        response = client.stream(&call, Body::from(Vec::new())) => response?,
        () = interrupts.next() => return Err(Stop::Interrupted),
    };
    let position = text(&response, "roster-position");
    let mut progress = Progress::begin("export", total(&response, flags.limit), 0);
    let mut counter = Counter::new(is_csv, flags.limit);
    if flags.format.bom {
        out.write_all(MARK)?;
    }
    let copied = copy(client, response, &mut counter, out, &mut progress, interrupts).await;
    progress.clear();
    Ok((copied?, position))
}

async fn copy(
    client: &Client,
    response: Response,
    counter: &mut Counter,
    out: &mut impl Write,
    progress: &mut Progress,
    interrupts: &mut Interrupts,
) -> Result<u64, Stop> {
    let mut pieces = client.pieces(response);
    while !counter.is_full() {
        let piece: Option<Result<Bytes, Error>> = tokio::select! {
            piece = pieces.next() => piece,
            () = interrupts.next() => return Err(Stop::Interrupted),
        };
        let Some(piece) = piece else { break };
        let piece = piece?;
        out.write_all(counter.take(&piece))?;
        progress.reach(counter.records(), "");
    }
    out.flush()?;
    Ok(counter.records())
}

fn text(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(ToOwned::to_owned)
}

/// How many records there are, or 0 if the number is unknown.
fn total(response: &Response, limit: Option<u64>) -> u64 {
    let total = text(response, "roster-total").and_then(|total| total.parse().ok());
    let is_exact = text(response, "roster-total-relation").is_none();
    let total: u64 = total.filter(|_| is_exact).unwrap_or_default();
    limit.map_or(total, |limit| total.min(limit))
}

const fn media(is_csv: bool) -> &'static str {
    if is_csv { "text/csv" } else { "application/x-ndjson" }
}

/// Counts records as they pass, up to a limit.
struct Counter {
    is_csv: bool,
    is_quoted: bool,
    ends: u64,
    limit: Option<u64>,
}

impl Counter {
    const fn new(is_csv: bool, limit: Option<u64>) -> Self {
        Self { is_csv, is_quoted: false, ends: 0, limit }
    }

    /// The part of a piece that is within the limit.
    fn take<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        for index in memchr::memchr2_iter(b'\n', b'"', piece) {
            match piece.get(index) {
                Some(b'"') => self.is_quoted = self.is_csv && !self.is_quoted,
                _ if !self.is_quoted => self.ends += 1,
                _ => {}
            }
            if self.is_full() {
                return piece.get(..=index).unwrap_or(piece);
            }
        }
        piece
    }

    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.records() >= limit)
    }

    /// The header row is no record.
    fn records(&self) -> u64 {
        self.ends.saturating_sub(u64::from(self.is_csv))
    }
}

impl ExportFlags {
    fn is_stdout(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// The format, by the flags or the name of the file.
    fn is_csv(&self) -> Result<bool, Failure> {
        let end = self.file.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        let is_csv = match end.as_deref() {
            _ if self.format.csv || self.format.ndjson => self.format.csv,
            Some("csv") => true,
            Some("ndjson" | "jsonl") => false,
            None if self.is_stdout() => false,
            _ => {
                let text = format!("{} names no format", self.file.display());
                return Err(Failure::usage(text).next("--csv or --ndjson"));
            }
        };
        if is_csv && self.what != What::Users {
            let text = format!("{} are exported as NDJSON only", self.what.many());
            return Err(Failure::usage(text).next("--ndjson, or a name such as all.ndjson"));
        }
        if self.format.bom && !is_csv {
            return Err(Failure::usage("--bom is for CSV").next("--csv"));
        }
        Ok(is_csv)
    }

    fn call(&self, is_csv: bool) -> Call {
        let call = Call::new(Method::GET, self.what.path())
            .header(header::ACCEPT, media(is_csv))
            .query("count", "true");
        // The service takes no higher one, so the rest of its response is not read.
        let limit = self.limit.filter(|limit| *limit <= LIMIT_MAX);
        let given = [
            ("filter", self.filter.clone()),
            ("fields", self.fields.clone()),
            ("limit", limit.map(|limit| limit.to_string())),
        ];
        given.into_iter().fold(call, |call, (name, value)| match value {
            Some(value) => call.query(name, value),
            None => call,
        })
    }
}

/// Stdout, without what controls a terminal if it is one.
struct Stdout {
    out: io::Stdout,
    is_terminal: bool,
    has_begun: bool,
}

impl Stdout {
    fn new() -> Self {
        let out = io::stdout();
        Self { is_terminal: out.is_terminal(), out, has_begun: false }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_begun = true;
        if self.is_terminal {
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            self.out.write_all(printable(&text).as_bytes())?;
        } else {
            self.out.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn an_export_is_cut_after_as_many_records_as_were_asked_for() {
        let (rows, lines) = ("a,b\r\n1,\"x\ny\"\r\n2,z\r\n", "{\"a\":1}\n{\"a\":2}\n");
        for (is_csv, text, limit, length, count) in [
            (true, rows, Some(1), 14, 1),
            (true, rows, Some(2), 19, 2),
            (true, rows, Some(9), 19, 2),
            (true, rows, None, 19, 2),
            (false, lines, Some(1), 8, 1),
            (false, lines, None, 16, 2),
        ] {
            for size in [1, 3, 100] {
                let (mut counter, mut written) = (Counter::new(is_csv, limit), Vec::new());
                for piece in text.as_bytes().chunks(size) {
                    if !counter.is_full() {
                        written.extend_from_slice(counter.take(piece));
                    }
                }
                assert_eq!(written, &text.as_bytes()[..length], "{limit:?} {size}");
                assert_eq!(counter.records(), count, "{limit:?} {size}");
            }
        }
    }
}
