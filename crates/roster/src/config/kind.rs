//! The types of settings: how text is parsed, stored and printed.
//!
//! A kind has a function that returns its field in [`Config`], so the types of a setting and of its
//! field cannot differ. Values are printed as TOML, which can be parsed again.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::Config;
use super::base_url::BaseUrl;
use super::database::DatabaseUrl;
use super::host_name::HostName;
use super::network;
use super::retention;
use super::web_origin::WebOrigin;

/// Returns the field of a setting.
pub type Slot<T> = fn(&mut Config) -> &mut T;

/// The type of a setting.
#[derive(Debug)]
pub enum Kind {
    /// Address and port to listen on.
    Address(Slot<SocketAddr>),
    /// A directory.
    Directory(Slot<PathBuf>),
    /// A file; empty for none.
    File(Slot<Option<PathBuf>>),
    /// The URL of a database; empty for none.
    Database(Slot<Option<DatabaseUrl>>),
    /// A base URL; empty for none.
    BaseUrl(Slot<Option<BaseUrl>>),
    /// Host names, separated by commas; empty for none.
    Hosts(Slot<Vec<HostName>>),
    /// Addresses and networks, separated by commas; empty for none.
    Networks(Slot<Vec<IpNet>>),
    /// Origins of web pages, separated by commas; empty for none.
    Origins(Slot<Vec<WebOrigin>>),
    /// A text with its own parser.
    Text {
        /// The placeholder in the help.
        placeholder: &'static str,
        /// A description.
        what: &'static str,
        /// Parses and stores the text, or says what is wrong.
        put: fn(&mut Config, &str) -> Result<(), String>,
    },
    /// True or false.
    Switch(Slot<bool>),
    /// True, false, or empty for neither.
    OptionalSwitch(Slot<Option<bool>>),
    /// One of several words.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// Stores the value of a word; false for an unknown word.
        set: fn(&mut Config, &str) -> bool,
    },
    /// A count.
    Count {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
        /// The field.
        slot: Slot<usize>,
    },
    /// A number of bytes, or of bytes per second.
    Bytes {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
        /// The field.
        slot: Slot<u64>,
    },
    /// A time in milliseconds.
    Millis {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
        /// The field.
        slot: Slot<Duration>,
    },
    /// A retention time: a number with a unit, or `never`.
    Retention {
        /// The minimum, in seconds.
        min: u64,
        /// The field; `None` for `never`.
        slot: Slot<Option<Duration>>,
    },
}

impl Kind {
    /// Parses `text`, stores the value, and returns it as TOML; or says what is wrong.
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
                let printed = url.as_ref().map(DatabaseUrl::without_password).unwrap_or_default();
                *slot(config) = url;
                Ok(quoted(printed))
            }
            Self::BaseUrl(slot) => {
                let url = base_url(text)?;
                let printed = url.as_ref().map(ToString::to_string).unwrap_or_default();
                *slot(config) = url;
                Ok(quoted(printed))
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
                    .ok_or_else(|| format!("{text:?} is not one of {}", words.join(", ")))
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
            Self::Retention { min, slot } => {
                let keep = retention::read(text, *min)?;
                *slot(config) = keep;
                Ok(quoted(text))
            }
        }
    }

    /// The placeholder of a value in the help.
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
            Self::Retention { .. } => "TIME",
        }
    }

    /// A description of allowed values; `None` if the placeholder says enough.
    pub fn range(&self) -> Option<String> {
        match self {
            Self::Choice { words, .. } => Some(words.join(", ")),
            Self::Count { min, max, .. }
            | Self::Bytes { min, max, .. }
            | Self::Millis { min, max, .. } => Some(format!("{min} to {max}")),
            Self::Retention { min, .. } => Some(retention::range(*min)),
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

/// Parses an address; `localhost` is 127.0.0.1.
fn address(text: &str) -> Result<SocketAddr, String> {
    let literal = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    literal.parse().map_err(|_| {
        format!("{text:?} is not an address with a port, as in 127.0.0.1:8080 or [::1]:8080")
    })
}

/// Parses the URL of a database. Errors do not contain it, because it may have a password.
fn database(text: &str) -> Result<Option<DatabaseUrl>, String> {
    let url = (!text.is_empty()).then(|| DatabaseUrl::parse(text)).transpose();
    url.map_err(|detail| format!("the URL {detail}"))
}

/// Parses a base URL. Errors do not contain a password.
fn base_url(text: &str) -> Result<Option<BaseUrl>, String> {
    let echo = if text.contains('@') { "the URL" } else { text };
    let url = (!text.is_empty()).then(|| BaseUrl::parse(text)).transpose();
    url.map_err(|detail| format!("{echo} {detail}"))
}

/// Parses a path; empty for none.
fn path(text: &str) -> Result<Option<PathBuf>, String> {
    if text.contains('\0') {
        return Err("must be a path, without a NUL in it".to_owned());
    }
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

/// Parses a list separated by commas, stores it, and returns it as TOML.
fn put_list<T: ToString>(
    text: &str,
    one: fn(&str) -> Result<T, String>,
    field: &mut Vec<T>,
) -> Result<String, String> {
    let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    let list = parts.map(one).collect::<Result<Vec<_>, _>>()?;
    let printed: Vec<_> = list.iter().map(|one| quoted(one.to_string())).collect();
    *field = list;
    Ok(format!("[{}]", printed.join(", ")))
}

/// Parses an integer in a range.
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
