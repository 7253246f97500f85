//! `Prefer: return=...` and `wait=...` (RFC 7240). Other preferences are ignored, as the RFC
//! requires.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The preferred response to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReturnPreference {
    Minimal,
    Representation,
}

impl ReturnPreference {
    pub(crate) const fn applied(self) -> &'static str {
        match self {
            Self::Minimal => "return=minimal",
            Self::Representation => "return=representation",
        }
    }
}

/// The first valid `return` preference. Later ones are ignored (section 2).
pub(crate) fn preferred_return(headers: &HeaderMap) -> Option<ReturnPreference> {
    values(headers, "return").find_map(|value| {
        [ReturnPreference::Minimal, ReturnPreference::Representation]
            .into_iter()
            .find(|known| known.applied().split_once('=').is_some_and(|(_, word)| word == value))
    })
}

/// The preferred wait: the first `wait` preference that is a number of seconds (section 4.3).
pub(crate) fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    values(headers, "wait").find_map(|value| {
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        Some(Duration::from_secs(value.parse::<u32>().ok().filter(|_| digits)?.into()))
    })
}

/// The parts of a header between separators, of which those in a quoted text are none (RFC 9110
/// section 5.6.4).
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |letter| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && letter == '\\' && !was_escaped;
        is_quoted ^= letter == '"' && !was_escaped;
        letter == separator && !is_quoted
    })
}

/// The values of a preference, in their order.
fn values<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(PREFER).into_iter().filter_map(|line| line.to_str().ok());
    let preferences = lines.flat_map(|line| split_unquoted(line, ','));
    preferences
        .filter_map(|preference| split_unquoted(preference, ';').next()?.trim().split_once('='))
        .filter(move |(said, _)| said.trim().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(PREFER, HeaderValue::from_static(line));
        }
        headers
    }

    fn of(lines: &[&'static str]) -> Option<ReturnPreference> {
        preferred_return(&headers(lines))
    }

    #[test]
    fn the_first_known_return_counts() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["return=minimal"]), Some(ReturnPreference::Minimal));
        assert_eq!(of(&["wait=5, Return = \"minimal\"; x=1"]), Some(ReturnPreference::Minimal));
        let both = &["respond-async", "return=representation, return=minimal"];
        assert_eq!(of(both), Some(ReturnPreference::Representation));
        assert_eq!(of(&["return=everything"]), None);
        assert_eq!(of(&["foo=\"a, return=minimal\"; x=\"b, return=minimal\""]), None);
        let after = &["foo=\"a\\\", b; c\", return=minimal"];
        assert_eq!(of(after), Some(ReturnPreference::Minimal));
    }

    #[test]
    fn the_first_wait_that_is_a_number_of_seconds_counts() {
        let of =
            |lines: &[&'static str]| preferred_wait(&headers(lines)).map(|wait| wait.as_secs());
        assert_eq!(of(&["return=minimal"]), None);
        assert_eq!(of(&["respond-async, Wait = \"10\"; x=1"]), Some(10));
        assert_eq!(of(&["wait=soon", "wait=0, wait=7"]), Some(0));
        for other in ["wait", "wait=", "wait=-1", "wait=+1", "wait=1.5", "wait=99999999999"] {
            assert_eq!(of(&[other]), None, "{other}");
        }
    }
}
