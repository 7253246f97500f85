//! The classes of work, which wait for their own kind alone.
//!
//! What a request belongs to must be known before its query is read: refusing has to cost next to
//! nothing. A query that is not what it seems here is refused later, for what it is.

/// A class of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// One record.
    Reads,
    /// A page that is read where it was asked for.
    Lists,
    /// A page that has to be read aside.
    LongLists,
    /// One change.
    Writes,
}

/// A page of more records is a long one.
pub(crate) const SHORT_PAGE_MAX: usize = 500;

impl Class {
    /// Whether one of it keeps its thread busy for a while.
    pub(super) const fn is_long(self) -> bool {
        matches!(self, Self::LongLists)
    }

    /// The class of a list, as its query shows at a glance.
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
