//! The results that the service sends, one for each line of the file.

use std::io;

use roster_client::{Error, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spool::{Fault, Spool};
use crate::failure::{Failure, exit};
use crate::lines::Lines;

/// How many lines had which result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) created: u64,
    pub(super) replaced: u64,
    pub(super) skipped: u64,
    pub(super) failed: u64,
    /// How many of the users that were created or replaced have another id than their lines.
    #[serde(default)]
    pub(super) other_ids: u64,
}

impl Tally {
    pub(super) const fn all(&self) -> u64 {
        self.created + self.replaced + self.skipped + self.failed
    }
}

/// One line of the response.
#[derive(Deserialize)]
struct Answer {
    line: Option<u64>,
    status: Option<u16>,
    /// `true` in the result of a line, and a number in the last line.
    skipped: Option<Value>,
    problem: Option<Box<Problem>>,
    /// The members of the line that the service did not use.
    #[serde(default)]
    ignored: Vec<String>,
    #[serde(default)]
    done: bool,
    lines: Option<u64>,
    columns: Option<Vec<Column>>,
}

#[derive(Deserialize)]
struct Column {
    column: String,
    member: Option<String>,
}

/// A result that counts once the next one has arrived: then its row has ended.
struct Pending {
    line: u64,
    status: u16,
    is_skipped: bool,
    ignores_id: bool,
    problem: Option<Box<Problem>>,
}

/// The results of one request.
pub(super) struct Results<'a> {
    tally: Tally,
    spool: &'a mut Spool,
    lines: Lines,
    pending: Option<Pending>,
    /// The first line that has no result that counts.
    next: u64,
    /// The results of this request.
    count: u64,
    is_done: bool,
    /// The members of the columns, in a dry run.
    pub(super) columns: Vec<(String, Option<String>)>,
}

/// Why no more results are read.
pub(super) enum Refusal {
    /// The service did not execute a line, and may do so later.
    Problem(Box<Problem>),
    Failure(Failure),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failure(Failure::new(exit::OTHER, format!("the faults cannot be kept: {error}")))
    }
}

impl<'a> Results<'a> {
    pub(super) fn new(next: u64, tally: Tally, spool: &'a mut Spool) -> Self {
        let (lines, columns) = (Lines::default(), Vec::new());
        Self { tally, spool, lines, pending: None, next, count: 0, is_done: false, columns }
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) const fn is_done(&self) -> bool {
        self.is_done
    }

    pub(super) const fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn spool(&mut self) -> &mut Spool {
        self.spool
    }

    /// Passes all lines before this one: those without a result are blank.
    pub(super) fn pass(&mut self, line: u64) {
        self.next = line;
    }

    /// The last line with a result.
    pub(super) fn last(&self) -> Option<u64> {
        self.pending.as_ref().map(|pending| pending.line)
    }

    /// Takes the next piece of the response.
    pub(super) fn take(&mut self, piece: &[u8], url: &str) -> Result<(), Refusal> {
        let strange = |why: String| {
            let url = url.to_owned();
            Refusal::Failure(Error::Strange { url, why }.into())
        };
        self.lines.feed(piece);
        while let Some(line) = self.lines.next() {
            let answer: Answer = serde_json::from_slice(&line)
                .map_err(|error| strange(format!("a result cannot be read: {error}")))?;
            self.answer(answer).map_err(|refusal| refusal.unwrap_or_else(&strange))?;
        }
        if self.lines.is_too_long() {
            return Err(strange("a result is too long".to_owned()));
        }
        Ok(())
    }

    fn answer(&mut self, answer: Answer) -> Result<(), Result<Refusal, String>> {
        if let Some(columns) = answer.columns {
            self.columns = columns.into_iter().map(|one| (one.column, one.member)).collect();
            return Ok(());
        }
        if answer.done {
            if answer.lines != Some(self.count) {
                return Err(Err(format!("it counts {:?} results", answer.lines)));
            }
            self.is_done = true;
            return Ok(());
        }
        let (Some(line), Some(status)) = (answer.line, answer.status) else {
            return Err(Err("a result has no line".to_owned()));
        };
        if line < self.next || self.last().is_some_and(|last| line <= last) || self.is_done {
            return Err(Err(format!("the result of line {line} is out of order")));
        }
        self.settle(line).map_err(|error| Ok(error.into()))?;
        self.next = line;
        // What ends an import, and what a line can do nothing for.
        let problem = match answer.problem {
            Some(problem) if matches!(problem.status, 401 | 429 | 502..=507) => {
                return Err(Ok(Refusal::Problem(problem)));
            }
            problem => problem,
        };
        let is_skipped = answer.skipped == Some(Value::Bool(true));
        let ignores_id = answer.ignored.iter().any(|member| member == "id");
        self.pending = Some(Pending { line, status, is_skipped, ignores_id, problem });
        self.count += 1;
        Ok(())
    }

    /// Counts the last result, whose line or row ends before this line.
    pub(super) fn settle(&mut self, end: u64) -> io::Result<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let Pending { line, status, is_skipped, ignores_id, problem } = pending;
        self.next = end;
        let is_stored = problem.is_none() && !is_skipped;
        self.tally.other_ids += u64::from(is_stored && ignores_id);
        match (problem, status) {
            (Some(problem), _) => {
                self.tally.failed += 1;
                self.spool.add(&Fault::of(line, end, status, &problem))?;
            }
            (None, _) if is_skipped => self.tally.skipped += 1,
            (None, 201) => self.tally.created += 1,
            (None, _) => self.tally.replaced += 1,
        }
        Ok(())
    }
}

impl Fault {
    /// In the words of the service's own tables of results.
    fn of(line: u64, end: u64, status: u16, problem: &Problem) -> Self {
        let place = |fault: &roster_client::Fault| {
            let member = fault.pointer.as_deref().map(|pointer| {
                pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/")
            });
            fault.column.clone().or(member).filter(|place| !place.is_empty())
        };
        let details = problem.errors.iter().map(|fault| match place(fault) {
            Some(place) => format!("{place}: {}", fault.detail),
            None => fault.detail.clone(),
        });
        let mut details: Vec<String> = details.collect();
        if details.is_empty() {
            let says = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
            details.push(says.clone());
        }
        if problem.more > 0 {
            details.push(format!("and {} more", problem.more));
        }
        let is_of_text = |code: &str| code == "invalid-encoding";
        Self {
            line,
            end,
            status,
            code: problem.errors.first().map_or(&problem.code, |first| &first.code).clone(),
            place: problem.errors.iter().find_map(place).unwrap_or_default(),
            detail: details.join("; "),
            is_unsafe: matches!(&*problem.code, "malformed-csv" | "body-too-large")
                || problem.errors.iter().any(|fault| is_of_text(&fault.code)),
        }
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        format!("line {}: {} ({})", self.line, self.detail, self.code)
    }
}
