//! `roster migrate`: copies the store of a data directory into an empty PostgreSQL database.
//!
//! One engine reads and the other loads. At the end both count and hash their rows, and this module
//! compares them. If the command is interrupted, running it again continues. The source is not
//! changed, and the database cannot be served before it is complete and equal.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use roster_core::Json;
use roster_postgres::Connector;
use roster_postgres::load::{Load, Reached, Source};
use roster_sqlite::BackupError;
use roster_sqlite::unload::{Export, Table, TableDigest, Values};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::{JoinHandle, spawn_blocking};

use super::backup::text;
use super::{print, usage};
use crate::config::{Config, Given};
use roster_cli::Progress;

/// Chunks that are read ahead.
const CHUNKS_AHEAD: usize = 2;

/// The flags of `roster migrate`.
#[derive(Debug, Args)]
pub(super) struct MigrateFlags {
    /// The data directory to read; it must not be served
    #[arg(long, value_name = "DIR")]
    from: PathBuf,

    /// The empty PostgreSQL database to fill, as postgres://USER:PASSWORD@HOST/NAME
    /// [default: the setting `database`] [env: ROSTER_DATABASE]
    #[arg(long, value_name = "URL")]
    to: Option<OsString>,

    /// Read settings from this TOML file [env: ROSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Bytes of rows to load in one transaction
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64 << 20))]
    chunk_bytes: u32,

    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

/// Rows of a table.
type Read = (&'static Table, Vec<Values>);

/// The digest of a table of the source.
type Hashed = (&'static Table, TableDigest);

/// Migrates and prints a summary.
pub(super) fn run(flags: &MigrateFlags) -> anyhow::Result<ExitCode> {
    let connector = connector(flags)?;
    let export = Export::open(&flags.from)?;
    let source = source_of(&export);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("threads cannot be started")?;
    let chunk_bytes = usize::try_from(flags.chunk_bytes).unwrap_or(usize::MAX);
    let migrated = runtime.block_on(migrate(export, &connector, source.clone(), chunk_bytes));
    // Do not wait for the thread that reads the source if the migration failed.
    runtime.shutdown_background();
    migrated?;
    let text = if flags.json { as_json(&source) } else { in_words(flags, &source) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The connector, from the flag or from the settings of `roster serve`.
fn connector(flags: &MigrateFlags) -> anyhow::Result<Connector> {
    let to = flags.to.clone().map(|to| ("database", to));
    let config_file = flags.config.clone();
    let given = Given { flags: to.into_iter().collect(), config_file, dev: false };
    let (config, _) = Config::load(&given)?;
    let url = config.database.ok_or_else(|| usage("name the database to fill: --to URL"))?;
    Ok(Connector::parse(url.as_str())?)
}

fn source_of(export: &Export) -> Source {
    let rows = export.tables().iter().map(|(table, rows)| (table.name, *rows)).collect();
    Source { log_id: export.log_id(), position: export.position(), rows }
}

async fn migrate(
    export: Export,
    connector: &Connector,
    source: Source,
    chunk_bytes: usize,
) -> anyhow::Result<()> {
    let rows = source.rows.iter().map(|(_, rows)| rows).sum();
    let mut load = Load::begin(connector, source).await?;
    let export = load_rows(export, &mut load, rows, chunk_bytes).await?;
    make_indexes(&load).await?;
    verify(export, &load, rows).await?;
    load.analyze().await?;
    Ok(load.finish().await?)
}

/// Loads the rows that are missing, and reads ahead meanwhile.
async fn load_rows(
    export: Export,
    load: &mut Load,
    rows: u64,
    chunk_bytes: usize,
) -> anyhow::Result<Export> {
    let from = load.reached().to_vec();
    let done = from.iter().map(|(_, reached)| reached.rows).sum();
    let mut progress = Progress::begin("loading rows", rows, done);
    let (sender, mut chunks) = mpsc::channel(CHUNKS_AHEAD);
    let read = move || read_chunks(&export, from, chunk_bytes, &sender).map(|()| export);
    let reader = spawn_blocking(read);
    while let Some((table, rows)) = chunks.recv().await {
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        load.add(table, rows).await?;
        progress.add(count, table.name);
    }
    let export = reader.await??;
    progress.end();
    Ok(export)
}

/// Reads the rest of each table, until there are no more rows or the receiver is dropped.
fn read_chunks(
    export: &Export,
    from: Vec<(&'static Table, Reached)>,
    chunk_bytes: usize,
    sender: &Sender<Read>,
) -> Result<(), BackupError> {
    for (table, Reached { key: mut after, .. }) in from {
        loop {
            let rows = export.chunk(table, after.as_deref(), chunk_bytes)?;
            let Some(last) = rows.last() else { break };
            after = Some(table.key_of(last));
            if sender.blocking_send((table, rows)).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn make_indexes(load: &Load) -> anyhow::Result<()> {
    let indexes = load.indexes().await?;
    let count = u64::try_from(indexes.len()).unwrap_or(u64::MAX);
    let mut progress = Progress::begin("making indexes", count, 0);
    for index in indexes {
        load.make_index(&index).await?;
        progress.add(1, &index.name);
    }
    progress.end();
    Ok(())
}

/// Reads all rows of both stores and compares them.
async fn verify(export: Export, load: &Load, rows: u64) -> anyhow::Result<()> {
    let mut progress = Progress::begin("verifying rows", rows, 0);
    let (reader, mut digests) = hash_source(export);
    while let Some((table, expected)) = digests.recv().await {
        let found = load.digest(table).await?;
        if found != expected {
            bail!(
                "{} is not equal in the database: {} rows there, {} in the source. The \
                 database stays marked as incomplete; start again with an empty one",
                table.name,
                found.rows,
                expected.rows
            );
        }
        progress.add(found.rows, table.name);
    }
    reader.await??;
    progress.end();
    Ok(())
}

/// Hashes each table of the source, ahead of the receiver.
fn hash_source(export: Export) -> (JoinHandle<Result<(), BackupError>>, Receiver<Hashed>) {
    let (sender, digests) = mpsc::channel(export.tables().len().max(1));
    let reader = spawn_blocking(move || {
        for (table, _) in export.tables() {
            if sender.blocking_send((*table, export.digest(table)?)).is_err() {
                break;
            }
        }
        Ok(())
    });
    (reader, digests)
}

/// The number of rows of a table, of all tenants.
fn rows_of(source: &Source, table: &str) -> u64 {
    source.rows.iter().find(|(name, _)| *name == table).map_or(0, |(_, rows)| *rows)
}

fn in_words(flags: &MigrateFlags, source: &Source) -> String {
    let Source { log_id, position, .. } = source;
    let [users, deleted] = ["users", "deleted_users"].map(|table| rows_of(source, table));
    format!(
        "{}: {users} users and {deleted} deleted users, log {log_id} up to position {position}, \
         are in the database; serve it with --database, and do not serve this directory again",
        flags.from.display(),
    )
}

fn as_json(source: &Source) -> String {
    let Source { log_id, position, rows } = source;
    let count = |rows: u64| Json::Int(i64::try_from(rows).unwrap_or(i64::MAX));
    let [users, deleted] = ["users", "deleted_users"].map(|table| count(rows_of(source, table)));
    let rows = rows.iter().map(|(table, rows)| ((*table).to_owned(), count(*rows))).collect();
    let members = [
        ("log_id", Json::Text(log_id.to_string())),
        ("position", Json::Int(*position)),
        ("users", users),
        ("deleted_users", deleted),
        ("rows", Json::Object(rows)),
    ];
    text(members.map(|(name, value)| (name.to_owned(), value)).into())
}
