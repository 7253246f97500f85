//! Retention times: an integer with a unit, such as `30d`, or `never`.
//!
//! `never` means that data is kept forever. A bare `0` could mean that too, or the opposite, so it
//! is not valid: the minimum is a time with a unit.

use std::time::Duration;

/// The units and their seconds.
const UNITS: &[(char, u64)] = &[('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// The maximum in seconds: a hundred years.
const MAX: u64 = 36_500 * 86_400;

/// The word for no end.
const NEVER: &str = "never";

/// Parses a retention time; `None` for `never`.
pub(super) fn read(text: &str, min: u64) -> Result<Option<Duration>, String> {
    if text == NEVER {
        return Ok(None);
    }
    let seconds = seconds(text).ok_or_else(|| {
        format!("{text:?} is not a time such as 30d, 12h, 90m or 45s, nor \"{NEVER}\"")
    })?;
    if (min..=MAX).contains(&seconds) {
        Ok(Some(Duration::from_secs(seconds)))
    } else {
        Err(format!("{text:?} is not within {}", range(min)))
    }
}

/// A description of the allowed times.
pub(super) fn range(min: u64) -> String {
    format!("{} to {}, or {NEVER}", printed(min), printed(MAX))
}

/// Parses a number with a unit to seconds.
fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let (_, seconds) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let number = text.strip_suffix(unit)?;
    // `parse` accepts a sign.
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| plain)?.checked_mul(*seconds)
}

/// A time in the largest unit that divides it.
fn printed(seconds: u64) -> String {
    let whole = UNITS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
    let (unit, length) = whole.copied().unwrap_or(('s', 1));
    format!("{}{unit}", seconds / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_its_unit() {
        for (text, seconds) in
            [("1s", 1), ("90m", 5400), ("36h", 129_600), ("30d", 2_592_000), ("36500d", MAX)]
        {
            assert_eq!(read(text, 1), Ok(Some(Duration::from_secs(seconds))), "{text}");
        }
        assert_eq!(read("never", 1), Ok(None));
    }

    #[test]
    fn ambiguous_times_are_rejected() {
        for text in ["", "0", "30", "d", "+1d", "-1d", "1.5d", "1 d", "1w", "1D", "Never", "1é"] {
            assert!(read(text, 1).unwrap_err().contains("such as 30d"), "{text}");
        }
        for text in ["0s", "0d", "36501d", "18446744073709551615s"] {
            let fault = read(text, 1).unwrap_err();
            assert!(fault.contains("within 1s to 36500d, or never"), "{text}: {fault}");
        }
        assert!(read("23h", 86_400).unwrap_err().contains("within 1d to"));
    }
}
