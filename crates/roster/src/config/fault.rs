//! Where a value came from, and what is wrong with it.
//!
//! A fault always names its origin: the flag, the variable, or the line of the file. All faults are
//! collected before they are reported.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag, by its name without dashes.
    Flag(&'static str),
    /// An environment variable.
    Environment(String),
    /// A line of the settings file.
    File {
        /// The path of the file, as given.
        path: PathBuf,
        /// The line, counted from 1; `None` for the whole file.
        line: Option<usize>,
    },
    /// The socket that the supervisor passes.
    Supervisor,
    /// The default of the table.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag --{name}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::File { path, line: Some(line) } => write!(f, "file {}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "file {}", path.display()),
            Self::Supervisor => f.write_str("the supervisor's socket"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A fault of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The origin of the value.
    pub origin: Origin,
    /// What is wrong, and what is expected.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.detail)
    }
}

/// All faults of the settings. Not empty if it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault.
    pub fn push(&mut self, origin: Origin, detail: impl Into<String>) {
        self.0.push(Fault { origin, detail: detail.into() });
    }

    /// The faults, in order.
    pub fn as_slice(&self) -> &[Fault] {
        &self.0
    }

    /// Whether there are no faults.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("a setting needs attention:")?,
            n => write!(f, "{n} settings need attention:")?,
        }
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

impl Error for Faults {}
