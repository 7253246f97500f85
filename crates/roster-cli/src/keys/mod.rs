//! `roster keys`: the same commands on the keys of a service, or on those of a store.

mod place;
mod secret_file;
mod service;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use futures_util::stream;
use roster_client::Error;

use crate::ask::confirm;
use crate::connection::Remote;
use crate::failure::{Failure, Outcome, exit};
use crate::output::{Output, Record, not_taken, print_secret};
use crate::records::{label, of_several, text};
use crate::text::say;
use secret_file::SecretFile;
use service::ServiceKeys;

pub use place::{Days, Keys, NewKey};

/// The scopes of keys.
pub const SCOPES: [&str; 13] = [
    "users:read",
    "users:write",
    "users:purge",
    "events:read",
    "metrics:read",
    "keys:admin",
    "scim",
    "scim:strict",
    "schema:write",
    "users:restore-ids",
    "tenants:admin",
    "audit:read",
    "webhooks:admin",
];

/// The word for all scopes except this one.
const ALL_BUT: (&str, &str) = ("all", "scim:strict");

/// The longest life of a key in days.
const DAYS_MAX: u32 = 36_500;

/// The longest overlap of two secrets in seconds.
const OVERLAP_MAX: u64 = 30 * 24 * 60 * 60;

/// The most characters of a name.
const NAME_MAX: usize = 64;

const COLUMNS: [&str; 7] =
    ["id", "name", "status", "scopes", "expires_at", "last_used_at", "tenants"];

/// The flags of `roster keys`, besides those for a store.
#[derive(Debug, Args)]
pub struct KeysFlags {
    #[command(subcommand)]
    act: Act,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// List all keys, without their secrets
    #[command(visible_alias = "ls")]
    List,
    /// Create a key and print it once
    ///
    /// The key alone goes to stdout, or with --out into a file. The first key closes the service
    /// permanently to callers without one.
    #[command(alias = "add", alias = "new")]
    Create(CreateKeyFlags),
    /// Create a new secret for a key and print it once
    Rotate {
        /// The id or the name of the key
        key: String,

        /// Seconds for which the old secret is still accepted; 0 ends it immediately
        #[arg(long, value_name = "SECONDS", default_value_t = 24 * 60 * 60)]
        #[arg(value_parser = clap::value_parser!(u64).range(..=OVERLAP_MAX))]
        overlap: u64,

        /// Write the key into this new file, which this user alone can read, instead of to stdout
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,

        /// Show which key would be rotated, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Revoke keys permanently
    #[command(visible_alias = "rm", alias = "delete", alias = "remove")]
    Revoke {
        /// The ids or the names of the keys
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,

        /// Do not ask
        #[arg(short, long)]
        yes: bool,

        /// Show which keys would be revoked, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
struct CreateKeyFlags {
    /// The name of the key
    #[arg(value_parser = name)]
    name: String,

    /// Its scopes, separated by commas; scim for an identity provider such as Okta, and
    /// all for all but scim:strict
    #[arg(long, value_name = "SCOPES", required = true, value_delimiter = ',')]
    #[arg(value_parser = PossibleValuesParser::new([ALL_BUT.0].iter().chain(&SCOPES)))]
    scope: Vec<String>,

    /// Days until the key expires, or never [default: 365]
    #[arg(long, value_name = "DAYS", value_parser = days)]
    days: Option<Days>,

    /// Give it its scopes in all tenants: a key of the operator
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,

    /// Write the key into this new file, which this user alone can read, instead of to stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Show what would be created, and create nothing
    #[arg(long)]
    dry_run: bool,
}

impl KeysFlags {
    /// The tenant that is named, by the flag or the environment.
    fn tenant(&self) -> Result<Option<String>, Failure> {
        match &self.act {
            Act::Create(flags) if flags.all_tenants => Ok(None),
            Act::Create(_) | Act::List | Act::Rotate { .. } | Act::Revoke { .. } => {
                Ok(self.remote.with_environment()?.tenant)
            }
        }
    }
}

/// Runs the command on the store, if flags name one or nothing names a service. `store` gets the
/// tenant that is named.
pub(crate) async fn run<K: Keys>(
    flags: KeysFlags,
    names_store: bool,
    store: impl FnOnce(Option<String>) -> K,
) -> Outcome {
    let tenant = flags.tenant()?;
    let KeysFlags { act, output, remote } = flags;
    if names_store && remote.is_given() {
        return Err(Failure::usage("these flags name a store and a service: give one of both")
            .next(
                "--data, --database and --config name a store; --url, --profile and --key-file \
                   a service",
            ));
    }
    if matches!(&act, Act::Create(flags) if flags.all_tenants && remote.tenant.is_some()) {
        return Err(Failure::usage("--all-tenants and --tenant exclude each other"));
    }
    if !names_store && remote.names_a_service()? {
        let is_of_service = matches!(&act, Act::Create(flags) if flags.all_tenants);
        execute(act, &output, &ServiceKeys::of(&remote, is_of_service)?).await
    } else {
        execute(act, &output, &store(tenant)).await
    }
}

async fn execute(act: Act, output: &Output, keys: &impl Keys) -> Outcome {
    if let Some(place) = keys.place() {
        say(&format!("in {place}"));
    }
    match act {
        Act::List => list(output, keys).await,
        Act::Create(flags) => create(output, keys, flags).await,
        Act::Rotate { key, overlap, out, dry_run } => {
            let file = out.map(SecretFile::begin).transpose()?;
            rotate(output, keys, &key, overlap, file, dry_run).await
        }
        Act::Revoke { keys: names, yes, dry_run } => {
            revoke(keys, output, &names, yes, dry_run).await
        }
    }
}

async fn list(output: &Output, keys: &impl Keys) -> Outcome {
    let all = keys.list().await?;
    // Most services have one tenant.
    let has_tenants = all.iter().any(|key| key.contains_key("tenants"));
    let mut columns = COLUMNS.to_vec();
    if !has_tenants {
        columns.pop();
    }
    let records = stream::iter(all.into_iter().map(Ok::<Record, Error>));
    let (count, _) = output.list(records, &columns, None).await?;
    if count == 0 {
        say("no keys");
    }
    Ok(0)
}

async fn create(output: &Output, keys: &impl Keys, flags: CreateKeyFlags) -> Outcome {
    let CreateKeyFlags { name, scope, days, all_tenants: has_all_tenants, out, dry_run } = flags;
    let file = out.map(SecretFile::begin).transpose()?;
    let key = NewKey { name, scopes: scopes(&scope), days, has_all_tenants };
    let made = keys.create(&key, dry_run).await?;
    if dry_run {
        say(&format!("would create a key: {}", described(&made)));
        say("dry run: nothing was created");
        return Ok(0);
    }
    say(&format!("created key {}: {}", text(&made, "id"), described(&made)));
    reveal(output, made, file)
}

/// What a key permits, and until when.
fn described(key: &Record) -> String {
    let end = text(key, "expires_at");
    let end = if end.is_empty() { "never expires".to_owned() } else { format!("expires {end}") };
    let place = match text(key, "tenants").as_str() {
        "" => String::new(),
        "all" => " in all tenants".to_owned(),
        other => format!(" in {other}"),
    };
    let scopes = text(key, "scopes");
    let all = SCOPES.iter().filter(|scope| **scope != ALL_BUT.1);
    let is_all = all.copied().eq(scopes.split(','));
    let scopes = if is_all { format!("all but {}", ALL_BUT.1) } else { scopes };
    format!("{} ({scopes}){place}, {end}", label(key))
}

/// Prints a key alone on stdout, or its record for programs. With a file the key goes there alone.
fn reveal(output: &Output, mut key: Record, file: Option<SecretFile>) -> Outcome {
    let secret = text(&key, "key");
    let kept = file.map(|file| file.finish(&secret));
    if let Some(Ok(path)) = &kept {
        say(&format!("the key is in {}, and is shown nowhere else", path.display()));
        key.retain(|member, _| member != "key");
    } else if output.is_table() {
        say("the key on stdout is shown only once");
        print_secret(&secret)?;
    }
    if !output.is_table() {
        output.record(&key).map_err(not_taken)?;
    }
    match kept {
        Some(Err(failure)) => Err(failure),
        Some(Ok(_)) | None => Ok(0),
    }
}

async fn rotate(
    output: &Output,
    keys: &impl Keys,
    name: &str,
    overlap_s: u64,
    file: Option<SecretFile>,
    is_dry_run: bool,
) -> Outcome {
    let key = find(&keys.list().await?, name)?;
    let id = text(&key, "id");
    if is_ended(&key) {
        let text = format!("the key {id} ({}) is {}", label(&key), text(&key, "status"));
        return Err(Failure::new(exit::CONFLICT, text).next("roster keys create makes another one"));
    }
    if is_dry_run {
        say(&format!("would give a new secret to key {id}: {}", described(&key)));
        say("dry run: nothing was changed");
        return Ok(0);
    }
    let rotated = keys.rotate(&id, overlap_s).await?;
    let until = text(&rotated, "former_secret_until");
    let old = if until.is_empty() {
        "the old secret is not valid any more".to_owned()
    } else {
        format!("the old secret is valid until {until}")
    };
    say(&format!("rotated key {id} ({}); {old}", label(&rotated)));
    reveal(output, rotated, file)
}

async fn revoke(
    keys: &impl Keys,
    output: &Output,
    names: &[String],
    is_yes: bool,
    is_dry_run: bool,
) -> Outcome {
    let all = keys.list().await?;
    let found = names.iter().map(|name| find(&all, name)).collect::<Result<Vec<_>, _>>()?;
    let (ended, valid): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|key| text(key, "status") == "revoked");
    for key in &ended {
        output.tell(&format!("{} ({}) was revoked before", text(key, "id"), label(key)))?;
    }
    if is_dry_run {
        for key in &valid {
            output.tell(&format!("would revoke {}: {}", text(key, "id"), described(key)))?;
        }
        say("dry run: nothing was changed");
        return Ok(0);
    }
    if !valid.is_empty() {
        let names: Vec<String> =
            valid.iter().map(|key| format!("{} ({})", text(key, "id"), label(key))).collect();
        let question = format!(
            "Revoke {}? Programs that use it lose access at once, and nothing brings it back.",
            names.join(", ")
        );
        confirm(&question, is_yes)?;
    }
    for (at, key) in valid.iter().enumerate() {
        let id = text(key, "id");
        keys.revoke(&id).await.map_err(|failure| of_several(failure, at, &valid))?;
        output.tell(&format!("{id} ({}) is revoked", label(key)))?;
    }
    Ok(0)
}

fn is_ended(key: &Record) -> bool {
    text(key, "status") != "active"
}

/// The key with this id, or the only valid one with this name, else the only one.
fn find(all: &[Record], name: &str) -> Result<Record, Failure> {
    if let Some(key) = all.iter().find(|key| text(key, "id") == name) {
        return Ok(key.clone());
    }
    let mut found: Vec<&Record> = all.iter().filter(|key| text(key, "name") == name).collect();
    if found.len() > 1 && found.iter().any(|key| !is_ended(key)) {
        found.retain(|key| !is_ended(key));
    }
    match found.as_slice() {
        [] => {
            let text = format!("no key has the id or the name {name}");
            Err(Failure::new(exit::NOT_FOUND, text).next("roster keys list"))
        }
        [key] => Ok((*key).clone()),
        several => {
            let ids: Vec<String> = several.iter().map(|key| text(key, "id")).collect();
            let text = format!("{} keys are called {name}: {}", ids.len(), ids.join(", "));
            Err(Failure::usage(text).next("name one by its id"))
        }
    }
}

/// The scopes that these words name, in the order of the table.
fn scopes(words: &[String]) -> Vec<String> {
    let is_named = |name: &&str| words.iter().any(|word| word == name);
    let is_all = is_named(&ALL_BUT.0);
    let chosen = SCOPES.iter().filter(|scope| is_named(scope) || is_all && **scope != ALL_BUT.1);
    chosen.map(|scope| (*scope).to_owned()).collect()
}

fn name(text: &str) -> Result<String, String> {
    match text.chars().count() {
        0 => Err("say what the key is for".to_owned()),
        1..=NAME_MAX => Ok(text.to_owned()),
        _ => Err(format!("a name has up to {NAME_MAX} characters")),
    }
}

fn days(text: &str) -> Result<Days, String> {
    if text == "never" {
        return Ok(Days::Never);
    }
    let days = text.parse().ok().filter(|days| (1..=DAYS_MAX).contains(days));
    days.map(Days::Count)
        .ok_or_else(|| format!("this is not a number of days from 1 to {DAYS_MAX}, nor `never`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(id: &str, name: &str, status: &str) -> Record {
        serde_json::from_value(json!({"id": id, "name": name, "status": status})).unwrap()
    }

    #[test]
    fn a_key_is_found_by_its_id_or_its_name() {
        let all = [
            key("a", "old", "revoked"),
            key("b", "old", "active"),
            key("c", "two", "active"),
            key("d", "two", "active"),
            key("e", "gone", "revoked"),
            key("f", "a", "active"),
        ];
        for (name, id) in [("a", "a"), ("old", "b"), ("c", "c"), ("gone", "e")] {
            assert_eq!(text(&find(&all, name).unwrap(), "id"), id, "{name}");
        }
        assert_eq!(find(&all, "two").unwrap_err().status, exit::USAGE);
        assert_eq!(find(&all, "nobody").unwrap_err().status, exit::NOT_FOUND);
    }

    #[test]
    fn all_stands_for_all_but_one() {
        let of = |words: &[&str]| {
            scopes(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["scim", "users:read"]), ["users:read", "scim"]);
        assert_eq!(of(&["all"]).len(), SCOPES.len() - 1);
        assert_eq!(of(&["all", "scim:strict"]).len(), SCOPES.len());
    }

    #[test]
    fn days_are_a_number_or_never() {
        assert_eq!((days("never"), days("1")), (Ok(Days::Never), Ok(Days::Count(1))));
        for wrong in ["", "0", "36501", "-1", "1.5", "ever"] {
            assert!(days(wrong).is_err(), "{wrong}");
        }
    }
}
