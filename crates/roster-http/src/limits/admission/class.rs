//! The classes of work. Each class has a separate admission limit.
//!
//! The class of a list is read from the raw query, before the query is parsed, so that a refusal is
//! cheap. An invalid query is rejected after it was admitted.

use percent_encoding::percent_decode_str;

/// A class of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A read of one record.
    Reads,
    /// A short page that is read with an index.
    Lists,
    /// A long page, or a page that needs a scan.
    LongLists,
    /// One write.
    Writes,
}

/// The maximum number of records of a short page.
pub(crate) const SHORT_PAGE_MAX: usize = 500;

impl Class {
    /// The class of a list. It depends on the `limit` of the query.
    pub(crate) fn of_list(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        let mut limits = pairs.filter(|(name, _)| percent_decode_str(name).eq(*b"limit"));
        let is_long = limits.any(|(_, limit)| {
            let limit = percent_decode_str(limit).decode_utf8_lossy().parse();
            limit.is_ok_and(|limit: usize| limit > SHORT_PAGE_MAX)
        });
        if is_long { Self::LongLists } else { Self::Lists }
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
        for query in [
            "limit=501",
            "limit=1000",
            "sort=name&limit=1000&count=true",
            "limit=99999",
            "%6Cimit=1000",
            "limit=%31000",
        ] {
            assert_eq!(Class::of_list(Some(query)), Class::LongLists, "{query}");
        }
    }
}
