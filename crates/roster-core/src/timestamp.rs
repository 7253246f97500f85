//! Times, in milliseconds since the Unix epoch.
//!
//! The record, the log and lists use this form only: RFC 3339 in UTC with milliseconds in JSON, an
//! integer in the engines. Nothing here reads a clock.

use std::fmt;

use jiff::{SignedDuration, civil::DateTime};

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
        // jiff accepts other forms of ISO 8601 too, and its times end a day before the year 9999
        // does. Many systems write the last second of that year for "never".
        let (seconds, fraction, zone) = parts_of(text)?;
        let local: DateTime = seconds.parse().ok()?;
        let whole = local.duration_since(EPOCH).as_secs() - offset(zone)?.as_secs();
        // Only the last second of a day can be a leap second (section 5.7). It is read as the one
        // before it.
        if seconds.ends_with("60") && whole.rem_euclid(86_400) != 86_399 {
            return None;
        }
        let mut digits = fraction.bytes().map(|digit| i64::from(digit - b'0'));
        let millis = (0..3).fold(0, |millis, _| millis * 10 + digits.next().unwrap_or_default());
        let before = whole * 1000 + millis;
        let after = before + i64::from(digits.any(|digit| digit > 0));
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
        let time = EPOCH.saturating_add(SignedDuration::from_millis(self.0));
        write!(f, "{time:.3}Z")
    }
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The date with the seconds, the digits after them, and the offset of a text that has the form
/// `date-time` of RFC 3339 section 5.6. The numbers are not checked.
fn parts_of(text: &str) -> Option<(&str, &str, &str)> {
    const SECONDS: &str = "0000-00-00T00:00:00";
    let (seconds, rest) = text.split_at_checked(SECONDS.len())?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0)?),
        None => ("", rest),
    };
    let is_zone = ["Z", "+00:00", "-00:00"].iter().any(|form| fits(form, zone));
    (is_zone && fits(SECONDS, seconds)).then_some((seconds, fraction, zone))
}

/// The time that an offset is ahead of UTC.
fn offset(zone: &str) -> Option<SignedDuration> {
    let Some((hours, minutes)) = zone.split_once(':') else { return Some(SignedDuration::ZERO) };
    let hours: i64 = hours.parse().ok()?;
    let minutes: i64 = minutes.parse().ok().filter(|minutes| *minutes < 60)?;
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let is_valid = hours.abs() < 24;
    is_valid.then(|| SignedDuration::from_mins(hours * 60 + sign * minutes))
}

/// Whether a text matches the pattern, in which 0 matches any digit.
fn fits(pattern: &str, text: &str) -> bool {
    let like = |(pattern, byte): (u8, u8)| match pattern {
        b'0' => byte.is_ascii_digit(),
        other => byte.eq_ignore_ascii_case(&other),
    };
    pattern.len() == text.len() && pattern.bytes().zip(text.bytes()).all(like)
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
        assert_eq!(between("1970-01-01T00:00:00.00000000000000000001Z"), Some((0, 1)));
        assert_eq!(between("1970-01-01T00:00:00.1Z"), Some((100, 100)));
    }

    #[test]
    fn every_time_of_the_years_0_to_9999_is_read_and_written() {
        for text in [
            "0000-01-01T00:00:00.000Z",
            "1969-12-31T23:59:59.999Z",
            "9999-12-30T22:00:01.000Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
            assert_eq!(Timestamp::parse(text).unwrap().stored_form().as_deref(), Some(text));
        }
        let parse = |text| Timestamp::parse(text).unwrap();
        assert_eq!(parse("2026-11-20T12:00:00-23:59"), parse("2026-11-21T11:59:00Z"));
        assert_eq!(parse("2026-11-20T12:00:00-00:30"), parse("2026-11-20T12:30:00Z"));
        assert_eq!(parse("2026-11-20T12:00:00+05:30"), parse("2026-11-20T06:30:00Z"));
        // A leap second is the last of a day in UTC.
        assert_eq!(parse("2016-12-31T23:59:60.5Z"), parse("2016-12-31T23:59:59.5Z"));
        assert_eq!(parse("2017-01-01T05:29:60+05:30"), parse("2016-12-31T23:59:59Z"));
        for outside in ["9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01"] {
            assert_eq!(parse(outside).stored_form(), None, "{outside}");
        }
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
            "2026-02-29T12:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T12:30:60Z",
            "2016-12-31T23:59:60+01:00",
            "2016-12-31T23:59:61Z",
            "2026-11-20T12:00:00.\u{664}Z",
            "2026-11-20T12:00:00\u{e9}",
            "2026-11-20T12:00:00Z ",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
