//! Changes of all users that match a condition.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use futures_util::{StreamExt as _, stream};
use roster_client::{Body, Call, Client, Error, Method, Problem, Response, header};
use serde::Deserialize;

use crate::ask::confirm;
use crate::assign::Assignments;
use crate::connection::Remote;
use crate::failure::{Failure, Outcome, exit};
use crate::find::{Selection, USERS};
use crate::interrupt::Interrupts;
use crate::lines::Lines;
use crate::output::{Output, Record};
use crate::progress::Progress;
use crate::records::{Collection, label, text};
use crate::text::say;

/// How many users, and how many failures, are named.
const NAMED: usize = 5;

/// Before the command that undoes a run of which it is not known what it changed.
const UNDO_ANY: &str = "undo what was changed, if anything was";

/// What a dry run returns.
#[derive(Deserialize)]
struct Preview {
    /// How many users match.
    count: u64,
    /// The first of them, as they would be.
    items: Vec<Record>,
    /// Those of the first that would fail.
    failed: Vec<Failed>,
}

#[derive(Deserialize)]
struct Failed {
    id: String,
    problem: Box<Problem>,
}

/// One line of the response.
#[derive(Deserialize)]
struct Answer {
    id: Option<String>,
    problem: Option<Box<Problem>>,
    #[serde(default)]
    processed: u64,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    unchanged: u64,
}

/// What the results say.
#[derive(Default)]
struct Totals {
    done: u64,
    unchanged: u64,
    failed: u64,
    /// The first failures in words.
    words: Vec<String>,
    is_complete: bool,
}

/// The change of all users that match.
struct Change<'a> {
    client: &'a Client,
    output: &'a Output,
    remote: &'a Remote,
    selection: &'a Selection,
    /// None deletes.
    given: Option<&'a Assignments>,
}

/// Changes all users that match, after a dry run and a question. Without a change, deletes them.
pub(crate) async fn change(
    collection: &Collection<'_>,
    selection: &Selection,
    change: Option<&Assignments>,
    yes: bool,
    dry_run: bool,
) -> Outcome {
    let Collection { client, output, remote, .. } = *collection;
    let change = Change { client, output, remote, selection, given: change };
    let answer = client.send(&change.call("dry_run", "true")?).await;
    let preview: Preview = answer.map_err(|error| change.failure(error))?.json()?;
    if preview.count == 0 {
        say("no users match");
        return Ok(0);
    }
    let is_renamed = change.given.is_some_and(|given| given.members.contains_key("username"));
    let name = |user| if is_renamed { text(user, "id") } else { label(user) };
    let names: HashMap<_, _> =
        preview.items.iter().map(|user| (text(user, "id"), name(user))).collect();
    for failed in preview.failed.iter().take(NAMED) {
        say(&format!("would fail: {}", words(&failed.id, &names, &failed.problem)));
    }
    if dry_run {
        return change.show(preview).await;
    }
    if !yes {
        for user in preview.items.iter().take(NAMED) {
            say(&format!("  {}", name(user)));
        }
        if preview.count > u64::try_from(NAMED).unwrap_or_default() {
            say("  ...");
        }
    }
    let status = change.given.and_then(|given| given.only("status"));
    let verb = match status.as_deref() {
        Some("suspended") => "Suspend",
        Some("active") => "Activate",
        _ => change.verb("Change", "Delete"),
    };
    confirm(&format!("{verb} {}?", users(preview.count)), yes)?;
    change.run(&names, preview.count).await
}

impl Change<'_> {
    fn verb(&self, change: &'static str, delete: &'static str) -> &'static str {
        if self.given.is_some() { change } else { delete }
    }

    fn call(&self, name: &str, value: &str) -> Result<Call, Failure> {
        let method = if self.given.is_some() { Method::PATCH } else { Method::DELETE };
        let call = Call::new(method, "bulk/users")
            .query("filter", self.selection.filter.as_deref().unwrap_or_default())
            .query(name, value);
        Ok(match self.given {
            Some(given) => call.json(&given.members)?,
            None => call,
        })
    }

    /// A failure, with the members as the caller wrote them.
    fn failure(&self, error: Error) -> Failure {
        Failure::of_input(error, |fault| self.given?.word_of(fault))
    }

    /// Shows what would change.
    async fn show(&self, preview: Preview) -> Outcome {
        let (shown, failed) = (preview.items.len(), preview.failed.len());
        let given = self.given.map(|given| &given.members);
        let changed = given.into_iter().flat_map(|members| members.keys().map(String::as_str));
        let mut columns = USERS.columns.to_vec();
        for member in changed {
            if !columns.contains(&member) {
                columns.push(member);
            }
        }
        let would_be = stream::iter(preview.items.into_iter().map(Ok));
        self.output.list(would_be, &columns, None).await?;
        let verb = self.verb("change", "delete");
        let first = match u64::try_from(shown + failed) {
            Ok(checked) if checked < preview.count => {
                format!("; the first {checked} were checked, {failed} would fail")
            }
            _ => format!("; {failed} would fail"),
        };
        say(&format!("dry run: would {verb} {}{first}", users(preview.count)));
        Ok(if failed > 0 { exit::SOME_FAILED } else { 0 })
    }

    /// Changes the users, and says how to undo it.
    async fn run(&self, names: &HashMap<String, String>, count: u64) -> Outcome {
        // Who may not read events has no way to undo the change.
        let latest = Call::new(Method::GET, "events").query("after", "latest").query("limit", "1");
        let before = self.client.send(&latest).await.ok();
        let before = before.and_then(|answer| answer.position().map(ToOwned::to_owned));
        let call = self.call("confirm", &count.to_string())?;
        let call = call.header(header::ACCEPT, "application/x-ndjson");
        let body = match self.given {
            Some(given) => Body::from(serde_json::to_vec(&given.members)?),
            None => Body::from(Vec::new()),
        };
        let mut interrupts = Interrupts::listen()?;
        // Known also if no response comes.
        let random = || RandomState::new().hash_one(());
        let request = format!("{:016x}{:016x}", random(), random());
        let call = call.header(header::HeaderName::from_static("x-request-id"), &request);
        let suggest_undo = |what: &str| {
            if let Some(position) = &before {
                let undo = format!("{what}: roster undo --after {position} --request {request}");
                self.remote.suggest(&undo);
            }
        };
        let answer = tokio::select! {
            answer = self.client.stream(&call, body) => answer,
            () = interrupts.next() => {
                say("the service may have changed some users already");
                suggest_undo(UNDO_ANY);
                return Err(Failure::new(exit::INTERRUPTED, ""));
            }
        };
        let response = answer.map_err(|error| {
            if matches!(error, Error::Broken { .. }) {
                suggest_undo(UNDO_ANY);
            }
            let is_other_count = error.problem().is_some_and(|one| one.code == "count-mismatch");
            let failure = self.failure(error);
            if is_other_count {
                return failure.next("other users match by now: look again with --dry-run");
            }
            failure
        })?;
        let mut totals = Totals::default();
        let mut progress = Progress::begin(self.verb("change", "delete"), count, 0);
        let read = self.read(response, names, (&mut totals, &mut progress), &mut interrupts).await;
        progress.clear();
        self.tell(&totals)?;
        // Users without a result may be changed too.
        if read.is_err() {
            suggest_undo(UNDO_ANY);
        } else if totals.done > totals.unchanged {
            suggest_undo("undo");
        }
        match read {
            Ok(()) if totals.failed > 0 => Ok(exit::SOME_FAILED),
            Ok(()) => Ok(0),
            Err(failure) => {
                let text = format!("{} of {count} users had a result", totals.done + totals.failed);
                say(&text);
                Err(failure.next("the same command with --dry-run shows how many are left"))
            }
        }
    }

    async fn read(
        &self,
        response: Response,
        names: &HashMap<String, String>,
        (totals, progress): (&mut Totals, &mut Progress),
        interrupts: &mut Interrupts,
    ) -> Result<(), Failure> {
        let mut pieces = self.client.pieces(response);
        let mut lines = Lines::default();
        let url = || self.client.url().to_owned();
        loop {
            let piece = tokio::select! {
                piece = pieces.next() => piece,
                () = interrupts.next() => return Err(Failure::new(exit::INTERRUPTED, "")),
            };
            let Some(piece) = piece else { break };
            lines.feed(&piece?);
            while let Some(line) = lines.next() {
                let answer = serde_json::from_slice(&line)
                    .map_err(|error| Error::Strange { url: url(), why: error.to_string() })?;
                totals.take(answer, names)?;
            }
            if lines.is_too_long() {
                let why = "a result is too long".to_owned();
                return Err(Error::Strange { url: url(), why }.into());
            }
            progress.reach(totals.done + totals.failed, &format!("{} failed", totals.failed));
        }
        if totals.is_complete {
            return Ok(());
        }
        let why = "the response ended before its last line".to_owned();
        Err(Error::Broken { url: url(), why }.into())
    }

    fn tell(&self, totals: &Totals) -> Result<(), Failure> {
        for words in &totals.words {
            say(&format!("failed: {words}"));
        }
        let shown = u64::try_from(totals.words.len()).unwrap_or_default();
        if totals.failed > shown {
            say(&format!("failed: {} more", totals.failed - shown));
        }
        let Totals { done, unchanged, failed, is_complete, .. } = totals;
        let changed = if *is_complete {
            self.verb("changed", "deleted")
        } else {
            // Only the last line counts those that had these values before.
            self.verb("changed, or had these values before:", "deleted")
        };
        let done = users(done - unchanged);
        let unchanged = match unchanged {
            0 => String::new(),
            count => format!(", {count} had these values before"),
        };
        let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
        Ok(self.output.tell(&format!("{changed} {done}{unchanged}{failed}"))?)
    }
}

impl Totals {
    fn take(&mut self, answer: Answer, names: &HashMap<String, String>) -> Result<(), Failure> {
        if answer.done {
            (self.is_complete, self.unchanged) = (true, answer.unchanged);
            return Ok(());
        }
        let Some(problem) = answer.problem else {
            self.done += 1;
            return Ok(());
        };
        // The last result of a change that was stopped belongs to a user who was not tried.
        if answer.processed <= self.done + self.failed {
            return Err(Error::Problem(problem).into());
        }
        self.failed += 1;
        if self.words.len() < NAMED {
            self.words.push(words(&answer.id.unwrap_or_default(), names, &problem));
        }
        Ok(())
    }
}

/// A failure in words.
fn words(id: &str, names: &HashMap<String, String>, problem: &Problem) -> String {
    let name = names.get(id).filter(|name| *name != id);
    let name = name.map(|name| format!("{name} ({id})"));
    let details: Vec<&str> = problem.errors.iter().map(|fault| &*fault.detail).collect();
    let details = if details.is_empty() { problem.detail.clone() } else { details.join("; ") };
    format!("{}: {details}", name.unwrap_or_else(|| id.to_owned()))
}

fn users(count: u64) -> String {
    if count == 1 { "1 user".to_owned() } else { format!("{count} users") }
}
