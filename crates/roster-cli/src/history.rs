//! `roster users history`, and `roster undo`.

use std::collections::{BTreeSet, HashMap};

use clap::Args;
use futures_util::TryStreamExt as _;
use roster_client::{Client, Event, Write};
use serde_json::{Map, Value};

use crate::ask::confirm;
use crate::connection::Remote;
use crate::deleted_users::with_groups;
use crate::events::{Names, changed};
use crate::failure::{Failure, Outcome, exit};
use crate::find::{USERS, find, find_deleted};
use crate::output::{Output, Record, Writing, plain};
use crate::records::{Collection, Guard, label, text};
use crate::text::say;

/// Events of a page.
const PAGE: &str = "200";

/// How many pages of 1,000 events of other requests may lie between two events of one.
const PAGES_WITHOUT_MAX: u32 = 1000;

/// What is said if retention has removed all events of a user.
const NO_CHANGE: &str = "the log has no change of this user any more";

/// The value before the oldest event that retention has left.
const NOT_IN_LOG: &str = "(not in the log)";

/// Values, and the flags that vouch for them.
const FLAGS: [(&str, &str); 2] =
    [("email", "email_verified"), ("phone_number", "phone_number_verified")];

/// The flags of `roster users history`.
#[derive(Debug, Args)]
pub struct HistoryFlags {
    /// Id, username or e-mail address, also of a deleted user
    user: String,

    /// Only changes of this member, such as department
    #[arg(long)]
    member: Option<String>,

    /// Stop after this many [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

/// The flags of `roster undo`.
#[derive(Debug, Args)]
pub struct UndoFlags {
    /// The user whose last change is undone, by id, username or address
    #[arg(required_unless_present = "request")]
    user: Option<String>,

    /// Change nothing if the last change has made another version
    #[arg(long, value_name = "VERSION", requires = "user")]
    if_version: Option<u64>,

    /// Undo all changes of this request, which the command that made them has named
    #[arg(long, value_name = "ID", requires = "after", conflicts_with = "user")]
    request: Option<String>,

    /// A position before these changes, which that command has named too
    #[arg(long, value_name = "POSITION", requires = "request")]
    after: Option<String>,

    /// Show what would be undone, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    remote: Remote,
}

/// Shows the changes of a user, the newest first, with old and new values.
pub(crate) async fn history(collection: &Collection<'_>, flags: &HistoryFlags) -> Outcome {
    let id = match find(collection, &flags.user).await {
        Ok(user) => text(&user, "id"),
        Err(failure) if failure.status == exit::NOT_FOUND => {
            match find_deleted(collection.client, &flags.user).await {
                Ok(deleted) => text(&deleted, "id"),
                // Of a purged user only the id is left.
                Err(_) if has_events(collection.client, &flags.user).await => flags.user.clone(),
                Err(_) => return Err(failure),
            }
        }
        Err(failure) => return Err(failure),
    };
    let names = Names::read(collection.client).await;
    let mut writing = Writing::begin(
        collection.output,
        collection.output.columns(&["time", "actor", "type", "member", "before", "after"]),
    )?;
    let mut events = std::pin::pin!(newest_first(collection.client, &id));
    let mut event: Option<Event> = events.try_next().await?;
    let (mut count, mut seen) = (0, Vec::new());
    'events: while let Some(now) = event {
        let before = events.try_next().await?;
        let old = before.as_ref().map(record_of);
        for mut row in changes(&now, old.as_ref()) {
            seen.push(text(&row, "member"));
            if flags.member.as_ref().is_some_and(|member| text(&row, "member") != *member) {
                continue;
            }
            row.insert("actor".to_owned(), names.of(&now.actor).into());
            writing.record(collection.output, &row)?;
            count += 1;
            if flags.limit.is_some_and(|limit| count >= limit) {
                break 'events;
            }
        }
        event = before;
    }
    writing.end()?;
    if count == 0 {
        say(&nothing_shown(flags.member.as_deref(), seen));
    }
    Ok(0)
}

/// Why a history is empty: the member that was asked for, and those that the events have changed.
fn nothing_shown(member: Option<&str>, mut seen: Vec<String>) -> String {
    let Some(member) = member.filter(|_| !seen.is_empty()) else { return NO_CHANGE.to_owned() };
    // An event may have changed no member.
    seen.retain(|member| !member.is_empty());
    seen.sort_unstable();
    seen.dedup();
    let changed = if seen.is_empty() { "no member".to_owned() } else { seen.join(", ") };
    format!("no change of {member:?}; changed were {changed}")
}

/// Whether the log has events of a user with this id.
async fn has_events(client: &Client, id: &str) -> bool {
    matches!(std::pin::pin!(newest_first(client, id)).try_next().await, Ok(Some(_)))
}

fn newest_first(
    client: &Client,
    id: &str,
) -> impl futures_util::Stream<Item = Result<Event, roster_client::Error>> + use<> {
    let query = [("sort", "-position"), ("limit", PAGE)];
    client.resource::<Event>(format!("users/{id}/events")).list(&query)
}

/// The user of an event, after its change.
fn record_of(event: &Event) -> Record {
    let user = event.data.get("user").and_then(Value::as_object);
    user.cloned().unwrap_or_default().into_iter().collect()
}

/// A row for each member that an event has changed; one without a member if it changed none.
/// Without an old record the log no longer has it.
fn changes(event: &Event, old: Option<&Record>) -> Vec<Record> {
    let new = record_of(event);
    let row = |member: &str| {
        let shown = |record: &Record| record.get(member).map(plain).unwrap_or_default();
        let is_created = event.r#type == "user.created";
        let before = if is_created || member.is_empty() {
            String::new()
        } else {
            old.map_or_else(|| NOT_IN_LOG.to_owned(), shown)
        };
        let cells = [
            ("time", event.time.clone()),
            ("actor", event.actor.clone()),
            ("type", event.r#type.clone()),
            ("member", member.to_owned()),
            ("before", before),
            ("after", shown(&new)),
            ("id", event.id.clone()),
            ("request", event.requestid.clone()),
        ];
        cells.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect::<Record>()
    };
    let members = changed(&event.data);
    if members.is_empty() { vec![row("")] } else { members.iter().map(|name| row(name)).collect() }
}

/// What undoes an event.
enum Reverse {
    /// The patch, and the record before the event.
    Patch(Map<String, Value>, Record),
    Restore,
    Delete,
}

pub(crate) async fn undo(flags: UndoFlags) -> Outcome {
    let client = flags.remote.client()?;
    let collection =
        Collection { kind: USERS, client: &client, output: &flags.output, remote: &flags.remote };
    let events = match (&flags.user, &flags.request, &flags.after) {
        (None, Some(request), Some(after)) => of_request(&client, request, after).await?,
        _ => vec![last_of(&collection, flags.user.as_deref().unwrap_or_default()).await?],
    };
    if let (Some(version), [event]) = (flags.if_version, &*events)
        && version_in(event) != Some(version)
    {
        let text = format!("{} was changed since version {version}", name_in(event));
        return Err(Failure::new(exit::CONFLICT, text).next("roster users history shows by whom"));
    }
    if events.is_empty() {
        let failure =
            Failure::new(exit::NOT_FOUND, "the log has no change of users by this request");
        return Err(failure.next("roster events shows the last changes"));
    }
    let deletes = events.iter().any(|event| event.r#type == "user.created");
    if (events.len() > 1 || deletes) && !flags.dry_run {
        let what = match &*events {
            [event] => format!("Delete {}, which undoes its creation?", name_in(event)),
            _ => format!("Undo {} changes?", events.len()),
        };
        confirm(&what, flags.yes)?;
    }
    let (mut undone, mut failed) = (HashMap::new(), 0);
    // A user may have taken the name that another one had before, so the last change goes first.
    for event in events.iter().rev() {
        let next = version_in(event).map(|version| version + 1);
        // Where somebody else changed the user in between, the versions have a gap.
        let later = undone.remove(&event.subject).filter(|(version, _)| *version == next);
        let later = later.map(|(_, record)| record);
        match undo_one(&collection, event, later, flags.dry_run).await {
            Ok(record) => {
                undone.insert(&event.subject, (version_in(event), record));
            }
            Err(failure) => {
                // Another failure concerns all of them.
                let is_of_one = matches!(failure.status, exit::CONFLICT | exit::NOT_FOUND);
                if events.len() == 1 || !is_of_one {
                    return Err(failure);
                }
                say(&format!("{}: {}", name_in(event), failure.text));
                failed += 1;
            }
        }
    }
    Guard { dry_run: flags.dry_run, if_version: None }.print_dry_run();
    if failed > 0 {
        say(&format!(
            "{failed} of {} are undone already or were changed since, and stay as they are",
            events.len()
        ));
        return Ok(exit::SOME_FAILED);
    }
    Ok(0)
}

/// The version that a change has made.
fn version_in(event: &Event) -> Option<u64> {
    event.data.get("version").and_then(Value::as_u64)
}

fn name_in(event: &Event) -> String {
    let name = label(&record_of(event));
    if name.is_empty() { event.subject.clone() } else { name }
}

/// The last event of a user, also of a deleted one.
async fn last_of(collection: &Collection<'_>, name: &str) -> Result<Event, Failure> {
    let user = match find(collection, name).await {
        Err(failure) if failure.status == exit::NOT_FOUND => {
            find_deleted(collection.client, name).await.map_err(|_| failure)?
        }
        found => found?,
    };
    let id = text(&user, "id");
    let mut events = std::pin::pin!(newest_first(collection.client, &id));
    let event = events.try_next().await?;
    event.ok_or_else(|| Failure::new(exit::NOT_FOUND, NO_CHANGE))
}

/// The events of users that a request has caused, oldest first.
async fn of_request(client: &Client, request: &str, after: &str) -> Result<Vec<Event>, Failure> {
    let query = [("after", after), ("type", "user.*"), ("limit", "1000")];
    let mut pages = std::pin::pin!(client.resource::<Event>("events").pages(&query));
    let (mut found, mut pages_without) = (Vec::new(), 0);
    while let Some(page) = pages.try_next().await? {
        let before = found.len();
        found.extend(page.items.into_iter().filter(|event| event.requestid == request));
        // Events of others may lie between those of a request, but not so many.
        pages_without = if before == found.len() { pages_without + 1 } else { 0 };
        if !found.is_empty() && pages_without >= PAGES_WITHOUT_MAX {
            break;
        }
    }
    Ok(found)
}

/// Undoes an event, and returns what the user is then. `later` is what the undo of the next event
/// of this user has returned.
async fn undo_one(
    collection: &Collection<'_>,
    event: &Event,
    later: Option<Record>,
    is_dry_run: bool,
) -> Result<Record, Failure> {
    // A dry run has stored nothing that the service could check this against.
    let is_sent = !is_dry_run || later.is_none();
    let now = later.unwrap_or_else(|| record_of(event));
    let (id, version) = (text(&now, "id"), now.get("version").and_then(Value::as_u64));
    // A purge erases the user from its events.
    if id.is_empty() {
        return Err(Failure::new(exit::NOT_FOUND, "the user was purged"));
    }
    let write = Write { version, is_dry_run, ..Write::default() };
    let would = if is_dry_run { "would be " } else { "" };
    let next_version = |mut record: Record| {
        record.insert("version".to_owned(), version.map(|version| version + 1).into());
        record
    };
    match reverse(collection.client, event, &id).await? {
        Reverse::Patch(patch, old) => {
            let undone = if is_sent {
                collection.resource().patch(&id, &patch, &write).await?
            } else {
                next_version(old)
            };
            collection.print_change(&now, &undone)?;
            Ok(undone)
        }
        Reverse::Delete => {
            if is_sent {
                collection.resource().delete(&id, &write).await?;
            }
            if !is_dry_run {
                collection.remote.suggest(&format!("undo: roster users restore {id} --groups"));
            }
            collection.output.tell(&format!("{}: {would}deleted", label(&now)))?;
            Ok(next_version(now))
        }
        Reverse::Restore => {
            if is_sent {
                let deleted = collection.client.resource::<Record>("deleted-users");
                deleted.act(&id, "restore", &with_groups(write)).await?;
            }
            collection.output.tell(&format!("{}: {would}restored", label(&now)))?;
            Ok(next_version(now))
        }
    }
}

/// The merge patch (RFC 7396) from a value to another one. Members of an object that the other one
/// lacks are removed.
fn merge_patch(from: Option<&Value>, to: Option<&Value>) -> Value {
    let (Some(Value::Object(from)), Some(Value::Object(to))) = (from, to) else {
        return to.cloned().unwrap_or(Value::Null);
    };
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let differing = names.into_iter().filter(|name| from.get(*name) != to.get(*name));
    let member = |name: &String| (name.clone(), merge_patch(from.get(name), to.get(name)));
    Value::Object(differing.map(member).collect())
}

/// What undoes an event.
async fn reverse(client: &Client, event: &Event, id: &str) -> Result<Reverse, Failure> {
    match &*event.r#type {
        "user.created" | "user.restored" => Ok(Reverse::Delete),
        "user.deleted" => Ok(Reverse::Restore),
        "user.updated" => {
            let mut events = std::pin::pin!(newest_first(client, id));
            while let Some(one) = events.try_next().await? {
                if one.id == event.id {
                    break;
                }
            }
            let Some(before) = events.try_next().await? else {
                let text = format!("the log no longer has what {} was before", name_in(event));
                return Err(Failure::new(exit::NOT_FOUND, text));
            };
            let (old, new) = (record_of(&before), record_of(event));
            // A username that followed the address follows it again.
            let followed = old.get("username_from_email") == Some(&Value::Bool(true));
            let value = |name: &String| match &**name {
                "username" if followed => Value::Null,
                _ => merge_patch(new.get(name), old.get(name)),
            };
            let mut names = changed(&event.data);
            // A patch of the value sets its flag to false unless it names the flag too.
            for (name, flag) in FLAGS {
                if names.iter().any(|one| one == name) {
                    names.push(flag.to_owned());
                }
            }
            let patch = names.into_iter().map(|name| (name.clone(), value(&name))).collect();
            Ok(Reverse::Patch(patch, old))
        }
        other => Err(Failure::new(exit::CONFLICT, format!("{other} cannot be undone"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Event, NO_CHANGE, NOT_IN_LOG, changes, nothing_shown, record_of, text};

    fn event(r#type: &str, changed: &[&str], user: &Value) -> Event {
        serde_json::from_value(json!({
            "id": "a4db3e84d7de1a56-7", "type": r#type, "subject": "users/u",
            "time": "2026-11-28T16:06:51.208Z", "actor": "anonymous", "requestid": "r",
            "data": {"changed": changed, "user": user},
        }))
        .unwrap()
    }

    #[test]
    fn a_value_that_retention_has_removed_is_not_shown_as_empty() {
        let before = |event: &Event, old: Option<&Event>| {
            let old = old.map(record_of);
            let rows = changes(event, old.as_ref());
            rows.iter().map(|row| text(row, "before")).collect::<Vec<_>>()
        };
        let created = event("user.created", &["username"], &json!({"username": "ada"}));
        assert_eq!(before(&created, None), [""]);
        let user = json!({"username": "ada", "department": "Sales"});
        let updated = event("user.updated", &["department"], &user);
        assert_eq!(before(&updated, Some(&created)), [""]);
        assert_eq!(before(&updated, None), [NOT_IN_LOG]);
        // A deletion changes no member.
        assert_eq!(before(&event("user.deleted", &[], &user), None), [""]);
    }

    #[test]
    fn an_empty_history_says_why() {
        let seen = || ["title", "", "title", "name"].map(str::to_owned).to_vec();
        let text = "no change of \"email\"; changed were name, title";
        assert_eq!(nothing_shown(Some("email"), seen()), text);
        let text = "no change of \"email\"; changed were no member";
        assert_eq!(nothing_shown(Some("email"), vec![String::new()]), text);
        assert_eq!(nothing_shown(Some("email"), Vec::new()), NO_CHANGE);
        assert_eq!(nothing_shown(None, Vec::new()), NO_CHANGE);
    }
}
