//! What an import says at its end.

use roster_client::{Error, Fault};

use super::Import;
use super::faults::{self, Written};
use super::flags::{ImportFlags, OnConflict};
use crate::failure::{Failure, Outcome, exit};
use crate::progress::Progress;
use crate::text::{quoted, say};

impl Import<'_> {
    /// The end of a complete import.
    pub(super) fn complete(&mut self) -> Outcome {
        self.progress.clear();
        let path = self.faults.clone();
        let written = faults::write(&path, &self.source, &mut self.spool).map_err(|error| {
            let is_dry_run = self.flags.service.dry_run;
            let further = if is_dry_run { "--faults FILE" } else { "--resume --faults FILE" };
            self.next(faults::unwritable(&path, &error), further)
        })?;
        self.store.remove()?;
        self.tell(&written.shown);
        if self.state.tally.failed == 0 {
            return Ok(0);
        }
        if self.source.header.is_none() || self.flags.service.dry_run {
            return Ok(exit::SOME_FAILED);
        }
        let name = faults::shown(&path);
        let next = if written.lacking == 0 {
            format!("correct {name} and import it: {}", self.flags.command_of(&name))
        } else {
            self.correct_original(&name, &written)
        };
        Err(Failure::new(exit::SOME_FAILED, "").next(next))
    }

    /// What to do about rows without cells in the file of the faults, which has this name.
    fn correct_original(&self, name: &str, written: &Written) -> String {
        let line = written.first;
        let lacking = match written.lacking - 1 {
            0 => format!("the cells of line {line}"),
            more => format!("the cells of line {line} and {more} more"),
        };
        let command = self.flags.command_again();
        let original = &self.source.name;
        format!(
            "correct the lines in {original}, as {name} lacks {lacking}, and import it again: \
             {command}"
        )
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
                Ok(written) => shown = written.shown,
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
        if tally.other_ids > 0 {
            say(&self.note_of_ids(tally.other_ids));
        }
    }

    /// Says that users have other ids than their lines, and how they get those.
    fn note_of_ids(&self, count: u64) -> String {
        let service = &self.flags.service;
        let note = format!("note: ids that are not kept: {count}; ");
        if self.flags.keep_ids {
            return note + "a user that exists keeps its own";
        }
        let note = note + "--keep-ids keeps those of new users";
        let names = self.source.header.as_ref().map_or(&[][..], |header| &header.columns);
        let column = names.iter().find(|name| name.eq_ignore_ascii_case("id"));
        // An export has a column of external ids too.
        let column = column.filter(|_| !names.iter().any(|name| name == "external_id"));
        let Some(column) = column else { return note };
        let changes = matches!(service.on_conflict, Some(OnConflict::Merge | OnConflict::Replace));
        // The users exist by now.
        let merge = if service.dry_run || changes { "" } else { " --on-conflict merge" };
        let map = quoted(&format!("{column}:external_id"));
        format!("{note}, --map {map}{merge} stores them")
    }
}

/// Says which members the columns have, and which of them the service sets itself.
pub(super) fn tell_columns(
    columns: &[(String, Option<String>)],
    keeps_ids: bool,
    progress: &Progress,
) {
    for (column, member) in columns {
        let what = match member.as_deref() {
            None => "(ignored)".to_owned(),
            Some("id") if !keeps_ids => "id (ignored without --keep-ids)".to_owned(),
            Some(made @ ("version" | "created_at" | "updated_at")) => format!("{made} (ignored)"),
            Some(member) => member.to_owned(),
        };
        progress.say(&format!("column {column}: {what}"));
    }
}

impl ImportFlags {
    /// What the body of a refused request says, for the process that has sent it to itself.
    #[must_use]
    pub fn refusal(&self, body: &[u8]) -> String {
        match serde_json::from_slice(body) {
            Ok(problem) => columns(Error::Problem(problem), self, &[]).text,
            Err(_) => String::from_utf8_lossy(body).trim_end().to_owned(),
        }
    }
}

/// The failure of columns that have no member, or that of another column, in the words of the
/// command line, with the command that ignores them. `names` are those of all columns.
pub(super) fn columns(error: Error, flags: &ImportFlags, names: &[String]) -> Failure {
    let faults = error.problem().map_or(&[][..], |problem| &problem.errors);
    // Otherwise the fault is in what the flag says.
    let is_given = |column: &str| {
        flags.map.iter().any(|map| map == column || map.starts_with(&format!("{column}:")))
    };
    let is_repeated = |column: &str| names.iter().filter(|name| *name == column).count() > 1;
    let (mut ignored, mut repeated, mut is_of_flags) = (Vec::new(), None, false);
    for Fault { code, column, .. } in faults {
        let Some(column) = column else { continue };
        let is_kept = flags.keep_ids && column.eq_ignore_ascii_case("id");
        let member = if is_kept { "id" } else { "" };
        let map = format!(" --map {}", quoted(&format!("{column}:{member}")));
        match &**code {
            "unknown-column" | "duplicate-column" if is_given(column) => is_of_flags = true,
            // To ignore it would be to ignore all columns with the name.
            "duplicate-column" if is_repeated(column) => repeated = Some(column.clone()),
            "unknown-column" | "duplicate-column" if !ignored.contains(&map) => ignored.push(map),
            _ => {}
        }
    }
    let mut failure = Failure::from(error);
    failure.text = failure.text.replace("map=", "--map ");
    if let Some(column) = repeated {
        return failure.next(format!("several columns have the name {column}: rename one of them"));
    }
    if ignored.is_empty() || is_of_flags {
        return failure.next("--map COLUMN:MEMBER for each, or --map COLUMN: to ignore it");
    }
    let ignored = ignored.concat();
    let command = flags.command(&flags.file, ignored.trim_start());
    failure.next(format!("{command}; or with a member after each colon"))
}
