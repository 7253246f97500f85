//! Why a command failed: what it says, and its exit status.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use roster_client::{Error, Fault, Problem};

use crate::text::say;

/// The exit statuses. 0 is success.
pub mod exit {
    /// Any other error.
    pub const OTHER: u8 = 1;
    /// The command line or the input is not valid.
    pub const USAGE: u8 = 2;
    /// The service needs a key, or the key is not valid.
    pub const NOT_AUTHENTICATED: u8 = 3;
    /// The key does not permit this.
    pub const NOT_ALLOWED: u8 = 4;
    /// There is no such record.
    pub const NOT_FOUND: u8 = 5;
    /// A conflict with another record, or the record has another version.
    pub const CONFLICT: u8 = 6;
    /// Some lines or some records failed.
    pub const SOME_FAILED: u8 = 7;
    /// The service cannot be reached, or is too busy.
    pub const NO_SERVICE: u8 = 8;
    /// A variable or a setting is not valid.
    pub const SETTINGS: u8 = 78;
    /// Interrupted by Ctrl-C.
    pub const INTERRUPTED: u8 = 130;

    /// All of them with their meaning, for the man pages.
    pub const ALL: [(u8, &str); 11] = [
        (0, "Success."),
        (OTHER, "Any other error."),
        (USAGE, "The command line or the input is not valid."),
        (NOT_AUTHENTICATED, "The service needs a key, or the key is not valid."),
        (NOT_ALLOWED, "The key does not permit this."),
        (NOT_FOUND, "There is no such record."),
        (CONFLICT, "A conflict with another record, or the record has another version."),
        (SOME_FAILED, "Some lines or some records failed."),
        (NO_SERVICE, "The service cannot be reached, or is too busy."),
        (SETTINGS, "A variable or a setting is not valid. All errors are listed."),
        (INTERRUPTED, "Interrupted by Ctrl-C, which ends events --follow with 0."),
    ];
}

/// What a command returns: its exit status.
pub(crate) type Outcome = Result<u8, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    pub(crate) status: u8,
    pub(crate) text: String,
    /// What to do next.
    pub(crate) next: Option<String>,
}

impl Failure {
    /// With an exit status, and what went wrong.
    pub fn new(status: u8, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), next: None }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(exit::USAGE, text)
    }

    /// With what to do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The failure of a request, whose faults are shown as the caller wrote the input: `shown` has
    /// what the caller wrote for a pointer or parameter, if it wrote it.
    pub(crate) fn of_input(error: Error, shown: impl Fn(&Fault) -> Option<String>) -> Self {
        let Error::Problem(problem) = error else { return error.into() };
        let is_whole = problem.errors.is_empty();
        let mut text = if problem.code == "version-mismatch" {
            let now = problem.detail.split(';').next().unwrap_or_default();
            format!("it was changed meanwhile: {now}")
        } else if is_whole {
            problem.to_string()
        } else {
            problem.title.clone()
        };
        for fault in &problem.errors {
            let place = shown(fault).or_else(|| place(fault)).unwrap_or_default();
            let colon = if place.is_empty() { "" } else { ": " };
            write!(text, "\n  {place}{colon}{}", fault.detail).unwrap_or_default();
        }
        if problem.more > 0 {
            write!(text, "\n  and {} more", problem.more).unwrap_or_default();
        }
        let status = status(&problem);
        Self { status, text, next: next(&problem, status) }
    }
}

/// Where a fault is, if the caller did not write it on the command line.
fn place(fault: &Fault) -> Option<String> {
    let parameter = fault.parameter.as_ref().map(|name| match name.as_str() {
        "fields" => "--columns".to_owned(),
        "q" => "the words".to_owned(),
        name => format!("--{}", name.replace('_', "-")),
    });
    let member = fault.pointer.as_ref().map(|pointer| {
        let parts = pointer.trim_start_matches('/').replace("~1", "/").replace("~0", "~");
        parts.replace('/', ".")
    });
    fault.column.clone().or(member).or(parameter).filter(|place| !place.is_empty())
}

fn status(problem: &Problem) -> u8 {
    match problem.status {
        400 | 413 | 414 | 415 | 422 => exit::USAGE,
        401 => exit::NOT_AUTHENTICATED,
        403 => exit::NOT_ALLOWED,
        404 | 410 => exit::NOT_FOUND,
        409 | 412 | 428 => exit::CONFLICT,
        408 | 429 | 502..=504 => exit::NO_SERVICE,
        _ => exit::OTHER,
    }
}

fn next(problem: &Problem, status: u8) -> Option<String> {
    let next = match (status, &*problem.code) {
        (exit::NOT_AUTHENTICATED, _) => "roster login URL stores a key; --key-file names one",
        (exit::NOT_ALLOWED, "insufficient-scope") => {
            "roster whoami shows what the key permits; a key with more: roster keys create"
        }
        (exit::NOT_ALLOWED, "operator-key-required") => {
            "roster keys create NAME --scope all --all-tenants makes a key for all tenants"
        }
        (exit::NOT_ALLOWED, "wrong-tenant") => {
            "--tenant NAME names the tenant of the key; roster login URL --tenant NAME keeps it"
        }
        (exit::CONFLICT, "version-mismatch") => {
            "get it again, and repeat the change if it still fits"
        }
        (exit::NO_SERVICE, _) => {
            return Some(match problem.retry_after_s {
                Some(seconds) => format!("try again in {seconds} s"),
                None => "try again later".to_owned(),
            });
        }
        (_, "tenant-not-found") => "roster tenants list",
        (_, "invalid-query") if problem.errors.iter().any(is_of_filter) => {
            "a condition is like 'department eq \"Sales\" and status eq \"active\"'"
        }
        _ => return None,
    };
    Some(next.to_owned())
}

fn is_of_filter(fault: &Fault) -> bool {
    fault.parameter.as_deref() == Some("filter")
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Connect { ref why, .. } if why.contains("InvalidContentType") => {
                Self::new(exit::NO_SERVICE, error.to_string())
                    .next("the service speaks http:// there")
            }
            Error::Problem(_) => Self::of_input(error, |_| None),
            Error::Connect { .. } => Self::new(exit::NO_SERVICE, error.to_string())
                .next("roster serve starts a service; roster login URL or --url names another one"),
            Error::Broken { .. } => Self::new(exit::NO_SERVICE, error.to_string())
                .next("a command that writes may have been executed: look before you repeat it"),
            Error::Strange { .. } => Self::new(exit::NO_SERVICE, error.to_string())
                .next("is this the base URL of a Roster?"),
            Error::Request(text) => Self::usage(text),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // The program after the pipe wants no more.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(0, "");
        }
        Self::new(exit::OTHER, error.to_string())
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        io::Error::from(error).into()
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

/// Says why a command failed, and returns its exit status.
pub(crate) fn report(outcome: Outcome) -> ExitCode {
    let failure = match outcome {
        Ok(status) => return ExitCode::from(status),
        Err(failure) => failure,
    };
    if !failure.text.is_empty() {
        say(&format!("error: {}", failure.text));
    }
    if let Some(next) = failure.next {
        say(&format!("next: {next}"));
    }
    ExitCode::from(failure.status)
}
