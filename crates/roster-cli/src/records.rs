//! What the commands of all resources share: list, get, create, set and delete.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use futures_util::TryStreamExt as _;
use roster_client::{Client, Resource, Write};
use serde_json::Value;

use crate::ask::confirm;
use crate::assign::{Assignments, Types, record_of};
use crate::connection::Remote;
use crate::failure::{Failure, Outcome, exit};
use crate::output::{Output, Record, plain};
use crate::table::Table;
use crate::text::{print, quoted, say};

/// The records of a page.
const PAGE: u64 = 500;

/// Members that the service sets.
const SET_BY_SERVER: [&str; 10] = [
    "version",
    "updated_at",
    "users",
    "deleted_users",
    "groups",
    "position",
    "lag",
    "failing_since",
    "attempts",
    "next_attempt_at",
];

/// Members that say what a record is, in this order, for people.
const NAMES: [&str; 4] = ["username", "display_name", "name", "id"];

/// A resource of the service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) path: &'static str,
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
    pub(crate) columns: &'static [&'static str],
    /// The member in paths.
    pub(crate) key: &'static str,
    /// A member by which people name a record.
    pub(crate) name: &'static str,
    pub(crate) types: Types,
}

/// Which records of a list.
#[derive(Debug, Args)]
pub struct ListFlags {
    /// Stop after this many [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}

/// A record by its name.
#[derive(Debug, Args)]
pub struct NameFlags {
    /// Id or name
    pub(crate) name: String,
}

/// A change of records without further values.
#[derive(Debug, Args)]
pub struct NamesFlags {
    /// Ids or names
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) guard: Guard,
}

/// A new record.
#[derive(Debug, Args)]
pub struct CreateFlags {
    /// Its members: MEMBER=TEXT, or MEMBER:=JSON for other values
    #[arg(value_name = "MEMBER=VALUE", required_unless_present = "file")]
    pub(crate) members: Vec<String>,

    /// Read a JSON object with members from this file; - is stdin
    #[arg(short, long)]
    pub(crate) file: Option<PathBuf>,

    /// Show what would be created, and create nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A change of a record.
#[derive(Debug, Args)]
pub struct SetFlags {
    /// Id or name, then the members: MEMBER=TEXT, MEMBER= to clear one, MEMBER:=JSON for other
    /// values
    #[arg(value_name = "NAME | MEMBER=VALUE", required = true)]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) guard: Guard,
}

/// A deletion.
#[derive(Debug, Clone, Args)]
pub struct DeleteFlags {
    /// Ids or names
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) guard: Guard,
}

impl CreateFlags {
    /// With a first word that is no assignment as the name of the record: `create acme` is
    /// `create name=acme`.
    pub(crate) fn named(mut self, member: &str) -> Self {
        if let Some(first) = self.members.first_mut().filter(|first| !first.contains('=')) {
            *first = format!("{member}={first}");
        }
        self
    }
}

/// What protects a change.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Guard {
    /// Change nothing unless the record has this version [default: the version that is read first]
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<u64>,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Guard {
    pub(crate) fn write(&self, read: &Record) -> Write {
        let version = self.if_version.or_else(|| read.get("version").and_then(Value::as_u64));
        Write { version, is_dry_run: self.dry_run, ..Write::default() }
    }

    /// Says that nothing was stored, if it is so.
    pub(crate) fn print_dry_run(&self) {
        if self.dry_run {
            say("dry run: nothing was changed");
        }
    }
}

/// A resource with its service and the form of its output.
pub(crate) struct Collection<'a> {
    pub(crate) kind: Kind,
    pub(crate) client: &'a Client,
    pub(crate) output: &'a Output,
    pub(crate) remote: &'a Remote,
}

impl Collection<'_> {
    pub(crate) fn resource(&self) -> Resource<Record> {
        self.client.resource(self.kind.path)
    }

    /// Writes a list, all of its pages.
    pub(crate) async fn list(&self, query: &[(&str, &str)], limit: Option<u64>) -> Outcome {
        let page = limit.unwrap_or(PAGE).min(PAGE).to_string();
        let mut all = query.to_vec();
        // These lists are short and have no pages.
        if self.kind.path != "webhooks" {
            all.push(("limit", &page));
        }
        let records = self.resource().list(&all);
        let (count, more) = self.output.list(records, self.kind.columns, limit).await?;
        match (count, more) {
            (0, _) => say(&format!("no {}", self.kind.many)),
            (_, true) => {
                say(&format!("there are more {}: --limit stopped the list", self.kind.many));
            }
            _ => {}
        }
        Ok(0)
    }

    /// Finds a record by its id or name.
    pub(crate) async fn find(&self, name: &str) -> Result<Record, Failure> {
        match self.resource().get(name).await {
            Ok(record) => return Ok(record),
            // What can be no id may be a name.
            Err(roster_client::Error::Request(_)) => {}
            Err(error) if matches!(error.status(), Some(404 | 400 | 422)) => {}
            Err(error) => return Err(error.into()),
        }
        if self.kind.key == self.kind.name {
            return Err(self.not_found(name));
        }
        // The service finds the group, without regard to case.
        if self.kind.path == "groups" {
            let query = [(self.kind.name, name)];
            return self.only(name, self.resource().list(&query).try_collect().await?);
        }
        let all: Vec<Record> = self.resource().list(&[]).try_collect().await?;
        let is_named = |record: &&Record| record.get(self.kind.name).is_some_and(|of| of == name);
        self.only(name, all.iter().filter(is_named).cloned().collect())
    }

    /// The records with these names, each once.
    pub(crate) async fn find_all(&self, names: &[String]) -> Result<Vec<Record>, Failure> {
        let mut found = Vec::new();
        for name in names {
            found.push(self.find(name).await?);
        }
        Ok(distinct(found, self.kind.key))
    }

    /// The only one of the records that a name has found.
    pub(crate) fn only(&self, name: &str, mut found: Vec<Record>) -> Result<Record, Failure> {
        match (found.len(), found.pop()) {
            (1, Some(record)) => Ok(record),
            (0, _) | (_, None) => Err(self.not_found(name)),
            (count, Some(last)) => {
                found.push(last);
                let ids: Vec<String> =
                    found.iter().map(|record| text(record, self.kind.key)).collect();
                let text =
                    format!("{count} {} are called {name}: {}", self.kind.many, ids.join(", "));
                Err(Failure::new(exit::USAGE, text).next("name one by its id"))
            }
        }
    }

    fn not_found(&self, name: &str) -> Failure {
        let text = format!("no {} is called {name}", self.kind.one);
        // Of an address the first part: the rest may be wrong.
        let word = quoted(name.split('@').next().unwrap_or_default());
        let flags = self.remote.words();
        let next = match self.kind.path {
            "tenants" => format!(
                "roster tenants list{flags}; roster tenants deleted{flags} lists those to restore"
            ),
            "deleted-tenants" => format!("roster tenants deleted{flags}"),
            "users" => {
                format!("roster users list {word}{flags}; roster deleted-users list{flags}")
            }
            path => format!("roster {path} list{flags}"),
        };
        Failure::new(exit::NOT_FOUND, text).next(next)
    }

    pub(crate) async fn get(&self, name: &str) -> Outcome {
        let record = self.find(name).await?;
        self.output.record(&record)?;
        Ok(0)
    }

    /// Creates a record, shows it, and says its id.
    pub(crate) async fn create(
        &self,
        flags: &CreateFlags,
        write: Write,
    ) -> Result<Record, Failure> {
        let record = self.created(flags, write).await?;
        self.output.record(&record)?;
        if flags.dry_run {
            say("dry run: nothing was created");
        } else {
            say(&format!("created {} {}", self.kind.one, text(&record, self.kind.key)));
        }
        Ok(record)
    }

    /// Creates a record.
    pub(crate) async fn created(
        &self,
        flags: &CreateFlags,
        write: Write,
    ) -> Result<Record, Failure> {
        let (given, others) = Assignments::divide(&flags.members, self.kind.types)?;
        if let Some(word) = others.first() {
            let create = format!("roster {} create", self.kind.path);
            let next = if word.starts_with('{') {
                format!("{create} -f FILE reads JSON from a file, and -f - from stdin")
            } else {
                let name = if word.contains('@') { "email" } else { self.kind.name };
                format!("{create} {name}={word}")
            };
            return Err(Failure::usage(format!("{word} is no MEMBER=VALUE")).next(next));
        }
        let draft = record_of(flags.file.as_deref(), &given)?;
        let write = Write { is_dry_run: flags.dry_run, ..write };
        let created = self.resource().create_with(&draft, &write).await;
        let record = created.map_err(|error| Failure::of_input(error, |one| given.word_of(one)))?;
        if !flags.dry_run && text(&record, self.kind.key).is_empty() {
            return Err(self.client.strange("the response is no record").into());
        }
        let is_other = |member| draft.get(member).is_some_and(|it| Some(it) != record.get(member));
        for member in ["id", "version"].into_iter().filter(|member| is_other(*member)) {
            if !flags.dry_run {
                say(&format!("note: the {member} was ignored, because the service assigns it"));
            }
        }
        Ok(record)
    }

    /// Changes members of the records that the words name.
    pub(crate) async fn set_words(&self, flags: &SetFlags) -> Outcome {
        let (given, names) = Assignments::divide(&flags.words, self.kind.types)?;
        if given.is_empty() {
            return Err(Failure::usage("no member is given")
                .next("MEMBER=TEXT sets a member, MEMBER= clears one"));
        }
        if names.is_empty() {
            return Err(Failure::usage(format!("no {} is named", self.kind.one))
                .next(format!("roster {} set NAME MEMBER=VALUE", self.kind.path)));
        }
        let mut found = Vec::new();
        for name in &names {
            found.push(self.find(name).await?);
        }
        self.set_all(&found, &given, &flags.guard).await
    }

    /// Changes members of records, one after the other, and shows what changed.
    pub(crate) async fn set_all(
        &self,
        found: &[Record],
        given: &Assignments,
        guard: &Guard,
    ) -> Outcome {
        for (at, read) in found.iter().enumerate() {
            let set = self.set(read, given, guard).await;
            set.map_err(|failure| of_several(failure, at, found))?;
        }
        guard.print_dry_run();
        Ok(0)
    }

    /// Changes members of a record, and shows what changed.
    pub(crate) async fn set(
        &self,
        read: &Record,
        given: &Assignments,
        guard: &Guard,
    ) -> Result<Record, Failure> {
        let id = text(read, self.kind.key);
        let changed = self.resource().patch(&id, &given.members, &guard.write(read)).await;
        let record = changed.map_err(|error| Failure::of_input(error, |one| given.word_of(one)))?;
        self.print_change(read, &record)?;
        Ok(record)
    }

    /// Shows a change: each member with its old and its new value; or the record for programs.
    pub(crate) fn print_change(&self, before: &Record, after: &Record) -> Result<(), Failure> {
        if !self.output.is_table() {
            return self.output.record(after);
        }
        let rows = differences(before, after);
        let versions = (text(before, "version"), text(after, "version"));
        if rows.is_empty() {
            print(&format!("{}: nothing to change, version {}", label(before), versions.0))?;
            return Ok(());
        }
        print(&format!("{}: version {} -> {}", label(after), versions.0, versions.1))?;
        let header = ["member", "before", "after"].map(str::to_owned);
        Table::of(&header, &rows).write(&mut std::io::stdout().lock())?;
        Ok(())
    }

    /// Deletes records, after a question if there are several or one cannot be restored.
    pub(crate) async fn delete(&self, flags: &DeleteFlags) -> Outcome {
        let found = self.find_all(&flags.names).await?;
        let is_final = matches!(self.kind.path, "groups" | "webhooks");
        if (found.len() > 1 || is_final) && !flags.guard.dry_run {
            let what = match found.as_slice() {
                [only] => format!("the {} {}", self.kind.one, label(only)),
                several => format!("{} {}", several.len(), self.kind.many),
            };
            let end = if is_final { " Nothing brings them back." } else { "" };
            confirm(&format!("Delete {what}?{end}"), flags.yes)?;
        }
        for (at, record) in found.iter().enumerate() {
            let id = text(record, self.kind.key);
            let deleted = self.resource().delete(&id, &flags.guard.write(record)).await;
            deleted.map_err(|error| of_several(error.into(), at, &found))?;
            let done = if flags.guard.dry_run { "would delete" } else { "deleted" };
            self.output.tell(&format!("{done} {} {id} ({})", self.kind.one, label(record)))?;
        }
        flags.guard.print_dry_run();
        Ok(0)
    }
}

/// Each record once, by a member that names it.
pub(crate) fn distinct(mut records: Vec<Record>, key: &str) -> Vec<Record> {
    let mut known = HashSet::new();
    records.retain(|record| known.insert(text(record, key)));
    records
}

/// The failure of one of several records: `done` records were changed before it, and those after it
/// were not tried.
pub(crate) fn of_several(mut failure: Failure, done: usize, records: &[Record]) -> Failure {
    let left: Vec<String> = records.iter().skip(done + 1).map(name_of).collect();
    if !left.is_empty() {
        // A closed stdout is silent otherwise.
        let why = if failure.text.is_empty() { "stdout is closed" } else { &failure.text };
        failure.text = format!("{why}\nnot tried: {}", left.join(", "));
    }
    if done > 0 && !failure.text.is_empty() {
        failure.status = exit::SOME_FAILED;
    }
    failure
}

/// What a command calls a record. The `display_name` of a tenant finds no tenant.
fn name_of(record: &Record) -> String {
    let name = if record.contains_key("username") { "username" } else { "name" };
    Some(text(record, name)).filter(|name| !name.is_empty()).unwrap_or_else(|| label(record))
}

/// A member as text.
pub(crate) fn text(record: &Record, member: &str) -> String {
    record.get(member).map(plain).unwrap_or_default()
}

/// What people call a record.
pub(crate) fn label(record: &Record) -> String {
    NAMES.iter().map(|name| text(record, name)).find(|name| !name.is_empty()).unwrap_or_default()
}

/// The members in which two versions of a record differ: name, old and new value.
fn differences(before: &Record, after: &Record) -> Vec<Vec<String>> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let shown = |value: Option<&Value>| value.map_or_else(|| "(none)".to_owned(), plain);
    names
        .filter(|name| !SET_BY_SERVER.contains(&name.as_str()))
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| vec![name.clone(), shown(before.get(name)), shown(after.get(name))])
        .collect()
}
