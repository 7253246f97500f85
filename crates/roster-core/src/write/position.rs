//! Positions in the change log.

use std::fmt;

/// The identity of a change log. After a restore and after a failover the log gets a new one,
/// because its last events may be lost and other events may get their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogId(pub [u8; 8]);

impl LogId {
    /// Parses the displayed form: 16 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let id = Self(u64::from_str_radix(text, 16).ok()?.to_be_bytes());
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A position in a change log: the number of events up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The log.
    pub log: LogId,
    /// The number of events.
    pub number: i64,
}

impl Position {
    /// Parses the displayed form of a position.
    pub fn parse(text: &str) -> Option<Self> {
        let (log, number) = text.split_once('-')?;
        let position = Self { log: LogId::parse(log)?, number: number.parse().ok()? };
        (position.number >= 0 && position.to_string() == text).then_some(position)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.log, self.number)
    }
}
