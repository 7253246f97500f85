//! `roster deleted-users`.

use clap::{Args, Subcommand};
use roster_client::Write;

use crate::failure::Outcome;
use crate::find::{DELETED, find_deleted};
use crate::records::{Collection, ListFlags};
use crate::resource_flags::ResourceFlags;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Act {
    /// List deleted users, the last one that was deleted first
    #[command(visible_alias = "ls")]
    List(DeletedListFlags),
    /// Show a deleted user as it was, and when it is purged
    #[command(alias = "show", alias = "view")]
    Get {
        /// Id, username or e-mail address
        user: String,
    },
}

#[derive(Debug, Args)]
pub struct DeletedListFlags {
    /// Words to find in names and addresses
    words: Vec<String>,

    /// A condition, such as 'department eq "Sales"'
    #[arg(long, value_name = "CONDITION")]
    filter: Option<String>,

    /// The order: deleted_at or -deleted_at
    #[arg(long, allow_hyphen_values = true)]
    sort: Option<String>,

    #[command(flatten)]
    list: ListFlags,
}

pub(crate) async fn run(flags: ResourceFlags<Act>) -> Outcome {
    let client = flags.remote.client()?;
    let collection =
        Collection { kind: DELETED, client: &client, output: &flags.output, remote: &flags.remote };
    match flags.act {
        Act::List(flags) => list(&collection, flags).await,
        Act::Get { user } => {
            collection.output.record(&find_deleted(&client, &user).await?)?;
            Ok(0)
        }
    }
}

async fn list(collection: &Collection<'_>, flags: DeletedListFlags) -> Outcome {
    let words = Some(flags.words.join(" ")).filter(|words| !words.is_empty());
    let fields = collection.output.fields(DELETED.columns);
    let given = [("q", words), ("filter", flags.filter), ("sort", flags.sort), ("fields", fields)];
    let query: Vec<(&str, &str)> =
        given.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
    collection.list(&query, flags.list.limit).await
}

/// A restore that adds the user to its former groups again.
pub(crate) fn with_groups(mut restore: Write) -> Write {
    restore.query.push(("groups".to_owned(), "true".to_owned()));
    restore
}
