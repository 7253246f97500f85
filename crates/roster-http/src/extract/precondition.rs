//! `If-Match` and `If-None-Match` (RFC 9110 section 13.1).
//!
//! A malformed header is an error, because ignoring it would drop the protection that the caller
//! requests. A tag that Roster did not create is well formed and matches nothing.

use http::{HeaderMap, HeaderName, header};
use roster_core::{Preconditions, Tags};
use roster_scim::user::version_of;

use crate::problem::{Problem, ProblemCode};

/// The entity tags of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntityTags {
    /// `*`
    Any,
    /// Each tag without its quotes, and whether it is weak.
    List(Vec<(bool, String)>),
}

impl EntityTags {
    /// Whether one of them is this strong tag, compared strongly.
    pub(crate) fn hold_strongly(&self, opaque: &str) -> bool {
        match self {
            Self::Any => true,
            Self::List(tags) => tags.iter().any(|(weak, tag)| !weak && tag == opaque),
        }
    }

    /// Whether one of them is this weak tag, compared weakly (RFC 9110 section 8.8.3.2).
    pub(crate) fn hold_weakly(&self, opaque: &str) -> bool {
        match self {
            Self::Any => true,
            Self::List(tags) => tags.iter().any(|(_, tag)| tag == opaque),
        }
    }
}

/// The preconditions of a request on one user.
pub(crate) fn preconditions(headers: &HeaderMap) -> Result<Preconditions, Problem> {
    Ok(Preconditions {
        // If-Match compares strongly: a weak tag never matches.
        if_match: tags(headers, &header::IF_MATCH)?.map(|tags| versions(tags, |weak| !weak)),
        if_none_match: tags(headers, &header::IF_NONE_MATCH)?.map(|tags| versions(tags, |_| true)),
    })
}

/// The same for weak entity tags, as SCIM uses them: `If-Match` then compares weakly too, as in the
/// examples of RFC 7644 section 3.14.
pub(crate) fn weak_preconditions(headers: &HeaderMap) -> Result<Preconditions, Problem> {
    let versions = |tags| match tags {
        EntityTags::Any => Tags::Any,
        EntityTags::List(tags) => {
            Tags::Versions(tags.iter().filter_map(|(_, tag)| version_of(tag)).collect())
        }
    };
    Ok(Preconditions {
        if_match: tags(headers, &header::IF_MATCH)?.map(versions),
        if_none_match: tags(headers, &header::IF_NONE_MATCH)?.map(versions),
    })
}

fn versions(tags: EntityTags, counts: impl Fn(bool) -> bool) -> Tags {
    match tags {
        EntityTags::Any => Tags::Any,
        EntityTags::List(tags) => {
            let counting = tags.iter().filter(|(weak, _)| counts(*weak));
            Tags::Versions(counting.filter_map(|(_, tag)| version(tag)).collect())
        }
    }
}

/// The version in a tag of Roster, which has only one spelling.
fn version(tag: &str) -> Option<i64> {
    let version: i64 = tag.parse().ok()?;
    (version.to_string() == tag).then_some(version)
}

/// Refuses an `If-Match` that names a tag, for a response that has no strong one (RFC 9110 section
/// 13.1.1).
pub(crate) fn refuse_if_match(headers: &HeaderMap, detail: &'static str) -> Result<(), Problem> {
    match tags(headers, &header::IF_MATCH)? {
        Some(EntityTags::List(_)) => Err(Problem::saying(ProblemCode::VersionMismatch, detail)),
        Some(EntityTags::Any) | None => Ok(()),
    }
}

/// The entity tags of a header, over all its lines.
pub(crate) fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<EntityTags>, Problem> {
    let mut lines = headers.get_all(name).into_iter().peekable();
    if lines.peek().is_none() {
        return Ok(None);
    }
    let malformed = || {
        let detail = format!("write {name} as a list of tags in quotation marks, such as \"3\"");
        Problem::saying(ProblemCode::InvalidRequest, detail)
    };
    let mut all = Vec::new();
    let mut any = false;
    for line in lines {
        let line = line.to_str().map_err(|_| malformed())?.trim();
        if line == "*" {
            any = true;
        } else {
            take_tags(line, &mut all).ok_or_else(malformed)?;
        }
    }
    match (any, all.is_empty()) {
        (true, true) => Ok(Some(EntityTags::Any)),
        (false, false) => Ok(Some(EntityTags::List(all))),
        (true, false) | (false, true) => Err(malformed()),
    }
}

/// Parses `W/"a", "b"`. Returns `None` for anything else. Empty elements are ignored.
fn take_tags(line: &str, into: &mut Vec<(bool, String)>) -> Option<()> {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return Some(());
        }
        let (weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let (tag, after) = quoted.strip_prefix('"')?.split_once('"')?;
        if tag.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return None;
        }
        into.push((weak, tag.to_owned()));
        rest = after.trim_start();
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(lines: &[&'static str]) -> Result<Option<EntityTags>, ()> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::IF_MATCH, HeaderValue::from_static(line));
        }
        tags(&headers, &header::IF_MATCH).map_err(drop)
    }

    fn list(tags: &[(bool, &str)]) -> EntityTags {
        EntityTags::List(tags.iter().map(|(weak, tag)| (*weak, (*tag).to_owned())).collect())
    }

    #[test]
    fn lists_and_the_star_are_read() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["*"]), Ok(Some(EntityTags::Any)));
        assert_eq!(of(&["\"3\""]), Ok(Some(list(&[(false, "3")]))));
        assert_eq!(
            of(&["W/\"a,b\" , \"c\"", "\"\""]),
            Ok(Some(list(&[(true, "a,b"), (false, "c"), (false, "")])))
        );
    }

    #[test]
    fn what_is_no_list_of_tags_is_refused() {
        for line in ["3", "", "\"3", "\"a\" \"b\"", "w/\"3\"", "*, \"3\"", "\"a b\"", "'3'"] {
            assert_eq!(of(&[line]), Err(()), "{line}");
        }
        assert_eq!(of(&["*", "\"3\""]), Err(()));
    }

    #[test]
    fn a_version_has_one_spelling() {
        assert_eq!(version("3"), Some(3));
        for other in ["03", "+3", " 3", "3.0", "x", "", "99999999999999999999"] {
            assert_eq!(version(other), None, "{other}");
        }
    }
}
