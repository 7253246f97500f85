//! The types that a setting can have: how its text is read, where it goes, how it is shown.
//!
//! A kind carries the place of its field in [`Config`], so that a setting's type and its field's
//! type cannot differ. What is shown is TOML: it can be read back.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::Config;
use super::base_url::BaseUrl;
use super::database::DatabaseUrl;
use super::host_name::HostName;
use super::keep;
use super::network;
use super::web_origin::WebOrigin;

/// Where a setting's value stands in the settings.
pub type Slot<T> = fn(&mut Config) -> &mut T;

/// The type of a setting.
#[derive(Debug)]
pub enum Kind {
    /// Address and port to listen on.
    Address(Slot<SocketAddr>),
    /// A directory.
    Directory(Slot<PathBuf>),
    /// A file; empty is none.
    File(Slot<Option<PathBuf>>),
    /// The URL of a database; empty is none.
    Database(Slot<Option<DatabaseUrl>>),
    /// A base URL; empty is none.
    BaseUrl(Slot<Option<BaseUrl>>),
    /// Host names, separated by commas; empty is none.
    Hosts(Slot<Vec<HostName>>),
    /// Addresses and networks, separated by commas; empty is none.
    Networks(Slot<Vec<IpNet>>),
    /// Origins of web pages, separated by commas; empty is none.
    Origins(Slot<Vec<WebOrigin>>),
    /// A text of its own kind.
    Text {
        /// What the help writes in its place.
        placeholder: &'static str,
        /// What it is, in words.
        what: &'static str,
        /// Reads it and puts it in its place, or says what is wrong.
        put: fn(&mut Config, &str) -> Result<(), String>,
    },
    /// On or off.
    Switch(Slot<bool>),
    /// On or off; empty is neither.
    OptionalSwitch(Slot<Option<bool>>),
    /// One of a few words.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// Puts a word's meaning in its place; false where the word is none of them.
        set: fn(&mut Config, &str) -> bool,
    },
    /// A number of things.
    Count {
        /// The least allowed.
        min: u64,
        /// The most allowed.
        max: u64,
        /// Its place.
        slot: Slot<usize>,
    },
    /// A number of bytes, or of bytes a second.
    Bytes {
        /// The least allowed.
        min: u64,
        /// The most allowed.
        max: u64,
        /// Its place.
        slot: Slot<u64>,
    },
    /// A time in milliseconds.
    Millis {
        /// The shortest allowed.
        min: u64,
        /// The longest allowed.
        max: u64,
        /// Its place.
        slot: Slot<Duration>,
    },
    /// How long something is kept: a number with its unit, or `never` an end.
    Keep {
        /// The shortest allowed, in seconds.
        min: u64,
        /// Its place; none is for good.
        slot: Slot<Option<Duration>>,
    },
}

impl Kind {
    /// Reads `text`, puts the value in its place and returns it as TOML; or says what is wrong.
    pub(super) fn put(&self, config: &mut Config, text: &str) -> Result<String, String> {
        match self {
            Self::Address(slot) => {
                let address = address(text)?;
                *slot(config) = address;
                Ok(quoted(address.to_string()))
            }
            Self::Directory(slot) => {
                *slot(config) = path(text)?.ok_or("must be the path of a directory")?;
                Ok(quoted(text))
            }
            Self::File(slot) => {
                *slot(config) = path(text)?;
                Ok(quoted(text))
            }
            Self::Database(slot) => {
                let url = database(text)?;
                let shown = url.as_ref().map(ToString::to_string).unwrap_or_default();
                *slot(config) = url;
                Ok(quoted(shown))
            }
            Self::BaseUrl(slot) => {
                let url = base_url(text)?;
                let shown = url.as_ref().map(ToString::to_string).unwrap_or_default();
                *slot(config) = url;
                Ok(quoted(shown))
            }
            Self::Hosts(slot) => put_list(text, HostName::parse, slot(config)),
            Self::Networks(slot) => put_list(text, network::parse, slot(config)),
            Self::Origins(slot) => put_list(text, WebOrigin::parse, slot(config)),
            Self::Text { put, .. } => put(config, text).map(|()| quoted(text)),
            Self::Switch(slot) => {
                let on = text.parse().map_err(|_| format!("{text:?} is not true or false"))?;
                *slot(config) = on;
                Ok(bool::to_string(&on))
            }
            Self::OptionalSwitch(slot) => {
                let on = (!text.is_empty()).then(|| text.parse()).transpose();
                *slot(config) = on.map_err(|_| format!("{text:?} is not true or false"))?;
                Ok(slot(config).map_or_else(|| quoted(""), |on| on.to_string()))
            }
            Self::Choice { words, set } => {
                let known = set(config, text);
                known
                    .then(|| quoted(text))
                    .ok_or_else(|| format!("{text:?} is none of {}", words.join(", ")))
            }
            Self::Count { min, max, slot } => {
                let count = number(text, *min, *max)?;
                *slot(config) = usize::try_from(count).map_err(|_| "is too large".to_owned())?;
                Ok(count.to_string())
            }
            Self::Bytes { min, max, slot } => {
                let bytes = number(text, *min, *max)?;
                *slot(config) = bytes;
                Ok(bytes.to_string())
            }
            Self::Millis { min, max, slot } => {
                let millis = number(text, *min, *max)?;
                *slot(config) = Duration::from_millis(millis);
                Ok(millis.to_string())
            }
            Self::Keep { min, slot } => {
                let keep = keep::read(text, *min)?;
                *slot(config) = keep;
                Ok(quoted(text))
            }
        }
    }

    /// What the help writes in the place of a value.
    pub fn placeholder(&self) -> &'static str {
        match self {
            Self::Address(_) => "ADDRESS:PORT",
            Self::Directory(_) => "DIR",
            Self::File(_) => "FILE",
            Self::BaseUrl(_) | Self::Database(_) => "URL",
            Self::Hosts(_) => "NAMES",
            Self::Networks(_) => "NETWORKS",
            Self::Origins(_) => "ORIGINS",
            Self::Text { placeholder, .. } => placeholder,
            Self::Switch(_) | Self::OptionalSwitch(_) => "BOOL",
            Self::Choice { .. } => "WORD",
            Self::Count { .. } => "N",
            Self::Bytes { .. } => "BYTES",
            Self::Millis { .. } => "MS",
            Self::Keep { .. } => "TIME",
        }
    }

    /// The values that are allowed, in words; none where the placeholder says it all.
    pub fn range(&self) -> Option<String> {
        match self {
            Self::Choice { words, .. } => Some(words.join(", ")),
            Self::Count { min, max, .. }
            | Self::Bytes { min, max, .. }
            | Self::Millis { min, max, .. } => Some(format!("{min} to {max}")),
            Self::Keep { min, .. } => Some(keep::range(*min)),
            Self::Address(_)
            | Self::Directory(_)
            | Self::File(_)
            | Self::Database(_)
            | Self::BaseUrl(_)
            | Self::Hosts(_)
            | Self::Networks(_)
            | Self::Origins(_)
            | Self::Text { .. }
            | Self::Switch(_)
            | Self::OptionalSwitch(_) => None,
        }
    }
}

/// Reads an address; `localhost` stands for 127.0.0.1, as people write it.
fn address(text: &str) -> Result<SocketAddr, String> {
    let literal = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    literal.parse().map_err(|_| {
        format!("{text:?} is not an address with a port, as in 127.0.0.1:8080 or [::1]:8080")
    })
}

/// Reads the URL of a database; it may hold a password and is not repeated.
fn database(text: &str) -> Result<Option<DatabaseUrl>, String> {
    let url = (!text.is_empty()).then(|| DatabaseUrl::parse(text)).transpose();
    url.map_err(|detail| format!("the URL {detail}"))
}

/// Reads a base URL; a password in it is not repeated into a terminal or a log.
fn base_url(text: &str) -> Result<Option<BaseUrl>, String> {
    let echo = if text.contains('@') { "the URL" } else { text };
    let url = (!text.is_empty()).then(|| BaseUrl::parse(text)).transpose();
    url.map_err(|detail| format!("{echo} {detail}"))
}

/// Reads a path; empty is none.
fn path(text: &str) -> Result<Option<PathBuf>, String> {
    if text.contains('\0') {
        return Err("must be a path, without a NUL in it".to_owned());
    }
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

/// Reads what stands between commas, puts it in its place and returns it as TOML.
fn put_list<T: ToString>(
    text: &str,
    one: fn(&str) -> Result<T, String>,
    place: &mut Vec<T>,
) -> Result<String, String> {
    let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    let list = parts.map(one).collect::<Result<Vec<_>, _>>()?;
    let shown: Vec<_> = list.iter().map(|one| quoted(one.to_string())).collect();
    *place = list;
    Ok(format!("[{}]", shown.join(", ")))
}

/// Reads a whole number in a range.
fn number(text: &str, min: u64, max: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        Ok(number) => Err(format!("{number} is not within {min} to {max}")),
        Err(_) => Err(format!("{text:?} is not a whole number within {min} to {max}")),
    }
}

/// A TOML string.
fn quoted(text: impl Into<String>) -> String {
    toml::Value::String(text.into()).to_string()
}
