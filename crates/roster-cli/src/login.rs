//! `roster login`, `roster logout` and `roster whoami`.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use clap::Args;
use roster_client::{Client, Error};

use crate::connection::{Remote, Target, full_url, read_credential};
use crate::failure::{Failure, Outcome, exit};
use crate::output::{Output, Record};
use crate::profiles::{self, Profile, Profiles};
use crate::text::say;

/// The flags of `roster login`.
#[derive(Debug, Args)]
#[command(mut_arg("profile", |flag| flag.help(
    "The name of the profile to store [default: host, port and path of the URL] \
     [env: ROSTER_PROFILE]"
)))]
pub struct LoginFlags {
    /// URL of the service, such as https://directory.example.com or :8080 [env: ROSTER_URL]
    #[arg(value_name = "URL", conflicts_with = "url")]
    service: Option<String>,

    #[command(flatten)]
    remote: Remote,
}

/// The flags of `roster logout`.
#[derive(Debug, Args)]
pub struct LogoutFlags {
    /// URL or profile of the service [default: the last one you logged in to]
    service: Option<String>,
}

/// The flags of `roster whoami`.
#[derive(Debug, Args)]
pub struct WhoamiFlags {
    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    remote: Remote,
}

pub(crate) async fn login(flags: LoginFlags) -> Outcome {
    let remote = flags.remote.with_environment()?;
    let Some(service) = flags.service.or_else(|| remote.url.clone()) else {
        return Err(Failure::usage("which service?").next("roster login URL"));
    };
    let mut target = Target {
        url: full_url(&service)?,
        key: None,
        tenant: remote.tenant.clone(),
        profile: None,
        allow_http: remote.allow_http,
    };
    target.key = match &remote.key_file {
        Some(file) => Some(read_credential(file)?),
        None => match target.client()?.caller().await {
            // An open service needs none.
            Ok(caller) if caller.open => None,
            Err(error) if !matches!(&error, Error::Problem(problem) if problem.status == 401) => {
                return Err(error.into());
            }
            Ok(_) | Err(_) => Some(ask_for_key(&target)?),
        },
    };
    let caller = target.client()?.caller().await?;
    let name = remote.profile.clone().unwrap_or_else(|| default_name(&target.url));
    let mut profiles = Profiles::read()?;
    let profile = Profile {
        url: target.url.clone(),
        key: target.key,
        tenant: target.tenant,
        allow_http: target.allow_http,
    };
    profiles.by_name.insert(name.clone(), profile);
    profiles.current = Some(name.clone());
    profiles.write()?;
    let who = caller.name.as_deref().unwrap_or(&caller.actor);
    say(&format!("logged in to {} as {who}, profile {name}", target.url));
    if caller.open {
        say("the service is open: every program on its machine may call it without a key");
    }
    say("next: roster users list");
    Ok(0)
}

/// The host, port and path of the URL.
fn default_name(url: &str) -> String {
    url.split_once("://").map_or(url, |(_, rest)| rest).to_owned()
}

fn ask_for_key(target: &Target) -> Result<String, Failure> {
    // Fails before the question if the key could not be sent.
    let key = Some("rst_".to_owned());
    let (url, tenant, profile) = (target.url.clone(), None, None);
    Target { url, key, tenant, profile, allow_http: target.allow_http }.service()?;
    if !io::stdin().is_terminal() {
        return read_credential(Path::new("-")).map_err(|failure| {
            let next = "--key-file FILE reads it from a file, --key-file - from stdin";
            Failure::usage(format!("there is no terminal to ask for the key, and {}", failure.text))
                .next(next)
        });
    }
    let key = rpassword::prompt_password(format!("Key for {}: ", target.url))?;
    let key = key.trim();
    if key.is_empty() {
        return Err(Failure::new(exit::NOT_AUTHENTICATED, "no key was given"));
    }
    Ok(key.to_owned())
}

pub(crate) fn logout(flags: &LogoutFlags) -> Outcome {
    let mut profiles = Profiles::read()?;
    let name = match &flags.service {
        None => profiles.current.clone(),
        Some(name) if profiles.by_name.contains_key(name) => Some(name.clone()),
        Some(url) => {
            let url = full_url(url)?;
            let found = profiles.by_name.iter().find(|(_, profile)| profile.url == url);
            found.map(|(name, _)| name.clone())
        }
    };
    let Some(profile) = name.and_then(|name| profiles.by_name.remove_entry(&name)) else {
        return Err(Failure::new(exit::NOT_FOUND, "you are not logged in to this service"));
    };
    if profiles.current.as_deref() == Some(&profile.0) {
        profiles.current = None;
    }
    profiles.write()?;
    say(&format!("the key for {} is removed from {}", profile.1.url, profiles::path()?.display()));
    say("the key itself is still valid: roster keys revoke ends it");
    Ok(0)
}

pub(crate) async fn whoami(flags: WhoamiFlags) -> Outcome {
    let target = flags.remote.target()?;
    let client: Client = target.client()?;
    let caller = client.caller().await?;
    let mut record = Record::new();
    record.insert("url".to_owned(), client.url().into());
    if let Some(profile) = target.profile {
        record.insert("profile".to_owned(), profile.into());
    }
    // By its text, which keeps the order of the members.
    let caller: Record = serde_json::from_str(&serde_json::to_string(&caller)?)?;
    record.extend(caller);
    flags.output.record(&record)?;
    Ok(0)
}
