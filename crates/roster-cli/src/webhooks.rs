//! `roster webhooks`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use roster_client::{Call, Method, Write, header};
use serde_json::Value;

use crate::assign::{Assignments, Types};
use crate::failure::{Failure, Outcome, exit};
use crate::output::{Record, not_taken, print_secret};
use crate::records::{
    Collection, CreateFlags, DeleteFlags, Kind, ListFlags, NameFlags, NamesFlags, SetFlags, label,
    text,
};
use crate::resource_flags::ResourceFlags;
use crate::text::{print, say};

const WEBHOOKS: Kind = Kind {
    path: "webhooks",
    one: "webhook",
    many: "webhooks",
    columns: &["name", "status", "lag", "types", "url", "id"],
    key: "id",
    name: "name",
    types: Types { switches: &[], numbers: &["batch_max"], lists: &["types"] },
};

const DELIVERY_COLUMNS: [&str; 7] =
    ["at", "status", "error", "attempt", "events", "duration_ms", "id"];

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Act {
    /// List webhooks
    #[command(visible_alias = "ls")]
    List(ListFlags),
    /// Show one webhook
    #[command(alias = "show", alias = "view")]
    Get(NameFlags),
    /// Create a webhook, and print its secret once
    ///
    /// Such as: roster webhooks create search url=https://search.example.com/roster 'types=user.*'.
    /// Without types it sends all but audit events; after=POSITION sends those after a position of
    /// the change log. The secret alone goes to stdout, so that > FILE keeps it.
    #[command(alias = "add", alias = "new")]
    Create(CreateFlags),
    /// Change members of webhooks, and show what changed
    #[command(alias = "update", alias = "edit", alias = "patch")]
    Set(SetFlags),
    /// Delete webhooks
    #[command(visible_alias = "rm", alias = "remove")]
    Delete(DeleteFlags),
    /// Send a test to the receiver, and show what became of it
    ///
    /// Exits with 1 unless the receiver accepts it.
    Test(NameFlags),
    /// List the last requests, the newest first
    Deliveries(NameFlags),
    /// Send no events for now
    Pause(NamesFlags),
    /// Send events again, from where it stopped
    #[command(alias = "unpause")]
    Resume(NamesFlags),
    /// Send the events after a position: some again, or without some that are skipped
    Replay(ReplayFlags),
    /// Create a new secret, and print it once
    Rotate(RotateFlags),
}

#[derive(Debug, Args)]
pub struct ReplayFlags {
    /// Id or name
    name: String,

    /// A position of the change log, such as the id of an event
    #[arg(long, value_name = "POSITION")]
    after: String,

    #[command(flatten)]
    guard: VersionFlags,
}

#[derive(Debug, Args)]
pub struct RotateFlags {
    /// Id or name
    name: String,

    /// Seconds for which requests are signed with the old secret too [default: 86400]
    #[arg(long, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=2_592_000))]
    overlap: Option<u64>,

    #[command(flatten)]
    guard: VersionFlags,
}

/// The version that a webhook must have.
#[derive(Debug, Args)]
struct VersionFlags {
    /// Change nothing unless the webhook has this version [default: the version that is read first]
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,
}

impl VersionFlags {
    fn version(&self, read: &Record) -> Option<u64> {
        self.if_version.or_else(|| read.get("version").and_then(Value::as_u64))
    }
}

pub(crate) async fn run(flags: ResourceFlags<Act>) -> Outcome {
    let client = flags.remote.client()?;
    let collection = Collection {
        kind: WEBHOOKS,
        client: &client,
        output: &flags.output,
        remote: &flags.remote,
    };
    match flags.act {
        Act::List(flags) => collection.list(&[], flags.limit).await,
        Act::Get(flags) => collection.get(&flags.name).await,
        Act::Create(flags) => create(&collection, with_url(flags.named(WEBHOOKS.name))).await,
        Act::Set(flags) => collection.set_words(&flags).await,
        Act::Delete(flags) => collection.delete(&flags).await,
        Act::Test(flags) => test(&collection, &flags.name).await,
        Act::Deliveries(flags) => deliveries(&collection, &flags.name).await,
        Act::Pause(flags) => set_status(&collection, &flags, "paused").await,
        Act::Resume(flags) => set_status(&collection, &flags, "active").await,
        Act::Replay(flags) => replay(&collection, &flags).await,
        Act::Rotate(flags) => rotate(&collection, &flags).await,
    }
}

/// With a word that is a URL as the URL of the webhook.
fn with_url(mut flags: CreateFlags) -> CreateFlags {
    for word in &mut flags.members {
        if word.starts_with("https://") || word.starts_with("http://") {
            *word = format!("url={word}");
        }
    }
    flags
}

async fn create(collection: &Collection<'_>, flags: CreateFlags) -> Outcome {
    let webhook = collection.created(&flags, Write::default()).await?;
    if flags.dry_run {
        collection.output.record(&webhook)?;
        say("dry run: nothing was created");
        return Ok(0);
    }
    let (id, name) = (text(&webhook, "id"), label(&webhook));
    let sends = format!("{} to {}", text(&webhook, "types"), text(&webhook, "url"));
    say(&format!("created webhook {id} ({name}): sends {sends}"));
    reveal(collection, &webhook)?;
    collection.remote.suggest(&format!("next: roster webhooks test {id}"));
    Ok(0)
}

/// Prints the secret alone, or the record with it for programs.
fn reveal(collection: &Collection<'_>, webhook: &Record) -> Result<(), Failure> {
    if !collection.output.is_table() {
        return collection.output.record(webhook).map_err(not_taken);
    }
    say("the secret of its signatures on stdout is shown only once");
    print_secret(&text(webhook, "secret"))
}

async fn test(collection: &Collection<'_>, name: &str) -> Outcome {
    let webhook = collection.find(name).await?;
    let sent = collection.resource().act(&text(&webhook, "id"), "test", &Write::default()).await?;
    let delivery: Record = sent.json()?;
    collection.output.record(&delivery)?;
    let status = delivery.get("status").and_then(Value::as_u64);
    let why = match status {
        Some(200..=299) => return Ok(0),
        Some(status) => format!("it answered {status}"),
        None => text(&delivery, "error"),
    };
    let url = text(&webhook, "url");
    Err(Failure::new(exit::OTHER, format!("{url} does not accept the test: {why}")))
}

async fn deliveries(collection: &Collection<'_>, name: &str) -> Outcome {
    let webhook = collection.find(name).await?;
    let path = format!("webhooks/{}/deliveries", text(&webhook, "id"));
    let records = collection.client.resource(path).list(&[]);
    let (count, _) = collection.output.list(records, &DELIVERY_COLUMNS, None).await?;
    if count == 0 {
        say(&format!("no requests of {name} yet"));
    }
    Ok(0)
}

async fn set_status(collection: &Collection<'_>, flags: &NamesFlags, status: &str) -> Outcome {
    let (given, _) = Assignments::divide(&[format!("status={status}")], WEBHOOKS.types)?;
    let found = collection.find_all(&flags.names).await?;
    collection.set_all(&found, &given, &flags.guard).await
}

async fn replay(collection: &Collection<'_>, flags: &ReplayFlags) -> Outcome {
    let read = collection.find(&flags.name).await?;
    let mut call = Call::new(Method::POST, format!("webhooks/{}/replay", text(&read, "id")))
        .json(&BTreeMap::from([("after", &flags.after)]))?;
    if let Some(version) = flags.guard.version(&read) {
        call = call.header(header::IF_MATCH, &format!("\"{version}\""));
    }
    let sent = collection.client.send(&call).await;
    let shown = |_: &roster_client::Fault| Some(format!("--after {}", flags.after));
    let webhook: Record = sent.map_err(|error| Failure::of_input(error, shown))?.json()?;
    if !collection.output.is_table() {
        collection.output.record(&webhook)?;
        return Ok(0);
    }
    let (before, after) = (text(&read, "position"), text(&webhook, "position"));
    print(&format!("{}: position {before} -> {after}, {}", label(&webhook), behind(&webhook)))?;
    Ok(0)
}

fn behind(webhook: &Record) -> String {
    format!("status {}, {} positions behind the log", text(webhook, "status"), text(webhook, "lag"))
}

async fn rotate(collection: &Collection<'_>, flags: &RotateFlags) -> Outcome {
    let read = collection.find(&flags.name).await?;
    let overlap = flags.overlap.map(|seconds| ("overlap_s".to_owned(), seconds.to_string()));
    let version = flags.guard.version(&read);
    let write = Write { version, query: overlap.into_iter().collect(), ..Write::default() };
    let sent = collection.resource().act(&text(&read, "id"), "rotate", &write).await?;
    let webhook: Record = sent.json()?;
    let until = text(&webhook, "former_secret_until");
    let old = if until.is_empty() {
        "the old secret signs no more".to_owned()
    } else {
        format!("the old secret signs too until {until}")
    };
    say(&format!("rotated the secret of webhook {} ({}); {old}", text(&read, "id"), label(&read)));
    reveal(collection, &webhook)?;
    Ok(0)
}
