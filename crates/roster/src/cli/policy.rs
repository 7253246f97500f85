//! `roster policy`: prints and changes the uniqueness policy of a store.
//!
//! The store may be served meanwhile. Its processes apply a change to their next write at the
//! latest, and show it within seconds.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};
use roster_core::{Clock, PolicyKey, Sharing};
use roster_postgres::Connector;

use super::data_flags::StoreFlags;
use super::usage;
use crate::clock::SystemClock;

/// The flags of `roster policy`.
#[derive(Debug, Args)]
pub(super) struct PolicyFlags {
    #[command(flatten)]
    store: StoreFlags,

    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Print the policy, one line per name
    Show,
    /// Change the policy
    ///
    /// Fails if users share values that are to be unique, and lists ids of some of them.
    Set {
        /// email-uniqueness or unique-external-id
        name: String,

        /// primary or none; true or false
        value: String,
    },
}

/// Runs the subcommand and prints the policy.
pub(super) fn run(flags: PolicyFlags) -> anyhow::Result<ExitCode> {
    let wanted = match flags.act {
        Act::Show => None,
        Act::Set { name, value } => Some(parse(&name, &value)?),
    };
    let config = flags.store.load()?;
    let policy = if let Some(database) = &config.database {
        let connector = Connector::parse(database.as_str())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("threads cannot be started")?;
        let policy = runtime.block_on(in_database(&connector, wanted));
        policy.with_context(|| format!("the policy of {database} cannot be used"))?
    } else {
        if let Some((key, sharing)) = wanted {
            roster_sqlite::change_policy(&config.data, key, sharing, SystemClock::default().now())?;
        }
        roster_sqlite::read_policy(&config.data)?
    };
    let mut out = io::stdout().lock();
    for (key, sharing) in policy {
        writeln!(out, "{} {}", key.name(), key.value(sharing))?;
    }
    Ok(ExitCode::SUCCESS)
}

type Policy = Vec<(PolicyKey, Sharing)>;

async fn in_database(
    connector: &Connector,
    wanted: Option<(PolicyKey, Sharing)>,
) -> Result<Policy, roster_postgres::OpenError> {
    if let Some((key, sharing)) = wanted {
        roster_postgres::change_policy(connector, key, sharing, SystemClock::default().now())
            .await?;
    }
    roster_postgres::read_policy(connector).await
}

fn parse(name: &str, value: &str) -> anyhow::Result<(PolicyKey, Sharing)> {
    let names: Vec<&str> = PolicyKey::ALL.iter().map(|key| key.name()).collect();
    let key = PolicyKey::ALL.iter().copied().find(|key| key.name() == name);
    let key = key.ok_or_else(|| {
        usage(format!("{name:?} is not a policy; policies are {}", names.join(" or ")))
    })?;
    let values = [Sharing::Unique, Sharing::Shared].map(|sharing| key.value(sharing));
    let sharing = key.parse_value(value);
    let refused = || format!("{name} cannot be {value:?}; values are {}", values.join(" or "));
    Ok((key, sharing.ok_or_else(|| usage(refused()))?))
}
