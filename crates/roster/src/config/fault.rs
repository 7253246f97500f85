//! Where a value came from, and what is wrong with it.
//!
//! A fault always names its origin in words that the reader can act on: the flag, the variable,
//! or the line of the file. Faults are collected, never thrown at the first.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line, by its name without dashes.
    Flag(&'static str),
    /// An environment variable, by its name.
    Environment(String),
    /// A line of the settings file.
    File {
        /// The file, as it was named.
        path: PathBuf,
        /// The line, counted from 1; none where the whole file is meant.
        line: Option<usize>,
    },
    /// The supervisor of the process, by a socket that it hands over.
    Supervisor,
    /// Nobody gave it: the table's default.
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

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Who said it.
    pub origin: Origin,
    /// What is wrong and what would be right.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.detail)
    }
}

/// Everything that is wrong with the settings; never empty where it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds one fault.
    pub fn push(&mut self, origin: Origin, detail: impl Into<String>) {
        self.0.push(Fault { origin, detail: detail.into() });
    }

    /// The faults in the order they were met.
    pub fn as_slice(&self) -> &[Fault] {
        &self.0
    }

    /// Whether nothing is wrong.
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
