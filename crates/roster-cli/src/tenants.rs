//! `roster tenants`.

use clap::{Args, Subcommand};
use roster_client::Write;

use crate::ask::confirm;
use crate::assign::Types;
use crate::connection::Remote;
use crate::failure::{Failure, Outcome};
use crate::output::Record;
use crate::records::{
    Collection, CreateFlags, DeleteFlags, Guard, Kind, ListFlags, NameFlags, NamesFlags, SetFlags,
    of_several, text,
};
use crate::resource_flags::ResourceFlags;
use crate::text::{print, say};

const TENANTS: Kind = Kind {
    path: "tenants",
    one: "tenant",
    many: "tenants",
    columns: &["name", "status", "users", "groups", "display_name", "external_id"],
    key: "name",
    name: "name",
    types: Types { switches: &[], numbers: &["users_max"], lists: &[] },
};

const DELETED: Kind = Kind {
    path: "deleted-tenants",
    one: "deleted tenant",
    many: "deleted tenants",
    columns: &["name", "users", "groups", "display_name", "deleted_at", "purge_at"],
    ..TENANTS
};

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Act {
    /// List tenants
    #[command(visible_alias = "ls")]
    List(TenantListFlags),
    /// Show one tenant
    #[command(alias = "show", alias = "view")]
    Get(NameFlags),
    /// Create a tenant, such as: roster tenants create acme display_name='Acme Ltd'
    #[command(alias = "add", alias = "new")]
    Create(CreateFlags),
    /// Change members of tenants, such as status=suspended, and show what changed
    #[command(alias = "update", alias = "edit", alias = "patch")]
    Set(SetFlags),
    /// Delete tenants; for some time they can be restored
    #[command(visible_alias = "rm", alias = "remove")]
    Delete(DeleteFlags),
    /// List deleted tenants, which can be restored
    Deleted(ListFlags),
    /// Bring deleted tenants back, with all that was in them
    #[command(alias = "undelete")]
    Restore(NamesFlags),
    /// Erase deleted tenants and all that was in them, forever
    Purge(DeleteFlags),
}

#[derive(Debug, Args)]
pub struct TenantListFlags {
    /// Only tenants with this id of another system
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,

    #[command(flatten)]
    list: ListFlags,
}

pub(crate) async fn run(flags: ResourceFlags<Act>) -> Outcome {
    // Tenants belong to the service, also if a tenant is named.
    let client = flags.remote.target()?.service()?;
    let collection =
        Collection { kind: TENANTS, client: &client, output: &flags.output, remote: &flags.remote };
    let deleted =
        Collection { kind: DELETED, client: &client, output: &flags.output, remote: &flags.remote };
    match flags.act {
        Act::List(flags) => {
            let external_id = flags.external_id.as_deref().map(|id| ("external_id", id));
            collection.list(external_id.as_slice(), flags.list.limit).await
        }
        Act::Get(flags) => {
            let tenant = collection.find(&flags.name).await?;
            collection.output.record(&tenant)?;
            tell_scim_url(&tenant);
            Ok(0)
        }
        Act::Create(flags) => create(&collection, flags.named(TENANTS.name)).await,
        Act::Set(flags) => collection.set_words(&flags).await,
        Act::Delete(flags) => {
            if !flags.guard.dry_run {
                for name in &flags.names {
                    collection.find(name).await?;
                }
                let names = flags.names.join(", ");
                let question = format!("Delete {names}? All keys in it stop working at once.");
                confirm(&question, flags.yes)?;
            }
            collection.delete(&DeleteFlags { yes: true, ..flags.clone() }).await?;
            if !flags.guard.dry_run {
                let names = flags.names.join(" ");
                let words = collection.remote.words();
                say(&format!(
                    "roster tenants restore {names}{words} brings back all that was there"
                ));
            }
            Ok(0)
        }
        Act::Deleted(flags) => deleted.list(&[], flags.limit).await,
        Act::Restore(flags) => restore(&deleted, &flags).await,
        Act::Purge(flags) => purge(&deleted, &flags).await,
    }
}

async fn create(collection: &Collection<'_>, flags: CreateFlags) -> Outcome {
    let tenant = collection.create(&flags, Write::default()).await?;
    if !flags.dry_run {
        let name = text(&tenant, "name");
        tell_scim_url(&tenant);
        let next = "next: roster keys create NAME --scope scim";
        let remote = Remote { tenant: Some(name), ..collection.remote.clone() };
        remote.suggest(next);
    }
    Ok(0)
}

fn tell_scim_url(tenant: &Record) {
    say(&format!("its SCIM URL for an identity provider: {}/scim/v2", text(tenant, "base_url")));
}

async fn restore(deleted: &Collection<'_>, flags: &NamesFlags) -> Outcome {
    let found = deleted.find_all(&flags.names).await?;
    for (at, read) in found.iter().enumerate() {
        let restored = restore_one(deleted, read, &flags.guard).await;
        restored.map_err(|failure| of_several(failure, at, &found))?;
    }
    flags.guard.print_dry_run();
    Ok(0)
}

async fn restore_one(
    deleted: &Collection<'_>,
    read: &Record,
    guard: &Guard,
) -> Result<(), Failure> {
    let name = text(read, "name");
    let restored = deleted.resource().act(&name, "restore", &guard.write(read)).await?;
    if !deleted.output.is_table() {
        return deleted.output.record(&restored.json()?);
    }
    let done = if guard.dry_run { "would restore" } else { "restored" };
    print(&format!("{done} tenant {name}, {}", contents(read)))?;
    Ok(())
}

/// Purges deleted tenants, after a question that says what is lost.
async fn purge(deleted: &Collection<'_>, flags: &DeleteFlags) -> Outcome {
    let found = deleted.find_all(&flags.names).await?;
    if !flags.guard.dry_run {
        let lost = found.iter().map(|one| format!("{} ({})", text(one, "name"), contents(one)));
        let question = format!(
            "Purge {}? All data, keys and webhooks in it are lost forever, and the name is free.",
            lost.collect::<Vec<_>>().join(", ")
        );
        confirm(&question, flags.yes)?;
    }
    for (at, read) in found.iter().enumerate() {
        let name = text(read, "name");
        let purged = deleted.resource().delete(&name, &flags.guard.write(read)).await;
        purged.map_err(|error| of_several(error.into(), at, &found))?;
        let done = if flags.guard.dry_run { "would purge" } else { "purged" };
        deleted.output.tell(&format!("{done} tenant {name}, {}", contents(read)))?;
    }
    flags.guard.print_dry_run();
    Ok(0)
}

/// How much is in a tenant.
fn contents(tenant: &Record) -> String {
    let count = |member| text(tenant, member);
    let (users, deleted, groups) = (count("users"), count("deleted_users"), count("groups"));
    format!("{users} users, {deleted} deleted users, {groups} groups")
}
