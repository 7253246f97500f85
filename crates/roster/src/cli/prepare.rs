//! `roster prepare`: creates the schema of a PostgreSQL database, and grants privileges to the
//! service's role.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, builder::NonEmptyStringValueParser};

use super::data_flags::StoreFlags;
use super::usage;
use crate::engine::postgres_settings;

/// The flags of `roster prepare`.
#[derive(Debug, Args)]
pub(super) struct PrepareFlags {
    #[command(flatten)]
    store: StoreFlags,

    /// The role of the service; it may read and write rows, but not change the schema
    #[arg(long, value_name = "ROLE", value_parser = NonEmptyStringValueParser::new())]
    service_role: Option<String>,
}

/// Prepares the database.
pub(super) fn run(flags: PrepareFlags) -> anyhow::Result<ExitCode> {
    let config = flags.store.load()?;
    let database = config.database.as_ref();
    let database =
        database.ok_or_else(|| usage("name a PostgreSQL database, for example with --database"))?;
    let settings = postgres_settings(&config, database)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("threads cannot be started")?;
    let prepared = roster_postgres::prepare(&settings, flags.service_role.as_deref());
    let prepared = runtime.block_on(prepared);
    prepared.with_context(|| format!("{database} cannot be prepared"))?;
    writeln!(io::stdout().lock(), "{database} is ready for this release")?;
    Ok(ExitCode::SUCCESS)
}
