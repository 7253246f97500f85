//! Times, in milliseconds since the Unix epoch.
//!
//! The record, the log and lists use this form only: RFC 3339 in UTC with milliseconds in JSON, an
//! integer in the engines. Nothing here reads a clock.

use std::fmt;

/// Milliseconds since 1970-01-01T00:00:00Z; leap seconds are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A time from milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Parses an RFC 3339 time, rounded down to milliseconds; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_between(text).map(|(at_or_before, _)| at_or_before)
    }

    /// Parses an RFC 3339 time: the last millisecond at or before it, and the first at or after it.
    /// They differ if the time has a fraction of a millisecond.
    pub fn parse_between(text: &str) -> Option<(Self, Self)> {
        // jiff accepts other forms of ISO 8601 too.
        if !is_rfc_3339(text.as_bytes()) {
            return None;
        }
        let nanos = text.parse::<jiff::Timestamp>().ok()?.as_nanosecond();
        let before = i64::try_from(nanos.div_euclid(1_000_000)).ok()?;
        let after = before + i64::from(nanos.rem_euclid(1_000_000) > 0);
        Some((Self(before), Self(after)))
    }

    /// The form in records, whose order as text is that of times; `None` before the year 0 and
    /// after the last day of the year 9999, which RFC 3339 cannot express in UTC.
    pub fn stored_form(self) -> Option<String> {
        let text = self.to_string();
        (Self::parse(&text) == Some(self)).then_some(text)
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, always with milliseconds: `2026-11-20T23:47:00.123Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only years after 9999 are out of range; they are displayed as the latest valid time.
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{time:.3}")
    }
}

/// Whether a text has the form `date-time` of RFC 3339 section 5.6. Of its numbers only the hours
/// of the offset are checked.
fn is_rfc_3339(text: &[u8]) -> bool {
    const SECONDS: &[u8] = b"0000-00-00T00:00:00";
    let Some((seconds, rest)) = text.split_at_checked(SECONDS.len()) else { return false };
    let zone = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let zone = fraction.iter().position(|byte| !byte.is_ascii_digit());
            zone.filter(|digits| *digits > 0).and_then(|digits| fraction.get(digits..))
        }
        None => Some(rest),
    };
    let is_zone = |zone: &[u8]| {
        let has_form = [&b"Z"[..], b"+00:00", b"-00:00"].iter().any(|it| fits(it, zone));
        // jiff accepts up to 25 hours.
        has_form && zone.get(1..3).is_none_or(|hours| hours < b"24".as_slice())
    };
    fits(SECONDS, seconds) && zone.is_some_and(is_zone)
}

/// Whether a text matches the pattern, in which 0 matches any digit.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let like = |(pattern, byte): (&u8, &u8)| match pattern {
        b'0' => byte.is_ascii_digit(),
        other => byte.eq_ignore_ascii_case(other),
    };
    pattern.len() == text.len() && pattern.iter().zip(text).all(like)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_with_milliseconds_and_parsed_back() {
        let time = Timestamp::from_millis(1_700_000_000_000);
        assert_eq!(time.to_string(), "2023-11-14T22:13:20.000Z");
        assert_eq!(
            Timestamp::parse("2023-11-14T22:13:20.007Z"),
            Some(Timestamp(1_700_000_000_007))
        );
        assert_eq!(Timestamp::parse("yesterday"), None);
    }

    #[test]
    fn a_fraction_of_a_millisecond_lies_between_two() {
        let between = |text| Timestamp::parse_between(text).map(|(a, b)| (a.0, b.0));
        assert_eq!(between("1970-01-01T00:00:00.0015Z"), Some((1, 2)));
        assert_eq!(between("1970-01-01T00:00:00.001000Z"), Some((1, 1)));
        assert_eq!(between("1969-12-31T23:59:59.9985Z"), Some((-2, -1)));
        assert_eq!(between("1970-01-01t01:00:00.000000001+01:00"), Some((0, 1)));
    }

    #[test]
    fn other_forms_than_those_of_rfc_3339_are_rejected() {
        for text in [
            "",
            "2026-11-20",
            "2026-11-20T12:00Z",
            "2026-11-20 12:00:00Z",
            "20261120T120000Z",
            "2026-11-20T12:00:00",
            "2026-11-20T12:00:00.Z",
            "2026-11-20T12:00:00,5Z",
            "2026-11-20T12:00:00+01",
            "2026-11-20T12:00:00+0100",
            "2026-11-20T12:00:00+24:00",
            "2026-11-20T12:00:00-24:00",
            "2026-11-20T12:00:00+23:60",
            "2026-11-20T12:00:00Z[UTC]",
            "+002026-11-20T12:00:00Z",
            "2026-13-20T12:00:00Z",
            "2026-11-20T12:00:00Z ",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
