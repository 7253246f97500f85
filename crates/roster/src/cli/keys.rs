//! `roster keys`: creates, lists, rotates and revokes keys without the service.
//!
//! Works on a data directory that is not served, or on a PostgreSQL database, also while it is
//! served. It lists the keys of a data directory that is served. To change them, use `/keys` over
//! HTTP.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use roster_core::access::{
    ApiKey, Authority, Expiry, KeyDraft, KeyFailure, KeyId, KeyRefusal, KeyService, Permit, Reach,
    Scope, Scopes, Token,
};
use roster_core::{Clock, OfflineKeyStore, StoreError, TenantId, TenantName, Timestamp, limits};
use roster_postgres::{Connector, KeyTable};
use roster_sqlite::{KeyFile, OpenError, has_store};

use super::data_flags::StoreFlags;
use super::{print, say, warn_of_others};
use crate::clock::SystemClock;
use crate::data_dir::DataDir;

/// The id of the request in events.
const COMMAND: &str = "command";

/// The flags of `roster keys`.
#[derive(Debug, Args)]
pub(super) struct KeysFlags {
    #[command(flatten)]
    store: StoreFlags,

    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Create a key and print it once
    ///
    /// The first key closes the service permanently to callers without one.
    Create {
        /// The name of the key
        name: String,

        /// Its scopes: users:read, users:write, users:purge, events:read, metrics:read, keys:admin,
        /// schema:write, scim, scim:strict, users:restore-ids, tenants:admin, audit:read,
        /// webhooks:admin; separated by commas, or `all` for all but scim:strict
        #[arg(long, value_name = "SCOPES", required = true, value_delimiter = ',')]
        scope: Vec<String>,

        /// Days until the key expires, or `never`
        #[arg(long, value_name = "DAYS", default_value = "365")]
        days: String,

        /// Give it its scopes in all tenants: a key of the operator
        #[arg(long, conflicts_with = "tenant")]
        all_tenants: bool,

        /// The tenant in which it has its scopes, instead of the default one
        #[arg(long, value_name = "NAME")]
        tenant: Option<String>,
    },
    /// List all keys, without their secrets
    List,
    /// Create a new secret for a key and print it once
    Rotate {
        /// The key's id
        id: String,

        /// Seconds for which the old secret is still accepted; 0 ends it immediately
        #[arg(long, value_name = "SECONDS")]
        #[arg(default_value_t = limits::KEY_OVERLAP_DEFAULT_MS / 1000)]
        #[arg(value_parser = clap::value_parser!(i64).range(0..=limits::KEY_OVERLAP_MAX_MS / 1000))]
        overlap: i64,
    },
    /// Revoke a key permanently
    Revoke {
        /// The key's id
        id: String,
    },
}

/// Runs the subcommand and prints its result.
pub(super) fn run(flags: KeysFlags) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("threads cannot be started")?;
    runtime.block_on(execute(flags))?;
    Ok(ExitCode::SUCCESS)
}

/// What is done with the keys.
#[derive(Clone, Copy)]
enum Purpose {
    Read,
    /// The first key may be created before the first start. Other commands create nothing.
    Create,
    /// With the operation of the service that does the same.
    Change(&'static str),
}

/// A store whose keys are read or changed.
type Store = Arc<dyn OfflineKeyStore>;

async fn open(flags: StoreFlags, purpose: Purpose) -> anyhow::Result<KeyService> {
    Ok(keys_of(open_store(flags, purpose).await?, TenantId::DEFAULT))
}

/// The keys of a store. A new one is of this tenant, unless it has all.
fn keys_of(store: Store, tenant: TenantId) -> KeyService {
    KeyService::new(store, Arc::new(SystemClock::default()), tenant)
}

async fn open_store(flags: StoreFlags, purpose: Purpose) -> anyhow::Result<Store> {
    let config = flags.load()?;
    if let Some(database) = &config.database {
        let table = KeyTable::open(Connector::parse(database.as_str())?).await;
        let table = table.with_context(|| format!("the store in {database} cannot be opened"))?;
        return Ok(Arc::new(table));
    }
    let operation = match purpose {
        Purpose::Read => return Ok(Arc::new(KeyFile::open_to_read(&config.data)?)),
        Purpose::Create => "POST /keys",
        Purpose::Change(operation) => operation,
    };
    if !has_store(&config.data)? {
        let path = config.data.display();
        if !matches!(purpose, Purpose::Create) {
            bail!("there is no Roster database in {path}");
        }
        say(&format!("a new data directory is created: {path}"));
    }
    let directory = DataDir::open(&config.data)?;
    warn_of_others(&directory);
    let file = KeyFile::open(directory.path().to_owned());
    let file = file.map_err(|error| {
        if matches!(error, OpenError::Locked(_)) {
            return anyhow!("{error}; while a service runs on this directory, use {operation}");
        }
        anyhow::Error::from(error).context("the keys cannot be opened")
    });
    Ok(Arc::new(file?))
}

async fn execute(KeysFlags { store, act }: KeysFlags) -> anyhow::Result<()> {
    let (permit, operator) = (Permit::of_the_service(), Authority::of_the_service());
    let now = SystemClock::default().now();
    match act {
        Act::Create { name, scope, days, all_tenants, tenant } => {
            let draft = KeyDraft::of(&name, scopes(&scope)?, expiry(&days, now)?, now);
            let draft = draft.map_err(|violations| {
                let details: Vec<_> =
                    violations.items().iter().map(|one| one.detail.as_ref()).collect();
                anyhow!("the key is not valid: {}", details.join("; "))
            })?;
            let draft = KeyDraft { has_all_tenants: all_tenants, ..draft };
            // Opened last, because it may create a data directory, which has no other tenant.
            let purpose = match &tenant {
                Some(_) => Purpose::Change("POST /tenants/{tenant}/keys"),
                None => Purpose::Create,
            };
            let store = open_store(store, purpose).await?;
            let of = match tenant {
                Some(name) => tenant_named(&store, &name).await?,
                None => TenantId::DEFAULT,
            };
            let desk = keys_of(Arc::clone(&store), of);
            let (key, token) =
                desk.create(permit, draft, &operator, COMMAND).await.map_err(failed)?;
            show(&key, &place(&store, &key).await?, &token)
        }
        Act::List => {
            let store = open_store(store, Purpose::Read).await?;
            let desk = keys_of(Arc::clone(&store), TenantId::DEFAULT);
            list(&store, &desk.list(permit, &operator).await?, now).await
        }
        Act::Rotate { id, overlap } => {
            let store = open_store(store, Purpose::Change("POST /keys/{key_id}/rotate")).await?;
            let desk = keys_of(Arc::clone(&store), TenantId::DEFAULT);
            let rotated =
                desk.rotate(permit, key_id(&id)?, overlap * 1000, &operator, COMMAND).await;
            let (key, token) = rotated.map_err(failed)?;
            show(&key, &place(&store, &key).await?, &token)
        }
        Act::Revoke { id } => {
            let desk = open(store, Purpose::Change("DELETE /keys/{key_id}")).await?;
            let revoked = desk.revoke(permit, key_id(&id)?, &operator, COMMAND).await;
            let (key, is_revoked_now) = revoked.map_err(failed)?;
            let words = if is_revoked_now { "is revoked" } else { "was revoked before" };
            Ok(print(&format!("{} ({}) {words}", key.id, key.name))?)
        }
    }
}

/// Prints the key on stdout, for programs, and its description on stderr.
fn show(key: &ApiKey, place: &str, token: &Token) -> anyhow::Result<()> {
    let ends = key.expires_at.map_or("never ends".to_owned(), |end| format!("ends {end}"));
    let ApiKey { id, name, scopes, .. } = key;
    say(&format!("{id} ({name}): {scopes}{place}; {ends}; printed only once:"));
    Ok(print(token.reveal())?)
}

/// The tenant with a name.
async fn tenant_named(store: &Store, text: &str) -> anyhow::Result<TenantId> {
    let missing = || anyhow!("there is no tenant {text:?}; `POST /tenants` creates one");
    let name = TenantName::parse(text).ok_or_else(missing)?;
    let tenant = store.tenant_of_name(name).await.map_err(|error| failed(error.into()))?;
    let tenant = tenant.ok_or_else(missing)?;
    if tenant.deleted_at.is_some() {
        bail!("the tenant {text:?} is deleted; restore it first");
    }
    Ok(tenant.id)
}

/// Where a key works, if that is not the default tenant.
async fn place(store: &Store, key: &ApiKey) -> anyhow::Result<String> {
    let tenant = match key.reach {
        Reach::All => return Ok(" in all tenants".to_owned()),
        Reach::Tenant(tenant) if tenant.is_default() => return Ok(String::new()),
        Reach::Tenant(tenant) => tenant,
    };
    let name = store.name_of_tenant(tenant).await.map_err(|error| failed(error.into()))?;
    Ok(match name {
        Some((name, false)) => format!(" in tenant {name}"),
        Some((name, true)) => format!(" in deleted tenant {name}"),
        None => " in a purged tenant".to_owned(),
    })
}

async fn list(store: &Store, keys: &[ApiKey], now: Timestamp) -> anyhow::Result<()> {
    for key in keys {
        let place = place(store, key).await?;
        let used = key.last_used_at.map_or("never used".to_owned(), |at| format!("used {at}"));
        let state = key.state(now).as_str();
        let ApiKey { id, name, scopes, .. } = key;
        print(&format!("{id}  {state:7}  {used}  {name}  [{scopes}]{place}"))?;
    }
    Ok(())
}

fn scopes(words: &[String]) -> anyhow::Result<Scopes> {
    if words == ["all"] {
        return Ok(Scopes::all());
    }
    let scope = |word: &String| {
        let known = || Scope::ALL.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ");
        Scope::parse(word).ok_or_else(|| anyhow!("{word:?} is not a scope; scopes are {}", known()))
    };
    words.iter().map(scope).collect()
}

fn expiry(days: &str, now: Timestamp) -> anyhow::Result<Expiry> {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    if days == "never" {
        return Ok(Expiry::Never);
    }
    let days: i64 =
        days.parse().ok().filter(|days| (1..=36_500).contains(days)).with_context(|| {
            format!("{days:?} is not a number of days from 1 to 36500, nor `never`")
        })?;
    Ok(Expiry::At(Timestamp::from_millis(now.as_millis().saturating_add(days * DAY_MS))))
}

fn key_id(text: &str) -> anyhow::Result<KeyId> {
    match KeyId::parse(text) {
        Some(id) => Ok(id),
        None => bail!("{text:?} is not the id of a key; `roster keys list` prints the ids"),
    }
}

fn failed(failure: KeyFailure) -> anyhow::Error {
    match failure {
        KeyFailure::Store(error) => anyhow!(StoreError::with_causes(&error)),
        KeyFailure::Refused(KeyRefusal::NotFound) => anyhow!("no key has this id"),
        KeyFailure::Refused(KeyRefusal::Ended) => anyhow!("the key was revoked or has expired"),
        KeyFailure::Refused(KeyRefusal::TooMany) => {
            anyhow!("there are {} keys already: revoke unused keys", limits::KEYS_MAX)
        }
        KeyFailure::Refused(KeyRefusal::IdTaken) => {
            anyhow!("the key's id already exists; try again")
        }
        KeyFailure::Refused(KeyRefusal::TenantNotFound) => anyhow!("the tenant was deleted"),
        // Does not occur: this program acts for the operator.
        KeyFailure::Refused(KeyRefusal::NotOperator | KeyRefusal::Closed) => {
            anyhow!("only the operator may do this")
        }
    }
}
