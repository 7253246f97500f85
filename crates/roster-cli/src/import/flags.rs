//! The flags of `roster import`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::connection::Remote;
use crate::text::quoted;

/// The flags of `roster import` that do not name a new data directory.
#[derive(Debug, Args)]
pub struct ImportFlags {
    /// The file to read; - is stdin
    pub file: PathBuf,

    /// Give each user the id of its line
    #[arg(long)]
    pub keep_ids: bool,

    /// Read rows of CSV, as from a file whose name ends in .csv
    #[arg(long)]
    pub csv: bool,

    /// The member that a column of CSV has; COLUMN: ignores it. May be repeated. A service also
    /// guesses members by usual names of columns, such as Login, E-Mail, First name, Surname,
    /// Phone, Dept or Enabled; with --data, `--map guess` asks for that
    #[arg(long, value_name = "COLUMN:MEMBER")]
    pub map: Vec<String>,

    #[command(flatten)]
    pub(super) service: ServiceFlags,

    #[command(flatten)]
    pub(super) remote: Remote,
}

/// The flags that only a running service has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Import into a service")]
pub(super) struct ServiceFlags {
    /// What happens to a line whose username or address another user has [default: fail]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) on_conflict: Option<OnConflict>,

    /// The member by which a user that exists is found, such as external_id [default: username and
    /// address]
    #[arg(long = "match", value_name = "MEMBER")]
    pub(super) match_by: Option<String>,

    /// Check every line, and store nothing
    #[arg(long, conflicts_with_all = ["resume"])]
    pub(super) dry_run: bool,

    /// Write the lines that fail to this CSV file, with the reasons [default: the name of the file
    /// with .faults.csv, in the current directory]
    #[arg(long, value_name = "FILE")]
    pub(super) faults: Option<PathBuf>,

    /// Go on with an import that was interrupted, after the last line that was done
    #[arg(long, conflicts_with = "restart")]
    pub(super) resume: bool,

    /// Begin again at the first line, and overwrite the faults file. Users whom the interrupted
    /// import created count as created
    #[arg(long)]
    pub(super) restart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnConflict {
    /// The line fails
    Fail,
    /// The line is skipped
    Skip,
    /// The user is replaced; members that the line lacks are cleared
    Replace,
    /// The members that the line has are changed
    Merge,
}

impl OnConflict {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }
}

impl ImportFlags {
    /// Whether the file is CSV.
    #[must_use]
    pub fn is_csv(&self) -> bool {
        self.csv || !self.map.is_empty() || is_named_csv(&self.file)
    }

    pub(super) fn is_stdin(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// Whether lines that are sent again need a key: with other conflicts they change nothing.
    pub(super) fn is_keyed(&self) -> bool {
        let keyed =
            !matches!(self.service.on_conflict, Some(OnConflict::Replace | OnConflict::Merge));
        keyed && !self.service.dry_run
    }

    /// The parameters of the request.
    pub(super) fn query(&self) -> Vec<(&'static str, String)> {
        let mut query: Vec<_> = self.map.iter().map(|map| ("map", map.clone())).collect();
        if self.is_csv() && !self.map.iter().any(|map| map == "guess") {
            query.push(("map", "guess".to_owned()));
        }
        let service = &self.service;
        query.extend(service.on_conflict.map(|what| ("on_conflict", what.name().to_owned())));
        query.extend(service.match_by.iter().map(|member| ("match", member.clone())));
        for (name, is_given) in [("keep_ids", self.keep_ids), ("dry_run", service.dry_run)] {
            query.extend(is_given.then(|| (name, "true".to_owned())));
        }
        query
    }

    /// The flags that say what the file means, as they are written.
    pub(super) fn meaning(&self) -> String {
        self.meaning_with(self.service.on_conflict)
    }

    fn meaning_with(&self, on_conflict: Option<OnConflict>) -> String {
        let mut words = String::new();
        let mut add = |flag: &str, value: &str| {
            words.extend([" --", flag]);
            if !value.is_empty() {
                words.extend([" ", &quoted(value)]);
            }
        };
        if self.csv {
            add("csv", "");
        }
        for map in &self.map {
            add("map", map);
        }
        if let Some(what) = on_conflict {
            add("on-conflict", what.name());
        }
        if let Some(member) = &self.service.match_by {
            add("match", member);
        }
        if self.keep_ids {
            add("keep-ids", "");
        }
        words
    }

    /// The command for a file of CSV with the same columns, into the same service.
    pub(super) fn command_of(&self, file: &str) -> String {
        format!("roster import {}{}{}", quoted(file), self.meaning(), self.remote.words())
    }

    /// The command for what a program makes of this file, with these flags. Stdin has no name that
    /// says that it is CSV.
    pub(super) fn command_after(&self, program: &str) -> String {
        let is_said = self.csv || !self.map.is_empty();
        let is_named = is_named_csv(&self.file)
            || self.file.file_stem().is_some_and(|name| is_named_csv(Path::new(name)));
        let further = if is_named && !is_said { "--csv" } else { "" };
        let file = self.file.to_string_lossy();
        let file = if self.is_stdin() { "FILE".to_owned() } else { quoted(&file) };
        format!("{program} {file} | {}", self.command(Path::new("-"), further))
    }

    /// The command for this file or another one, with these flags and a further one.
    pub(super) fn command(&self, file: &Path, further: &str) -> String {
        self.command_with(file, &self.meaning(), further)
    }

    /// The command for this file once its faults are corrected. The users that it has created are
    /// no faults then, and its faults file is there.
    pub(super) fn command_again(&self) -> String {
        let on_conflict = match self.service.on_conflict {
            None | Some(OnConflict::Fail) => OnConflict::Skip,
            Some(other) => other,
        };
        self.command_with(&self.file, &self.meaning_with(Some(on_conflict)), "--restart")
    }

    fn command_with(&self, file: &Path, meaning: &str, further: &str) -> String {
        let faults = self.service.faults.as_ref().filter(|_| !further.contains("--faults"));
        let faults = faults.map(|path| format!(" --faults {}", quoted(&path.to_string_lossy())));
        format!(
            "roster import {}{}{}{}{}{}{further}",
            quoted(&file.to_string_lossy()),
            meaning,
            if self.service.dry_run { " --dry-run" } else { "" },
            faults.unwrap_or_default(),
            self.remote.words(),
            if further.is_empty() { "" } else { " " },
        )
    }
}

fn is_named_csv(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"))
}
