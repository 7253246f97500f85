//! `roster users`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use roster_client::{Client, Write};
use serde_json::Value;

use crate::ask::confirm;
use crate::assign::{Assignments, record_of};
use crate::deleted_users::with_groups;
use crate::failure::{Failure, Outcome};
use crate::find::{Selection, USERS, find, find_deleted};
use crate::history::{HistoryFlags, history};
use crate::matching;
use crate::output::Record;
use crate::records::{
    Collection, CreateFlags, Guard, ListFlags, distinct, label, of_several, text,
};
use crate::resource_flags::ResourceFlags;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Act {
    /// List users
    #[command(visible_alias = "ls", alias = "find", alias = "search")]
    List(UserListFlags),
    /// Show one user
    #[command(alias = "show", alias = "view")]
    Get {
        /// Id, username or e-mail address
        user: String,
    },
    /// Create a user
    #[command(alias = "add", alias = "new")]
    Create(CreateFlags),
    /// Change members of users, and show what changed
    #[command(alias = "update", alias = "edit", alias = "change", alias = "patch")]
    Set(SetUsersFlags),
    /// Replace a whole user by the record in a file
    Replace(ReplaceFlags),
    /// Set the status of users to suspended
    #[command(alias = "disable", alias = "deactivate")]
    Suspend(ChosenFlags),
    /// Set the status of users to active
    #[command(alias = "enable", alias = "unsuspend")]
    Activate(ChosenFlags),
    /// Delete users. They can be restored until they are purged
    #[command(alias = "rm", alias = "remove")]
    Delete(ChosenFlags),
    /// Restore deleted users
    #[command(alias = "undelete")]
    Restore(RestoreFlags),
    /// Erase deleted users permanently, with their history
    Purge(DeletedFlags),
    /// Show who changed a user, when, and what: old and new values
    #[command(alias = "log", alias = "events")]
    History(HistoryFlags),
}

#[derive(Debug, Args)]
pub struct UserListFlags {
    /// Words to find in names and addresses
    words: Vec<String>,

    #[command(flatten)]
    selection: Selection,

    /// active or suspended
    #[arg(long)]
    status: Option<String>,

    /// The order, such as username or -updated_at
    #[arg(long, allow_hyphen_values = true)]
    sort: Option<String>,

    #[command(flatten)]
    list: ListFlags,
}

#[derive(Debug, Args)]
pub struct SetUsersFlags {
    /// Users by id, username or address, then the members: MEMBER=TEXT, MEMBER= to clear one,
    /// MEMBER:=JSON for other values
    #[arg(value_name = "USER | MEMBER=VALUE", required = true)]
    words: Vec<String>,

    /// Change all users that match this condition, after a question
    #[arg(long, value_name = "CONDITION", conflicts_with = "if_version")]
    filter: Option<String>,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    guard: Guard,
}

/// Users that are suspended, activated or deleted.
#[derive(Debug, Args)]
pub struct ChosenFlags {
    /// Ids, usernames or e-mail addresses
    #[arg(value_name = "USER", required_unless_present = "filter", conflicts_with = "filter")]
    users: Vec<String>,

    /// All users that match this condition, such as 'department eq "Sales"', after a question
    #[arg(long, value_name = "CONDITION", conflicts_with = "if_version")]
    filter: Option<String>,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    guard: Guard,
}

#[derive(Debug, Args)]
pub struct ReplaceFlags {
    /// Id, username or e-mail address
    user: String,

    /// The new record, a JSON object; - is stdin. Members that it lacks are cleared
    #[arg(short, long)]
    file: PathBuf,

    #[command(flatten)]
    guard: Guard,
}

#[derive(Debug, Args)]
pub struct RestoreFlags {
    /// Ids, usernames or e-mail addresses of deleted users
    #[arg(value_name = "USER", required = true)]
    users: Vec<String>,

    /// Add them to the groups that they were in
    #[arg(long)]
    groups: bool,

    /// Show what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Deleted users.
#[derive(Debug, Args)]
pub struct DeletedFlags {
    /// Ids, usernames or e-mail addresses of deleted users
    #[arg(value_name = "USER", required = true)]
    users: Vec<String>,

    /// Show what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) async fn run(flags: ResourceFlags<Act>) -> Outcome {
    let client = flags.remote.client()?;
    let collection =
        Collection { kind: USERS, client: &client, output: &flags.output, remote: &flags.remote };
    match flags.act {
        Act::List(flags) => list(&collection, flags).await,
        Act::Get { user } => {
            flags.output.record(&find(&collection, &user).await?)?;
            Ok(0)
        }
        Act::Create(flags) => {
            collection.create(&flags, Write::default()).await?;
            Ok(0)
        }
        Act::Set(flags) => set(&collection, flags).await,
        Act::Replace(flags) => replace(&collection, &flags).await,
        Act::Suspend(flags) => set_status(&collection, flags, "suspended").await,
        Act::Activate(flags) => set_status(&collection, flags, "active").await,
        Act::Delete(flags) => delete(&collection, flags).await,
        Act::Restore(flags) => restore(&collection, &flags).await,
        Act::Purge(flags) => purge(&collection, &flags).await,
        Act::History(flags) => history(&collection, &flags).await,
    }
}

async fn list(collection: &Collection<'_>, flags: UserListFlags) -> Outcome {
    let words = flags.words.join(" ");
    let fields = collection.output.fields(USERS.columns);
    let mut query = Vec::new();
    let mut add = |name, value: Option<&str>| {
        query.extend(value.map(|value| (name, value.to_owned())));
    };
    add("q", Some(&*words).filter(|words| !words.is_empty()));
    add("filter", flags.selection.filter.as_deref());
    add("status", flags.status.as_deref());
    add("sort", flags.sort.as_deref());
    add("fields", fields.as_deref());
    let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (*name, &**value)).collect();
    collection.list(&query, flags.list.limit).await
}

async fn set(collection: &Collection<'_>, flags: SetUsersFlags) -> Outcome {
    let (given, names) = Assignments::divide(&flags.words, USERS.types)?;
    if given.is_empty() {
        let failure = Failure::usage("no member is given");
        return Err(failure.next("such as title=Dr, or department= to clear one"));
    }
    if names.is_empty() == flags.filter.is_none() {
        let failure = Failure::usage("name users, or select them by --filter");
        return Err(failure.next("roster users set ada title=Dr"));
    }
    let SetUsersFlags { filter, yes, guard, .. } = flags;
    change(collection, &names, filter, Some(&given), yes, &guard).await
}

async fn set_status(collection: &Collection<'_>, flags: ChosenFlags, status: &str) -> Outcome {
    let (given, _) = Assignments::divide(&[format!("status={status}")], USERS.types)?;
    let ChosenFlags { users, filter, yes, guard } = flags;
    change(collection, &users, filter, Some(&given), yes, &guard).await
}

async fn delete(collection: &Collection<'_>, flags: ChosenFlags) -> Outcome {
    let ChosenFlags { users, filter, yes, guard } = flags;
    change(collection, &users, filter, None, yes, &guard).await
}

/// Changes users, or deletes them if no members are given.
async fn change(
    collection: &Collection<'_>,
    names: &[String],
    filter: Option<String>,
    given: Option<&Assignments>,
    yes: bool,
    guard: &Guard,
) -> Outcome {
    if filter.is_some() {
        let selection = Selection { filter };
        return matching::change(collection, &selection, given, yes, guard.dry_run).await;
    }
    let mut found: Vec<Record> = Vec::new();
    for name in names {
        let user = find(collection, name).await?;
        if found.iter().all(|other| other.get("id") != user.get("id")) {
            found.push(user);
        }
    }
    if given.is_none() && found.len() > 1 && !guard.dry_run {
        let names: Vec<String> = found.iter().take(5).map(label).collect();
        let more = if found.len() > names.len() { ", ..." } else { "" };
        confirm(&format!("Delete {} users: {}{more}?", found.len(), names.join(", ")), yes)?;
    }
    for (at, user) in found.iter().enumerate() {
        let name = label(user);
        if let Some(given) = given {
            let set = collection.set(user, given, guard).await;
            let after = set.map_err(|failure| of_several(failure, at, &found))?;
            if !guard.dry_run && after.get("version") != user.get("version") {
                let (id, version) = (text(&after, "id"), text(&after, "version"));
                let undo = format!("undo: roster undo {id} --if-version {version}");
                collection.remote.suggest(&undo);
            }
            continue;
        }
        let id = text(user, "id");
        let deleted = collection.resource().delete(&id, &guard.write(user)).await;
        deleted.map_err(|error| of_several(error.into(), at, &found))?;
        let done = if guard.dry_run { "would be deleted" } else { "deleted" };
        collection.output.tell(&format!("{name}: {done}"))?;
        if !guard.dry_run {
            collection.remote.suggest(&format!("undo: roster users restore {id} --groups"));
        }
    }
    guard.print_dry_run();
    Ok(0)
}

async fn replace(collection: &Collection<'_>, flags: &ReplaceFlags) -> Outcome {
    let read = find(collection, &flags.user).await?;
    let record = record_of(Some(&flags.file), &Assignments::default())?;
    // The version in the file is that on which the new record is based.
    let based = record.get("version").and_then(Value::as_u64);
    let guard = Guard { if_version: flags.guard.if_version.or(based), ..flags.guard };
    let id = text(&read, "id");
    let replaced = collection.resource().replace(&id, &record, &guard.write(&read)).await?;
    collection.print_change(&read, &replaced)?;
    guard.print_dry_run();
    Ok(0)
}

/// The deleted users with these names, each once.
async fn found_deleted(client: &Client, names: &[String]) -> Result<Vec<Record>, Failure> {
    let mut found = Vec::new();
    for name in names {
        found.push(find_deleted(client, name).await?);
    }
    Ok(distinct(found, "id"))
}

async fn restore(collection: &Collection<'_>, flags: &RestoreFlags) -> Outcome {
    let deleted = collection.client.resource::<Record>("deleted-users");
    let found = found_deleted(collection.client, &flags.users).await?;
    for (at, user) in found.iter().enumerate() {
        let write = Write { is_dry_run: flags.dry_run, ..Write::default() };
        let write = if flags.groups { with_groups(write) } else { write };
        let restored = deleted.act(&text(user, "id"), "restore", &write).await;
        restored.map_err(|error| of_several(error.into(), at, &found))?;
        let done = if flags.dry_run { "would be restored" } else { "restored" };
        collection.output.tell(&format!("{}: {done}", label(user)))?;
    }
    Guard { dry_run: flags.dry_run, if_version: None }.print_dry_run();
    Ok(0)
}

async fn purge(collection: &Collection<'_>, flags: &DeletedFlags) -> Outcome {
    let deleted = collection.client.resource::<Record>("deleted-users");
    let found = found_deleted(collection.client, &flags.users).await?;
    if !flags.dry_run {
        let names: Vec<String> = found.iter().map(label).collect();
        let question = format!(
            "Erase {} permanently, with all records of the history? Nobody can undo this.",
            names.join(", ")
        );
        confirm(&question, flags.yes)?;
    }
    let guard = Guard { dry_run: flags.dry_run, if_version: None };
    for (at, user) in found.iter().enumerate() {
        let purged = deleted.delete(&text(user, "id"), &guard.write(user)).await;
        purged.map_err(|error| of_several(error.into(), at, &found))?;
        let done = if flags.dry_run { "would be purged" } else { "purged" };
        collection.output.tell(&format!("{}: {done}", label(user)))?;
    }
    guard.print_dry_run();
    Ok(0)
}
