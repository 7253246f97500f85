//! The classes of work. Each class has an admission limit of its own.
//!
//! The class of a list is read from the raw query, before the query is parsed, so that a refusal
//! is cheap. A query that is invalid is refused for that once it is admitted.

/// A class of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// One record.
    Reads,
    /// A short page, read along an index.
    Lists,
    /// A long page, or one that needs a scan.
    LongLists,
    /// One change.
    Writes,
}

/// The most records of a short page.
pub(crate) const SHORT_PAGE_MAX: usize = 500;

impl Class {
    /// The class of a list, by the `limit` of its query.
    pub(crate) fn of_list(query: Option<&str>) -> Self {
        let limit =
            query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("limit="));
        let limit = limit.and_then(|limit| limit.parse::<usize>().ok());
        if limit.is_some_and(|limit| limit > SHORT_PAGE_MAX) {
            Self::LongLists
        } else {
            Self::Lists
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_long_when_it_asks_for_many() {
        for query in [None, Some(""), Some("limit=500"), Some("limit=x"), Some("q=limit=1000")] {
            assert_eq!(Class::of_list(query), Class::Lists, "{query:?}");
        }
        for query in ["limit=501", "limit=1000", "sort=name&limit=1000&count=true", "limit=99999"] {
            assert_eq!(Class::of_list(Some(query)), Class::LongLists, "{query}");
        }
    }
}
