//! Opens the engine that the settings select.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use roster_core::{Guard, PolicyKey, Rules, Sharing, Store};
use roster_postgres::{Connector, Postgres};
use roster_sqlite::Sqlite;

use crate::config::{Config, DatabaseUrl, EmailUniqueness};

/// An open store.
#[derive(Clone)]
pub enum Engine {
    /// One file in the data directory.
    Sqlite(Arc<Sqlite>),
    /// A PostgreSQL database, which other processes may serve too.
    Postgres(Arc<Postgres>),
}

impl Engine {
    /// Opens the store.
    pub async fn open(config: &Config, data: &Path) -> anyhow::Result<Self> {
        if let Some(database) = &config.database {
            let store = Postgres::open(postgres_settings(config, database)?).await;
            let store = store.with_context(|| format!("the store in {database} cannot be opened"));
            return Ok(Self::Postgres(Arc::new(store?)));
        }
        let store = Sqlite::open(sqlite_settings(config, data));
        Ok(Self::Sqlite(Arc::new(store.context("the store cannot be opened")?)))
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }

    /// Executes queued requests, then closes the store.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close(),
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// The settings of a store in a data directory.
pub fn sqlite_settings(config: &Config, data: &Path) -> roster_sqlite::Settings {
    let (rules, stated) = rules(config);
    roster_sqlite::Settings {
        stated,
        cache_entries: config.cache_entries,
        write_queue_max: config.write_queue_max,
        write_wait_max: config.write_wait_max,
        ..roster_sqlite::Settings::new(data.to_owned(), rules)
    }
}

/// The settings of a store in a PostgreSQL database.
pub fn postgres_settings(
    config: &Config,
    database: &DatabaseUrl,
) -> anyhow::Result<roster_postgres::Settings> {
    let connector = Connector::parse(database.as_str())?;
    let (rules, stated) = rules(config);
    Ok(roster_postgres::Settings {
        stated,
        write_queue_max: config.write_queue_max,
        write_wait_max: config.write_wait_max,
        ..roster_postgres::Settings::new(connector, rules)
    })
}

/// The rules of a new store, and the policies that the configuration requires.
fn rules(config: &Config) -> (Rules, Vec<PolicyKey>) {
    let guard = |on| if on { Guard::On } else { Guard::Off };
    let email = config.email_uniqueness.map(|unique| match unique {
        EmailUniqueness::Primary => Sharing::Unique,
        EmailUniqueness::None => Sharing::Shared,
    });
    let unique = |unique| if unique { Sharing::Unique } else { Sharing::Shared };
    let external_id = config.unique_external_id.map(unique);
    let (put, delete) = (guard(config.put_guard), guard(config.delete_guard));
    let mut rules = Rules { put, delete, ..Rules::default() };
    let mut stated = Vec::new();
    for (key, sharing) in [(PolicyKey::Email, email), (PolicyKey::ExternalId, external_id)] {
        if let Some(sharing) = sharing {
            rules = rules.with_sharing(key, sharing);
            stated.push(key);
        }
    }
    (rules, stated)
}
