//! Why a request failed.

use std::fmt;

use reqwest::StatusCode;
use serde::Deserialize;
use thiserror::Error;

/// Why a request failed.
#[derive(Debug, Error)]
pub enum Error {
    /// The service refused it.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// There is no connection: nothing was sent.
    #[error("{url} cannot be reached: {why}")]
    Connect {
        /// The base URL.
        url: String,
        /// The reason, from the operating system or TLS.
        why: String,
    },
    /// The connection broke, or the response took too long. A write may have happened.
    #[error("the connection to {url} broke off: {why}")]
    Broken {
        /// The base URL.
        url: String,
        /// The reason.
        why: String,
    },
    /// Something responded that is no Roster.
    #[error("{url} does not respond like Roster: {why}")]
    Strange {
        /// The base URL.
        url: String,
        /// What is strange.
        why: String,
    },
    /// The request cannot be made, such as with a URL that is none.
    #[error("{0}")]
    Request(String),
}

impl Error {
    /// The problem, if the service refused the request.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        if let Self::Problem(problem) = self { Some(problem) } else { None }
    }

    /// The status of the response, if the service refused the request.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.problem().map(|problem| problem.status)
    }
}

/// A refusal (RFC 9457). `docs/errors.md` describes its members.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Problem {
    /// The URL of the page about it.
    #[serde(rename = "type")]
    pub page: String,
    /// The kind of problem in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code; empty in the response to `HEAD`, which has no content.
    pub code: String,
    /// What is wrong in this request, and what to do next.
    #[serde(default)]
    pub detail: String,
    /// The id of the request; absent in results of lines.
    pub request_id: Option<String>,
    /// The first errors.
    #[serde(default)]
    pub errors: Vec<Fault>,
    /// How many errors `errors` does not have.
    #[serde(default)]
    pub more: u64,
    /// After how many seconds the request can be sent again, from `Retry-After`.
    #[serde(skip)]
    pub retry_after_s: Option<u64>,
}

impl Problem {
    /// A problem of which only the status is known.
    pub(crate) fn of_status(status: StatusCode, retry_after_s: Option<u64>) -> Self {
        Self {
            page: String::new(),
            title: status.to_string(),
            status: status.as_u16(),
            code: String::new(),
            detail: status.to_string(),
            request_id: None,
            errors: Vec::new(),
            more: 0,
            retry_after_s,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.eq_ignore_ascii_case(&self.title) {
            return out.write_str(&self.title);
        }
        write!(out, "{}: {}", self.title, self.detail)
    }
}

/// One error in a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Fault {
    /// The member of the body, as a JSON Pointer (RFC 6901).
    pub pointer: Option<String>,
    /// The parameter of the query.
    pub parameter: Option<String>,
    /// The column of a CSV file.
    pub column: Option<String>,
    /// The byte of a filter at which it cannot be read.
    pub position: Option<u64>,
    /// The stable code.
    pub code: String,
    /// What is wrong.
    pub detail: String,
}
