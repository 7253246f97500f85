//! `roster groups`.

use clap::{Args, Subcommand};
use futures_util::TryStreamExt as _;
use roster_client::{Error, Resource, Write};
use serde_json::Value;

use crate::assign::Types;
use crate::failure::{Failure, Outcome, exit};
use crate::find;
use crate::output::Record;
use crate::records::{
    Collection, CreateFlags, DeleteFlags, Guard, Kind, ListFlags, NameFlags, SetFlags, label,
    of_several, text,
};
use crate::resource_flags::ResourceFlags;
use crate::text::{print, say};

const GROUPS: Kind = Kind {
    path: "groups",
    one: "group",
    many: "groups",
    columns: &["display_name", "member_count", "external_id", "id"],
    key: "id",
    name: "display_name",
    types: Types { switches: &[], numbers: &[], lists: &[] },
};

/// The columns of members. Those of their records are requested with `fields`.
const MEMBER_COLUMNS: [&str; 5] = ["type", "username", "display_name", "email", "id"];

/// The members of a page with their records.
const MEMBER_PAGE: &str = "100";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Act {
    /// List groups
    #[command(visible_alias = "ls")]
    List(GroupListFlags),
    /// Show one group, without its members
    #[command(alias = "show", alias = "view")]
    Get(NameFlags),
    /// Create a group, such as: roster groups create "Core Team"
    #[command(alias = "add", alias = "new")]
    Create(CreateFlags),
    /// Change the name and other members of groups, and show what changed
    #[command(alias = "update", alias = "edit", alias = "patch")]
    Set(SetFlags),
    /// Delete groups permanently; their members stay as they are
    #[command(visible_alias = "rm", alias = "remove")]
    Delete(DeleteFlags),
    /// List, add and remove the members of a group
    #[command(alias = "member", args_conflicts_with_subcommands = true)]
    #[command(subcommand_negates_reqs = true)]
    Members(MembersFlags),
}

#[derive(Debug, Args)]
pub struct GroupListFlags {
    /// Words to find in the names
    words: Vec<String>,

    /// A condition, such as 'display_name sw "Core"'
    #[arg(long, value_name = "CONDITION")]
    filter: Option<String>,

    /// Only groups that contain this user directly: id, username or address
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// The order, such as display_name or -created_at
    #[arg(long, allow_hyphen_values = true)]
    sort: Option<String>,

    #[command(flatten)]
    list: ListFlags,
}

#[derive(Debug, Args)]
pub struct MembersFlags {
    #[command(subcommand)]
    act: Option<MemberAct>,

    #[command(flatten)]
    list: MemberListFlags,
}

#[derive(Debug, Subcommand)]
enum MemberAct {
    /// List the direct members of a group
    #[command(visible_alias = "ls")]
    List(MemberListFlags),
    /// Add users and groups to a group
    Add(ChangeMembersFlags),
    /// Remove users and groups from a group
    #[command(visible_alias = "rm", alias = "delete")]
    Remove(ChangeMembersFlags),
}

#[derive(Debug, Args)]
struct MemberListFlags {
    /// Id or name of the group
    #[arg(required = true)]
    group: Option<String>,

    #[command(flatten)]
    list: ListFlags,
}

#[derive(Debug, Args)]
struct ChangeMembersFlags {
    /// Id or name of the group
    group: String,

    /// Ids, usernames or addresses of users
    #[arg(value_name = "USER", required_unless_present = "groups")]
    users: Vec<String>,

    /// A group as a member, by its id or name; may be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,

    #[command(flatten)]
    guard: MemberGuard,
}

/// What protects a change of members.
#[derive(Debug, Args)]
struct MemberGuard {
    /// Change nothing unless the group has this version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(flags: ResourceFlags<Act>) -> Outcome {
    let client = flags.remote.client()?;
    let collection =
        Collection { kind: GROUPS, client: &client, output: &flags.output, remote: &flags.remote };
    match flags.act {
        Act::List(flags) => list(&collection, flags).await,
        Act::Get(flags) => collection.get(&flags.name).await,
        Act::Create(flags) => {
            collection.create(&flags.named(GROUPS.name), Write::default()).await?;
            Ok(0)
        }
        Act::Set(flags) => collection.set_words(&flags).await,
        Act::Delete(flags) => collection.delete(&flags).await,
        Act::Members(MembersFlags { act: None, list }) => members(&collection, list).await,
        Act::Members(MembersFlags { act: Some(act), .. }) => match act {
            MemberAct::List(list) => members(&collection, list).await,
            MemberAct::Add(flags) => change(&collection, flags, true).await,
            MemberAct::Remove(flags) => change(&collection, flags, false).await,
        },
    }
}

async fn list(collection: &Collection<'_>, flags: GroupListFlags) -> Outcome {
    let user = match &flags.user {
        Some(name) => Some(text(&find::find(&people(collection), name).await?, "id")),
        None => None,
    };
    let words = Some(flags.words.join(" ")).filter(|words| !words.is_empty());
    let given = [
        ("q", words),
        ("filter", flags.filter),
        ("member_id", user),
        ("sort", flags.sort),
        ("fields", collection.output.fields(GROUPS.columns)),
    ];
    let query: Vec<(&str, &str)> =
        given.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
    collection.list(&query, flags.list.limit).await
}

/// The users of the service.
const fn people<'a>(collection: &Collection<'a>) -> Collection<'a> {
    Collection { kind: find::USERS, ..*collection }
}

async fn members(collection: &Collection<'_>, flags: MemberListFlags) -> Outcome {
    let group = collection.find(&flags.group.unwrap_or_default()).await?;
    let columns = collection.output.fields(&MEMBER_COLUMNS);
    let columns = columns.unwrap_or_else(|| MEMBER_COLUMNS.join(","));
    let is_of_records = |name: &&str| !matches!(*name, "id" | "type");
    let fields: Vec<&str> = columns.split(',').filter(is_of_records).collect();
    let fields = fields.join(",");
    let mut query = vec![("limit", MEMBER_PAGE)];
    if !fields.is_empty() {
        query.push(("fields", fields.as_str()));
    }
    let listed = members_of(collection, &group).list(&query).map_ok(flat);
    let (count, more) = collection.output.list(listed, &MEMBER_COLUMNS, flags.list.limit).await?;
    if count == 0 {
        say(&format!("{} has no members", label(&group)));
    }
    if more {
        say("there are more members: --limit stopped the list");
    }
    Ok(0)
}

fn members_of(collection: &Collection<'_>, group: &Record) -> Resource<Record> {
    collection.client.resource(format!("groups/{}/members", text(group, "id")))
}

/// A member with the members of its record after its id and type.
fn flat(mut member: Record) -> Record {
    for kind in ["user", "group"] {
        if let Some(Value::Object(record)) = member.shift_remove(kind) {
            for (name, value) in record {
                member.entry(name).or_insert(value);
            }
        }
    }
    member
}

/// Adds members to a group, or removes them. All are found before the first change.
async fn change(collection: &Collection<'_>, flags: ChangeMembersFlags, is_add: bool) -> Outcome {
    let group = collection.find(&flags.group).await?;
    let mut found = Vec::new();
    for name in &flags.users {
        found.push(find::find(&people(collection), name).await?);
    }
    for name in &flags.groups {
        found.push(collection.find(name).await?);
    }
    let MemberGuard { if_version, dry_run } = flags.guard;
    let mut write = Write { version: if_version, is_dry_run: dry_run, ..Write::default() };
    let mut known = version(&group);
    let mut strangers = Vec::new();
    for (at, member) in found.iter().enumerate() {
        let kind = if at < flags.users.len() { "user" } else { "group" };
        let members = members_of(collection, &group);
        let after = put(&members, &text(member, "id"), &write, is_add, known).await;
        let after = after.map_err(|failure| of_several(failure, at, &found))?;
        let done = match (after.is_some(), is_add, dry_run) {
            (false, false, _) => {
                strangers.push(label(member));
                continue;
            }
            (false, true, _) => "is a member already:",
            (true, true, false) => "added",
            (true, true, true) => "would add",
            (true, false, false) => "removed",
            (true, false, true) => "would remove",
        };
        if collection.output.is_table() {
            print(&format!("{done} {kind} {} ({})", label(member), text(member, "id")))?;
        }
        if let Some(after) = after.filter(|_| !dry_run) {
            // The next change expects the version that this one has made.
            write.version = write.version.map(|_| after);
            known = after;
        }
    }
    if !collection.output.is_table() {
        collection.output.record(&collection.find(&text(&group, "id")).await?)?;
    }
    Guard { if_version, dry_run }.print_dry_run();
    if strangers.is_empty() {
        return Ok(0);
    }
    let text = format!("no member of {}: {}", label(&group), strangers.join(", "));
    Err(Failure::new(exit::NOT_FOUND, text))
}

/// Adds a member, or removes it. Returns the version of the group then, or none if nothing changed.
async fn put(
    members: &Resource<Record>,
    id: &str,
    write: &Write,
    is_add: bool,
    known: u64,
) -> Result<Option<u64>, Failure> {
    if is_add {
        let after = version(&members.add(id, write).await?.json()?);
        return Ok((after != known).then_some(after));
    }
    match members.delete(id, write).await {
        Ok(_) => Ok(Some(known + 1)),
        Err(error) if is_no_member(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn version(group: &Record) -> u64 {
    group.get("version").and_then(Value::as_u64).unwrap_or_default()
}

fn is_no_member(error: &Error) -> bool {
    error.problem().is_some_and(|problem| problem.code == "member-not-found")
}
