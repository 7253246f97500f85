//! The headings that settings stand under, in the help and in the manual.
//!
//! Their order is that of the variants. A heading says what its settings are about; which settings
//! those are, the table says.

/// A heading of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Where the service listens and where its data lies.
    Place,
    /// Who may call.
    Access,
    /// How connections are protected.
    Tls,
    /// What is logged.
    Logs,
    /// What a user may be and how it may be written.
    Rules,
    /// How long what is no longer in use is kept.
    Retention,
    /// What a caller may cost.
    Limits,
    /// What the process takes of the machine.
    Resources,
}

impl Group {
    /// The heading's words.
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
