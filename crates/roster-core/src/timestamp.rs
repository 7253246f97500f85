//! A moment, in milliseconds since the Unix epoch.
//!
//! The one form of time in the record, the log and the list: RFC 3339 in UTC with three digits
//! of a second on the wire, an integer in the engines. Nothing here reads a clock.

use std::fmt;

/// Milliseconds since 1970-01-01T00:00:00Z; leap seconds are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A moment from milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 text, as a record or a cursor holds it; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        Some(Self(moment.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, always with three digits of a second: `2026-11-20T23:47:00.123Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Out of range only beyond the year 9999: then the latest writable moment stands in.
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{moment:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_with_three_digits_and_read_back() {
        let moment = Timestamp::from_millis(1_700_000_000_000);
        assert_eq!(moment.to_string(), "2023-11-14T22:13:20.000Z");
        assert_eq!(
            Timestamp::parse("2023-11-14T22:13:20.007Z"),
            Some(Timestamp(1_700_000_000_007))
        );
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
