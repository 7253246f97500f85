//! The headings of settings in the help and in the manual, in order.
//!
//! The table assigns settings to headings.

/// A heading of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Listening address and storage.
    Place,
    /// Callers.
    Access,
    /// TLS.
    Tls,
    /// Logs.
    Logs,
    /// Rules for users and writes.
    Rules,
    /// Retention times.
    Retention,
    /// Limits for callers.
    Limits,
    /// Resources of the machine.
    Resources,
}

impl Group {
    /// The text of the heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Place => "Place",
            Self::Access => "Access",
            Self::Tls => "TLS",
            Self::Logs => "Logs",
            Self::Rules => "Rules",
            Self::Retention => "Retention",
            Self::Limits => "Limits",
            Self::Resources => "Resources",
        }
    }
}
