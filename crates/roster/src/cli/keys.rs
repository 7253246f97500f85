//! `roster keys`: on the keys of a running service, or of a store without its service.
//!
//! Here are those of a store: a data directory that is not served, or a PostgreSQL database, also
//! while it is served. The keys of a data directory that is served can be listed.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use roster_cli::{Days, Failure, Keys, NewKey, Record, exit, say};
use roster_core::access::{
    ApiKey, Authority, Expiry, KeyDraft, KeyFailure, KeyId, KeyRefusal, KeyService, Permit, Reach,
    Scope, Token,
};
use roster_core::{
    Clock, Json, OfflineKeyStore, StoreError, TenantId, TenantName, Timestamp, json::write_json,
    limits,
};
use roster_postgres::{Connector, KeyTable};
use roster_sqlite::{KeyFile, OpenError, has_store};

use super::data_flags::StoreFlags;
use super::warn_of_others;
use crate::clock::SystemClock;
use crate::config::{EXIT_CONFIG, Faults};
use crate::data_dir::DataDir;

/// The id of the request in events.
const COMMAND: &str = "command";

/// The flags of `roster keys`.
#[derive(Debug, Args)]
pub(super) struct KeysCommand {
    #[command(flatten, next_help_heading = "Store")]
    store: StoreFlags,

    #[command(flatten)]
    ask: roster_cli::KeysFlags,
}

/// Runs the command on a service, if one is named and no store, else on the store.
pub(super) fn run(flags: KeysCommand) -> ExitCode {
    let KeysCommand { store, ask } = flags;
    roster_cli::keys(ask, store.is_given(), |tenant| StoreKeys { flags: store, tenant })
}

/// The keys of a store, which is opened by each operation for what it does.
struct StoreKeys {
    flags: StoreFlags,
    /// The tenant that is named.
    tenant: Option<String>,
}

/// What is done with the keys.
#[derive(Clone, Copy)]
enum Purpose {
    Read,
    /// The first key may be created before the first start. Other commands create nothing.
    Create,
    Change,
}

/// A store whose keys are read or changed.
type Store = Arc<dyn OfflineKeyStore>;

impl Keys for StoreKeys {
    fn place(&self) -> Option<String> {
        let config = self.flags.clone().load().ok()?;
        Some(match &config.database {
            Some(database) => format!("the database {database}"),
            None => format!("the data directory {}", config.data.display()),
        })
    }

    async fn list(&self) -> Result<Vec<Record>, Failure> {
        self.read().await.map_err(|error| failure(&error))
    }

    async fn create(&self, key: &NewKey, is_dry_run: bool) -> Result<Record, Failure> {
        self.make(key, is_dry_run).await.map_err(|error| failure(&error))
    }

    async fn rotate(&self, id: &str, overlap_s: u64) -> Result<Record, Failure> {
        self.renew(id, overlap_s).await.map_err(|error| failure(&error))
    }

    async fn revoke(&self, id: &str) -> Result<(), Failure> {
        self.end(id).await.map_err(|error| failure(&error))
    }
}

impl StoreKeys {
    async fn read(&self) -> anyhow::Result<Vec<Record>> {
        let store = self.open(Purpose::Read).await?;
        let of = self.tenant_in(&store).await?;
        let (permit, operator) = (Permit::of_the_service(), Authority::of_the_service());
        let keys = keys_of(&store, TenantId::DEFAULT).list(permit, &operator).await?;
        let mut records = Vec::new();
        for key in keys {
            if self.tenant.is_none() || key.reach == Reach::Tenant(of) {
                records.push(record(&store, &key, None).await?);
            }
        }
        Ok(records)
    }

    async fn make(&self, key: &NewKey, is_dry_run: bool) -> anyhow::Result<Record> {
        let now = SystemClock::default().now();
        let scopes = key.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect();
        let draft = KeyDraft::of(&key.name, scopes, expiry(key.days, now), now);
        let draft = draft.map_err(|violations| {
            let details: Vec<_> =
                violations.items().iter().map(|one| one.detail.as_ref()).collect();
            anyhow!("the key is not valid: {}", details.join("; "))
        })?;
        let draft = KeyDraft { has_all_tenants: key.has_all_tenants, ..draft };
        let operator = Authority::of_the_service();
        if is_dry_run {
            // A tenant is in a store; without one, the first key makes the store.
            let of = match &self.tenant {
                Some(_) => self.tenant_in(&self.open(Purpose::Read).await?).await?,
                None => TenantId::DEFAULT,
            };
            let token = Token::new(&SystemClock::default());
            let token = token.context("the operating system has no random numbers")?;
            let key = draft.into_key(of, token.presented(), operator.actor(), now);
            let mut record = members(&key, None)?;
            record
                .retain(|name, _| matches!(&**name, "name" | "scopes" | "expires_at" | "tenants"));
            return Ok(record);
        }
        // Opened last, because it may create a data directory, which has no other tenant.
        let purpose = if self.tenant.is_some() { Purpose::Change } else { Purpose::Create };
        let store = self.open(purpose).await?;
        let desk = keys_of(&store, self.tenant_in(&store).await?);
        let made = desk.create(Permit::of_the_service(), draft, &operator, COMMAND).await;
        let (key, token) = made.map_err(failed)?;
        record(&store, &key, Some(&token)).await
    }

    async fn renew(&self, id: &str, overlap_s: u64) -> anyhow::Result<Record> {
        let store = self.open(Purpose::Change).await?;
        let (permit, operator) = (Permit::of_the_service(), Authority::of_the_service());
        let millis = i64::try_from(overlap_s)?.saturating_mul(1000);
        let desk = keys_of(&store, TenantId::DEFAULT);
        let rotated = desk.rotate(permit, key_id(id)?, millis, &operator, COMMAND).await;
        let (key, token) = rotated.map_err(failed)?;
        record(&store, &key, Some(&token)).await
    }

    async fn end(&self, id: &str) -> anyhow::Result<()> {
        let store = self.open(Purpose::Change).await?;
        let (permit, operator) = (Permit::of_the_service(), Authority::of_the_service());
        let desk = keys_of(&store, TenantId::DEFAULT);
        desk.revoke(permit, key_id(id)?, &operator, COMMAND).await.map_err(failed)?;
        Ok(())
    }

    async fn open(&self, purpose: Purpose) -> anyhow::Result<Store> {
        let config = self.flags.clone().load()?;
        if let Some(database) = &config.database {
            let connector = Connector::parse(database.as_str())?;
            let table = match purpose {
                Purpose::Create => KeyTable::create(connector).await,
                Purpose::Read | Purpose::Change => KeyTable::open(connector).await,
            };
            let table =
                table.with_context(|| format!("the store in {database} cannot be opened"))?;
            return Ok(Arc::new(table));
        }
        if matches!(purpose, Purpose::Read) {
            return Ok(Arc::new(KeyFile::open_to_read(&config.data)?));
        }
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
        Ok(Arc::new(file.context("the keys cannot be opened")?))
    }

    /// The tenant that is named, else the default one.
    async fn tenant_in(&self, store: &Store) -> anyhow::Result<TenantId> {
        let Some(text) = &self.tenant else { return Ok(TenantId::DEFAULT) };
        let missing = || anyhow!("there is no tenant {text:?}; `roster tenants` creates one");
        let name = TenantName::parse(text).ok_or_else(missing)?;
        let tenant = store.tenant_of_name(name).await.map_err(|error| failed(error.into()))?;
        let tenant = tenant.ok_or_else(missing)?;
        if tenant.deleted_at.is_some() {
            bail!("the tenant {text:?} is deleted; restore it first");
        }
        Ok(tenant.id)
    }
}

/// The keys of a store. A new one is of this tenant, unless it has all.
fn keys_of(store: &Store, tenant: TenantId) -> KeyService {
    let store: Store = Arc::clone(store);
    KeyService::new(store, Arc::new(SystemClock::default()), tenant)
}

/// A key as the service shows it, with the name of its tenant.
async fn record(store: &Store, key: &ApiKey, token: Option<&Token>) -> anyhow::Result<Record> {
    let mut record = members(key, token)?;
    if let Some(tenant) = tenant_of(store, key).await? {
        record.insert("tenants".to_owned(), tenant.into());
    }
    Ok(record)
}

fn members(key: &ApiKey, token: Option<&Token>) -> anyhow::Result<Record> {
    let mut members = key.members(SystemClock::default().now());
    let token = token.map(|token| ("key".to_owned(), Json::Text(token.reveal().to_owned())));
    members.extend(token);
    let mut text = Vec::new();
    write_json(&mut text, &Json::Object(members));
    Ok(serde_json::from_slice(&text)?)
}

/// The tenant in which a key works, unless it is the default one or all.
async fn tenant_of(store: &Store, key: &ApiKey) -> anyhow::Result<Option<String>> {
    let Reach::Tenant(tenant) = key.reach else { return Ok(None) };
    if tenant.is_default() {
        return Ok(None);
    }
    let name = store.name_of_tenant(tenant).await.map_err(|error| failed(error.into()))?;
    Ok(Some(match name {
        Some((name, false)) => name.to_string(),
        Some((name, true)) => format!("{name} (deleted)"),
        None => "a purged tenant".to_owned(),
    }))
}

fn expiry(days: Option<Days>, now: Timestamp) -> Expiry {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    match days {
        None => Expiry::Default,
        Some(Days::Never) => Expiry::Never,
        Some(Days::Count(days)) => {
            let end = now.as_millis().saturating_add(i64::from(days) * DAY_MS);
            Expiry::At(Timestamp::from_millis(end))
        }
    }
}

fn key_id(text: &str) -> anyhow::Result<KeyId> {
    match KeyId::parse(text) {
        Some(id) => Ok(id),
        None => bail!("{text:?} is not the id of a key; `roster keys list` prints the ids"),
    }
}

fn failure(error: &anyhow::Error) -> Failure {
    let is_locked = matches!(error.downcast_ref(), Some(OpenError::Locked(_)));
    let status = if error.is::<Faults>() { EXIT_CONFIG } else { exit::OTHER };
    let failure = Failure::new(status, format!("{error:#}"));
    if is_locked {
        failure.next(
            "ask the service that runs: `roster login URL`, then the same command without \
                      flags for the store",
        )
    } else {
        failure
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

#[cfg(test)]
mod tests {
    use roster_core::access::{Scope, Scopes};

    use super::limits;

    #[test]
    fn the_command_knows_every_scope() {
        let known = Scope::ALL.iter().map(|scope| scope.as_str());
        assert!(roster_cli::SCOPES.into_iter().eq(known));
        // What `all` leaves out.
        assert_eq!(Scopes::all().iter().count(), roster_cli::SCOPES.len() - 1);
        assert_eq!(limits::KEY_OVERLAP_DEFAULT_MS / 1000, 24 * 60 * 60);
        assert_eq!(limits::KEY_OVERLAP_MAX_MS / 1000, 30 * 24 * 60 * 60);
    }
}
