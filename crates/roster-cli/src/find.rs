//! How users are found by the names that people know.

use clap::Args;
use futures_util::TryStreamExt as _;
use roster_client::Client;

use crate::assign::Types;
use crate::connection::Remote;
use crate::failure::Failure;
use crate::output::{Output, Record};
use crate::records::{Collection, Kind};

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

pub(crate) const DELETED: Kind = Kind {
    path: "deleted-users",
    one: "deleted user",
    many: "deleted users",
    columns: &["username", "name", "email", "deleted_at", "purge_at", "id"],
    ..USERS
};

/// Which users.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// A condition, such as 'department eq "Sales" and status eq "active"'
    #[arg(long, value_name = "CONDITION")]
    pub(crate) filter: Option<String>,
}

/// Finds a user by its id, username or one of its addresses.
pub(crate) async fn find(collection: &Collection<'_>, name: &str) -> Result<Record, Failure> {
    let users = collection.resource();
    if is_id(name) {
        match users.get(name).await {
            Err(error) if matches!(error.status(), Some(404)) => {}
            found => return Ok(found?),
        }
    }
    let by_name: Vec<Record> = users.list(&[("username", name)]).try_collect().await?;
    if by_name.is_empty() && name.contains('@') {
        let filter = format!("emails.value eq {}", serde_json::to_string(name)?);
        let by_address: Vec<Record> = users.list(&[("filter", &filter)]).try_collect().await?;
        return collection.only(name, by_address);
    }
    collection.only(name, by_name)
}

/// Finds a deleted user by its id, username or one of its addresses.
pub(crate) async fn find_deleted(client: &Client, name: &str) -> Result<Record, Failure> {
    let deleted = client.resource::<Record>(DELETED.path);
    if is_id(name) {
        match deleted.get(name).await {
            // It may be a username.
            Err(error) if matches!(error.status(), Some(404)) => {}
            found => return Ok(found?),
        }
    }
    let quoted = serde_json::to_string(name)?;
    let of_address = format!(" or emails.value eq {quoted}");
    let or = if name.contains('@') { of_address.as_str() } else { "" };
    let filter = format!("username eq {quoted}{or}");
    let found: Vec<Record> = deleted.list(&[("filter", &filter)]).try_collect().await?;
    let (output, remote) = (Output::default(), Remote::default());
    Collection { kind: DELETED, client, output: &output, remote: &remote }.only(name, found)
}

/// Whether a name has the form of an id.
fn is_id(name: &str) -> bool {
    name.len() == 36 && name.bytes().filter(|byte| *byte == b'-').count() == 4
}
