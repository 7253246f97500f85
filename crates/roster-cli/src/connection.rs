//! Which service a command asks, and with which credential.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use roster_client::{Client, Error, is_loopback};
use url::Url;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::profiles::Profiles;
use crate::text::{quoted, say};

/// The service that is asked without a profile.
const DEFAULT: &str = "http://127.0.0.1:8080";

/// The largest key or token that is read.
const CREDENTIAL_BYTES_MAX: u64 = 16 * 1024;

/// Which service is asked.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Service")]
pub struct Remote {
    /// URL of the service, such as https://directory.example.com or :8080 [default: that of the last
    /// login, else http://127.0.0.1:8080] [env: ROSTER_URL]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) url: Option<String>,

    /// Ask the service of this profile [env: ROSTER_PROFILE]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) profile: Option<String>,

    /// Read the key or token from this file; - is stdin [env: ROSTER_KEY_FILE]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) key_file: Option<PathBuf>,

    /// Work in this tenant instead of the default one [env: ROSTER_TENANT]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) tenant: Option<String>,

    /// Send the key unencrypted, although the service is on another machine
    #[arg(long, global = true)]
    pub(crate) allow_http: bool,
}

/// What a command asks.
pub(crate) struct Target {
    pub(crate) url: String,
    pub(crate) key: Option<String>,
    pub(crate) tenant: Option<String>,
    /// The profile from which the key is.
    pub(crate) profile: Option<String>,
    pub(crate) allow_http: bool,
}

impl Remote {
    /// With what the environment says about the service, where no flag does.
    pub(crate) fn with_environment(&self) -> Result<Self, Failure> {
        let Environment { url, profile, key_file, tenant } = Environment::read()?;
        let own = self.clone();
        Ok(Self {
            url: own.url.or(url),
            profile: own.profile.or(profile),
            key_file: own.key_file.or(key_file),
            tenant: own.tenant.or(tenant),
            allow_http: own.allow_http,
        })
    }

    /// Whether a flag names a service.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some() || self.profile.is_some() || self.key_file.is_some()
    }

    /// Whether a service is named, by a flag, the environment or a login.
    pub(crate) fn names_a_service(&self) -> Result<bool, Failure> {
        let environment = Environment::read()?;
        if self.is_given() || environment.url.is_some() || environment.profile.is_some() {
            return Ok(true);
        }
        Ok(Profiles::read()?.named(None)?.is_some())
    }

    /// Finds the service and its credential. A key of a profile is sent to the URL of that profile
    /// alone.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        let Self { url, profile, key_file, tenant, allow_http } = self.with_environment()?;
        let profiles = Profiles::read()?;
        // A flag wins over a variable that names another service.
        let url = url.filter(|_| self.url.is_some() || self.profile.is_none());
        let url = url.map(|url| full_url(&url)).transpose()?;
        let is_of_url = |name: &String| {
            profiles.by_name.get(name).is_some_and(|one| Some(&one.url) == url.as_ref())
        };
        let is_first = self.profile.is_some() || self.url.is_none();
        let profile = profile.filter(|name| is_first || is_of_url(name));
        let found = profiles.named(profile.as_deref())?;
        let found = match (&url, found) {
            (Some(url), Some((name, found))) if found.url == *url => Some((name, found)),
            (Some(url), _) => {
                if profile.is_some() {
                    return Err(Failure::usage(format!("the profile is not that of {url}")));
                }
                let same = profiles.by_name.iter().find(|(_, one)| one.url == *url);
                same.map(|(name, one)| (name.as_str(), one))
            }
            (None, found) => found,
        };
        let key = match key_file {
            Some(file) => Some(read_credential(&file)?),
            None => found.and_then(|(_, profile)| profile.key.clone()),
        };
        let stored = found.map(|(_, profile)| profile);
        Ok(Target {
            url: url.or_else(|| Some(stored?.url.clone())).unwrap_or_else(|| DEFAULT.to_owned()),
            key,
            tenant: tenant.or_else(|| stored?.tenant.clone()),
            profile: found.map(|(name, _)| name.to_owned()),
            allow_http: allow_http || stored.is_some_and(|profile| profile.allow_http),
        })
    }

    /// A client of the service and tenant.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        self.target()?.client()
    }

    /// Whether the key comes from stdin.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.key_file.as_ref().is_some_and(|file| file.as_os_str() == "-")
    }

    /// Writes a command to stderr, with these flags, so that it asks the same service.
    pub(crate) fn suggest(&self, command: &str) {
        say(&format!("{command}{}", self.words()));
    }

    /// These flags, as they are written.
    pub(crate) fn words(&self) -> String {
        let key_file = self.key_file.as_ref().map(|path| path.to_string_lossy().into_owned());
        let flags = [
            ("url", self.url.clone()),
            ("profile", self.profile.clone()),
            ("key-file", key_file),
            ("tenant", self.tenant.clone()),
        ];
        let mut words = String::new();
        for (flag, value) in flags {
            let value = value.map(|value| format!(" --{flag} {}", quoted(&value)));
            words.push_str(&value.unwrap_or_default());
        }
        words + if self.allow_http { " --allow-http" } else { "" }
    }
}

impl Target {
    /// A client of the service.
    pub(crate) fn service(&self) -> Result<Client, Failure> {
        let waits = |error: &Error| say(&format!("waiting, and trying again: {error}"));
        let mut builder = Client::builder(&self.url)?.on_wait(waits);
        if let Some(key) = &self.key {
            if !self.allow_http && !is_private(&self.url) {
                let text = format!("the key would be sent to {} unencrypted", self.url);
                return Err(Failure::usage(text).next("use https, or --allow-http"));
            }
            builder = builder.credential(key)?;
        }
        Ok(builder.build()?)
    }

    /// A client of the tenant, if one is named, else of the service.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let service = self.service()?;
        match &self.tenant {
            Some(tenant) => Ok(service.tenant(tenant)?),
            None => Ok(service),
        }
    }
}

/// Whether the connection is private: TLS, or a service on this machine.
fn is_private(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.scheme() == "https" || is_loopback(&url))
}

/// The URL for what people write: `:8080`, `8080`, `localhost:8080`, `directory.example.com`.
pub(crate) fn full_url(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if is_key(text) {
        return Err(Failure::usage("a key or token is given where a URL belongs")
            .next("roster login URL asks for the key; --key-file FILE reads it from a file"));
    }
    let port = text.strip_prefix(':').unwrap_or(text);
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let full = if is_port {
        format!("http://127.0.0.1:{port}")
    } else if text.contains("://") {
        text.to_owned()
    } else {
        let plain = format!("http://{text}");
        let is_local = Url::parse(&plain).is_ok_and(|url| is_loopback(&url));
        if is_local { plain } else { format!("https://{text}") }
    };
    Ok(Client::builder(&full)?.build()?.url().to_owned())
}

/// Whether it is a key or a token. Who writes it in place of a URL or of a file does not want to
/// see it in a log.
fn is_key(text: &str) -> bool {
    text.starts_with("rst_") || text.starts_with("eyJ")
}

/// Reads a key or token from a file, or from stdin.
pub(crate) fn read_credential(file: &Path) -> Result<String, Failure> {
    let shown = file.display().to_string();
    let shown = if is_key(&shown) { "a key".to_owned() } else { shown };
    let unreadable = |why: &str| Failure::usage(format!("{shown} is no key file: {why}"));
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        io::stdin().take(CREDENTIAL_BYTES_MAX).read_to_string(&mut text)
    } else {
        fs::File::open(file)
            .and_then(|file| file.take(CREDENTIAL_BYTES_MAX).read_to_string(&mut text))
    };
    read.map_err(|error| unreadable(&error.to_string()))?;
    let credential = text.trim();
    if credential.is_empty() || credential.contains(char::is_whitespace) {
        return Err(unreadable("it must contain one key or token and nothing else"));
    }
    Ok(credential.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_of_a_url_are_completed() {
        for (short, full) in [
            (":9000", "http://127.0.0.1:9000"),
            ("8080", "http://127.0.0.1:8080"),
            ("localhost:8080", "http://localhost:8080"),
            ("127.0.0.1", "http://127.0.0.1"),
            ("[::1]:80", "http://[::1]"),
            ("directory.example.com", "https://directory.example.com"),
            ("directory.example.com/v1/", "https://directory.example.com/v1"),
            ("https://a.example/tenants/acme", "https://a.example/tenants/acme"),
        ] {
            assert_eq!(full_url(short).unwrap(), full, "{short}");
        }
        for wrong in ["", "ftp://a.example", "https://a:b@c.example", "https://a.example?x=1"] {
            assert!(full_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_crosses_no_network_unencrypted() {
        for private in
            ["https://a.example", "http://localhost:1", "http://[::1]", "http://127.9.9.9"]
        {
            assert!(is_private(private), "{private}");
        }
        for open in ["http://a.example", "http://192.168.0.1:8080", "http://localhost.example"] {
            assert!(!is_private(open), "{open}");
        }
    }
}
