//! `roster users`.

use clap::{Args, Subcommand};
use futures_util::TryStreamExt as _;
use roster_client::Write;

use crate::assign::{Assignments, Types};
use crate::connection::Remote;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Record};
use crate::records::{CreateFlags, Desk, Guard, Kind, ListFlags};

pub(crate) const USERS: Kind = Kind {
    path: "users",
    one: "user",
    many: "users",
    columns: &["username", "name", "email", "status", "id"],
    key: "id",
    name: "username",
    types: Types {
        switches: &["email_verified", "phone_number_verified"],
        numbers: &[],
        lists: &[],
    },
};

/// The flags of `roster users`.
#[derive(Debug, Args)]
pub struct UsersFlags {
    #[command(subcommand)]
    act: Act,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// List users
    #[command(visible_alias = "ls")]
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
    #[command(alias = "update", alias = "edit", alias = "patch")]
    Set(SetUsersFlags),
}

/// Which users.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// A condition, such as 'department eq "Sales" and status eq "active"'
    #[arg(long, value_name = "CONDITION")]
    pub(crate) filter: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct UserListFlags {
    /// Words to find in names and addresses
    words: Vec<String>,

    #[command(flatten)]
    selection: Selection,

    /// active or suspended
    #[arg(long)]
    status: Option<String>,

    /// The order, such as username or -updated_at
    #[arg(long)]
    sort: Option<String>,

    #[command(flatten)]
    list: ListFlags,
}

#[derive(Debug, Args)]
pub(crate) struct SetUsersFlags {
    /// Users by id, username or address, then the members: MEMBER=TEXT, MEMBER= to clear one,
    /// MEMBER:=JSON for other values
    #[arg(value_name = "USER | MEMBER=VALUE", required = true)]
    words: Vec<String>,

    #[command(flatten)]
    guard: Guard,
}

pub(crate) async fn run(flags: UsersFlags) -> Outcome {
    let client = flags.remote.client()?;
    let desk = Desk { kind: USERS, client: &client, output: &flags.output };
    match flags.act {
        Act::List(flags) => list(&desk, flags).await,
        Act::Get { user } => {
            flags.output.record(&find(&desk, &user).await?)?;
            Ok(0)
        }
        Act::Create(flags) => {
            desk.create(&flags, Write::default()).await?;
            Ok(0)
        }
        Act::Set(flags) => set(&desk, flags).await,
    }
}

async fn list(desk: &Desk<'_>, flags: UserListFlags) -> Outcome {
    let words = flags.words.join(" ");
    let fields = desk.output.fields(USERS.columns);
    let mut query = Vec::new();
    let mut add = |name, value: Option<&str>| {
        query.extend(value.filter(|value| !value.is_empty()).map(|value| (name, value.to_owned())));
    };
    add("q", Some(&words));
    add("filter", flags.selection.filter.as_deref());
    add("status", flags.status.as_deref());
    add("sort", flags.sort.as_deref());
    add("fields", fields.as_deref());
    let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (*name, &**value)).collect();
    desk.list(&query, flags.list.limit).await
}

/// Finds a user by its id, username or one of its addresses.
pub(crate) async fn find(desk: &Desk<'_>, name: &str) -> Result<Record, Failure> {
    let users = desk.resource();
    let is_id = name.len() == 36 && name.bytes().filter(|byte| *byte == b'-').count() == 4;
    if is_id {
        match users.get(name).await {
            Err(error) if matches!(error.status(), Some(404)) => {}
            found => return Ok(found?),
        }
    }
    let by_name: Vec<Record> = users.list(&[("username", name)]).try_collect().await?;
    if by_name.is_empty() && name.contains('@') {
        let filter = format!("emails.value eq {}", serde_json::to_string(name)?);
        let by_address: Vec<Record> = users.list(&[("filter", &filter)]).try_collect().await?;
        return desk.only(name, by_address);
    }
    desk.only(name, by_name)
}

async fn set(desk: &Desk<'_>, flags: SetUsersFlags) -> Outcome {
    let (given, names) = Assignments::divide(&flags.words, USERS.types)?;
    if given.is_empty() {
        return Err(Failure::usage("no member is given")
            .next("such as title=Dr, or department= to clear one"));
    }
    if names.is_empty() {
        return Err(Failure::usage("no user is named").next("roster users set ada title=Dr"));
    }
    for name in &names {
        let read = find(desk, name).await?;
        desk.set(&read, &given, &flags.guard).await?;
    }
    flags.guard.tell();
    Ok(0)
}
