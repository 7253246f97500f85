//! What an import says at its end.

use roster_client::{Error, Fault};

use super::{Import, faults, flags::ImportFlags};
use crate::failure::{Failure, Outcome, exit};
use crate::progress::Progress;
use crate::text::{quoted, say};

impl Import<'_> {
    /// The end of a complete import.
    pub(super) fn complete(&mut self) -> Outcome {
        self.progress.clear();
        let path = self.faults.clone();
        let shown = faults::write(&path, &self.source, &mut self.spool).map_err(|error| {
            let is_dry_run = self.flags.service.dry_run;
            let further = if is_dry_run { "--faults FILE" } else { "--resume --faults FILE" };
            self.next(faults::unwritable(&path, &error), further)
        })?;
        self.store.remove()?;
        self.tell(&shown);
        if self.state.tally.failed == 0 {
            return Ok(0);
        }
        if self.source.header.is_some() && !self.flags.service.dry_run {
            let name = faults::shown(&path);
            let command = self.flags.command_of(&name);
            return Err(Failure::new(exit::SOME_FAILED, "")
                .next(format!("correct {name} and import it: {command}")));
        }
        Ok(exit::SOME_FAILED)
    }

    /// The end of an import that was asked to stop.
    pub(super) fn interrupted(&mut self, is_clean: bool) -> Outcome {
        self.progress.clear();
        Err(self.left(Failure::new(exit::INTERRUPTED, ""), is_clean))
    }

    /// The end of an import that failed.
    pub(super) fn failed(&mut self, failure: Failure) -> Failure {
        self.progress.clear();
        // The rows of a file that was changed may be others.
        let with_faults = failure.status != exit::CONFLICT;
        self.left(failure, with_faults)
    }

    /// Says what was done, and how to go on.
    fn left(&mut self, failure: Failure, with_faults: bool) -> Failure {
        if !self.state.has_begun() && !self.may_have_stored {
            if failure.status == exit::INTERRUPTED {
                say("nothing was imported");
            }
            if let Err(error) = self.store.remove() {
                say(&format!("the state of the import cannot be removed: {error}"));
            }
            return failure;
        }
        let mut shown = Vec::new();
        if with_faults {
            match faults::write(&self.faults, &self.source, &mut self.spool) {
                Ok(words) => shown = words,
                Err(error) => say(&faults::unwritable(&self.faults, &error).text),
            }
        }
        if self.flags.service.dry_run {
            self.tell(&shown);
            return failure;
        }
        if !shown.is_empty() {
            self.state.faults = Some(self.faults.clone());
        }
        if let Err(error) = self.store.write(&self.state) {
            say(&format!("the state of the import cannot be kept: {error}"));
        }
        if self.state.has_begun() {
            say(&format!("the lines before line {} are done", self.state.line));
            self.tell(&shown);
        } else {
            say("the service may have stored users before it could say so");
        }
        if self.source.path.is_none() {
            return failure.next("it can be read once: import a file, which can be resumed");
        }
        let further = if failure.status == exit::CONFLICT { "--restart" } else { "--resume" };
        self.next(failure, further)
    }

    fn next(&self, failure: Failure, further: &str) -> Failure {
        let command = self.flags.command(&self.flags.file, further);
        let first = failure.next.as_ref().filter(|_| failure.status == exit::NOT_AUTHENTICATED);
        let first = first.map(|first| format!("{first}; then "));
        failure.next(format!("{}{command}", first.unwrap_or_default()))
    }

    /// The failure of a file that was changed.
    pub(super) fn changed(&self, why: &str) -> Failure {
        let name = &self.source.name;
        Failure::new(exit::CONFLICT, format!("{name} cannot be read further: {why}"))
    }

    /// Says the totals and the first faults.
    fn tell(&self, shown: &[String]) {
        let (tally, is_dry_run) = (self.state.tally, self.flags.service.dry_run);
        let would = if is_dry_run { "dry run: nothing was stored; it would be: " } else { "" };
        say(&format!(
            "{}: {would}{} created, {} replaced, {} skipped, {} failed",
            self.source.name, tally.created, tally.replaced, tally.skipped, tally.failed
        ));
        for words in shown {
            say(&format!("  {words}"));
        }
        let count = u64::try_from(shown.len()).unwrap_or_default();
        if count > 0 {
            let more = match tally.failed.saturating_sub(count) {
                0 => String::new(),
                more => format!("and {more} more; "),
            };
            say(&format!("  {more}all are in {}", faults::shown(&self.faults)));
        }
    }
}

/// Says which members the columns have.
pub(super) fn tell_columns(columns: &[(String, Option<String>)], progress: &Progress) {
    for (column, member) in columns {
        let member = member.as_deref().unwrap_or("(ignored)");
        progress.say(&format!("column {column}: {member}"));
    }
}

impl ImportFlags {
    /// What the body of a refused request says, for the process that has sent it to itself.
    #[must_use]
    pub fn refusal(&self, body: &[u8]) -> String {
        match serde_json::from_slice(body) {
            Ok(problem) => columns(Error::Problem(problem), self).text,
            Err(_) => String::from_utf8_lossy(body).trim_end().to_owned(),
        }
    }
}

/// The failure of columns that have no member, in the words of the command line, with the command
/// that ignores those without one.
pub(super) fn columns(error: Error, flags: &ImportFlags) -> Failure {
    let mut ignored = String::new();
    if let Error::Problem(problem) = &error {
        let is_unknown = |fault: &&Fault| fault.code == "unknown-column";
        for column in problem.errors.iter().filter(is_unknown).filter_map(|one| one.column.as_ref())
        {
            // Otherwise the fault is in what the flag says.
            if !flags.map.iter().any(|map| map == column || map.starts_with(&format!("{column}:")))
            {
                ignored.extend([" --map ", &quoted(&format!("{column}:"))]);
            }
        }
    }
    let mut failure = Failure::from(error);
    failure.text = failure.text.replace("map=", "--map ");
    if ignored.is_empty() {
        return failure.next("--map COLUMN:MEMBER for each, or --map COLUMN: to ignore it");
    }
    let command = flags.command(&flags.file, ignored.trim_start());
    failure.next(format!("{command}; or with a member after each colon"))
}
