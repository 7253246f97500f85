//! The order of a list, for rows that are sorted after they were found.
//!
//! It is the order of the indexes: texts by their bytes, absent ones last, ties by id.

use std::cmp::Ordering;

use crate::{
    id::UserId,
    read::list::{Direction, SortKey},
};

/// A row's position in the order.
pub type Place = (SortKey, UserId);

/// Compares positions in this direction.
pub fn compare(one: &Place, other: &Place, direction: Direction) -> Ordering {
    let by_id = match direction {
        Direction::Ascending => one.1.cmp(&other.1),
        Direction::Descending => other.1.cmp(&one.1),
    };
    compare_keys(&one.0, &other.0, direction).then(by_id)
}

/// Compares keys of one order in this direction.
pub fn compare_keys(one: &SortKey, other: &SortKey, direction: Direction) -> Ordering {
    let ascending = match (one, other) {
        (SortKey::Time(one), SortKey::Time(other)) => one.cmp(other),
        (SortKey::Text(Some(one)), SortKey::Text(Some(other))) => one.cmp(other),
        (SortKey::Text(one), SortKey::Text(other)) => one.is_none().cmp(&other.is_none()),
        // Keys of different kinds are never compared; for ids, the caller's comparison of ids
        // decides.
        (SortKey::Id | SortKey::Time(_) | SortKey::Text(_), _) => Ordering::Equal,
    };
    match direction {
        Direction::Ascending => ascending,
        Direction::Descending => ascending.reverse(),
    }
}
