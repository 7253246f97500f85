//! `Prefer: return=...` (RFC 7240). Other preferences are passed over, as the RFC asks.

use http::{HeaderMap, HeaderName};

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// What the caller would like to get back of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    Minimal,
    Representation,
}

impl Return {
    pub(crate) const fn applied(self) -> &'static str {
        match self {
            Self::Minimal => "return=minimal",
            Self::Representation => "return=representation",
        }
    }
}

/// The first `return` preference that means something; the first one counts (section 2).
pub(crate) fn preferred_return(headers: &HeaderMap) -> Option<Return> {
    let lines = headers.get_all(PREFER).into_iter().filter_map(|line| line.to_str().ok());
    let preferences = lines.flat_map(|line| line.split(','));
    preferences
        .filter_map(|preference| preference.split(';').next()?.trim().split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("return"))
        .find_map(|(_, value)| {
            let value = value.trim().trim_matches('"');
            [Return::Minimal, Return::Representation].into_iter().find(|known| {
                known.applied().split_once('=').is_some_and(|(_, word)| word == value)
            })
        })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(lines: &[&'static str]) -> Option<Return> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(PREFER, HeaderValue::from_static(line));
        }
        preferred_return(&headers)
    }

    #[test]
    fn the_first_known_return_counts() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["return=minimal"]), Some(Return::Minimal));
        assert_eq!(of(&["wait=5, Return = \"minimal\"; x=1"]), Some(Return::Minimal));
        let both = &["respond-async", "return=representation, return=minimal"];
        assert_eq!(of(both), Some(Return::Representation));
        assert_eq!(of(&["return=everything"]), None);
    }
}
