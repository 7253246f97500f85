//! The exceptions from the rules, with their reasons.
//!
//! A reason must convince a newcomer. An exception that is not needed any more is a fault.

use super::{Fault, Rule};

/// A file to which a rule does not apply, or a folder if it ends with a slash.
#[derive(Debug)]
pub(super) struct Exception {
    pub rule: Rule,
    pub path: &'static str,
    /// For readers of the table only.
    #[expect(dead_code, reason = "the table must say why, and no program asks")]
    pub reason: &'static str,
}

impl Exception {
    /// Whether this fault has an exception.
    pub(super) fn covers(&self, fault: &Fault) -> bool {
        let inside = self.path.ends_with('/') && fault.path.starts_with(self.path);
        self.rule == fault.rule && (inside || self.path == fault.path)
    }
}

/// Every exception.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: Rule::Environment,
        path: "crates/roster/src/config/environment.rs",
        reason: "this is the one reader of the environment",
    },
    Exception {
        rule: Rule::Environment,
        path: "crates/roster-cli/src/environment.rs",
        reason: "this is the one reader of the environment in the commands that ask a service",
    },
    Exception {
        rule: Rule::Word,
        path: "crates/xtask/src/tidy/words.rs",
        reason: "the list of the words names them",
    },
    Exception {
        rule: Rule::Word,
        path: "crates/xtask/src/tidy/tests.rs",
        reason: "plants the words to see them found",
    },
];
