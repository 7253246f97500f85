//! One request and its response.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// How a write is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Write {
    /// The version that the record must have.
    pub version: Option<u64>,
    /// Whether nothing is stored: the response has what would be.
    pub is_dry_run: bool,
    /// Names the write, so that it happens once however often it is sent. Chosen at random if it is
    /// not given.
    pub idempotency_key: Option<String>,
    /// Further parameters of the query.
    pub query: Vec<(String, String)>,
}

impl Write {
    /// A write of a record that must have this version.
    #[must_use]
    pub fn at_version(version: u64) -> Self {
        Self { version: Some(version), ..Self::default() }
    }
}

/// A request, for operations that have no function of their own.
#[derive(Debug, Clone)]
pub struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether sending it twice has the effect of sending it once.
    pub(crate) is_repeatable: bool,
}

impl Call {
    /// A request for a path below the base URL, such as `users`. Its parts must be escaped.
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        let is_repeatable = method.is_safe();
        let (query, headers, body) = (Vec::new(), HeaderMap::new(), Bytes::new());
        Self { method, path: path.into(), query, headers, body, is_repeatable }
    }

    /// With a parameter of the query.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.to_owned(), value.into()));
        self
    }

    /// With a header field. One whose value cannot be in a header field is left out.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::try_from(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// The time that the request asks the service to wait for its response.
    pub(crate) fn wait(&self) -> Duration {
        let found = self.query.iter().find(|(name, _)| name == "wait");
        Duration::from_secs(
            found.and_then(|(_, seconds)| seconds.parse::<u8>().ok()).unwrap_or(0).into(),
        )
    }

    /// With a body of this media type.
    #[must_use]
    pub fn body(mut self, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.headers.insert(reqwest::header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        self
    }

    /// With a JSON text as its body.
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON.
    pub fn json(self, value: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        let text = serde_json::to_vec(value).map_err(|error| Error::Request(error.to_string()))?;
        Ok(self.body("application/json", text))
    }

    /// With what a write can have. `is_keyed` says whether the operation takes an
    /// `Idempotency-Key`.
    ///
    /// # Errors
    ///
    /// If this system has no random numbers, or if the key of `write` cannot be sent or is not
    /// taken.
    pub fn write(mut self, write: &Write, is_keyed: bool) -> Result<Self, Error> {
        if let Some(key) = &write.idempotency_key {
            let is_sendable = HeaderValue::try_from(key).is_ok() && !key.contains(['"', '\\']);
            if !is_keyed || !is_sendable {
                let why =
                    if is_keyed { "cannot be sent" } else { "is not taken by this operation" };
                return Err(Error::Request(format!("the idempotency key {key:?} {why}")));
            }
        }
        if let Some(version) = write.version {
            self = self.header(reqwest::header::IF_MATCH, &format!("\"{version}\""));
        }
        if write.is_dry_run {
            self = self.query("dry_run", "true");
            self.is_repeatable = true;
        } else if is_keyed {
            let key = write.idempotency_key.clone().map_or_else(random_key, Ok)?;
            self = self.header(HeaderName::from_static("idempotency-key"), &format!("\"{key}\""));
            self.is_repeatable = true;
        }
        self.query.extend(write.query.iter().cloned());
        Ok(self)
    }
}

/// An `Idempotency-Key` that no other request has.
///
/// # Errors
///
/// If the system has no random numbers.
pub fn random_key() -> Result<String, Error> {
    let random = getrandom::u64().and_then(|high| Ok((high, getrandom::u64()?)));
    let (high, low) = random.map_err(|error| Error::Request(error.to_string()))?;
    Ok(format!("{high:016x}{low:016x}"))
}

/// A successful response.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its content.
    pub body: Bytes,
    pub(crate) url: String,
}

impl Answer {
    /// The content as a record.
    ///
    /// # Errors
    ///
    /// If the content is another one.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let why = if self.status == 204 && self.header("dry-run").is_some() {
                "the dry run found no error, and the key may not read the record".to_owned()
            } else if self.status == 204 {
                "the request was executed, and the key may not read the record".to_owned()
            } else {
                error.to_string()
            };
            Error::Strange { url: self.url.clone(), why }
        })
    }

    /// A header field.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The position of the change log up to which the response has everything.
    #[must_use]
    pub fn position(&self) -> Option<&str> {
        self.header("roster-position")
    }
}

/// The parameters of a list, by name.
pub(crate) fn owned(query: &[(&str, &str)]) -> Vec<(String, String)> {
    query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
