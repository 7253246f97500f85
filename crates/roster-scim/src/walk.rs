//! Where the pages of lists by `startIndex` ended, so that deletions between pages hide no user.
//!
//! If users are deleted while a client pages by `startIndex`, the following users move up, and a
//! user that moves onto an earlier page would never be returned. So for each caller and query this
//! table stores the key at which a page ended, under the index that follows it. The next page
//! continues from that key. If two clients with the same query ended at different keys, the smaller
//! key is used: a user may be returned twice, but none is left out. A list that begins forgets the
//! keys of earlier lists that have ended or were left. The table is bounded; the oldest entry is
//! removed first.

use std::collections::{BTreeMap, HashMap, VecDeque};

use roster_core::{
    Timestamp,
    list::{Direction, PageKey},
    page::order::compare,
    walk::WALK_ENDS_MAX,
};

/// Maximum number of entries.
pub const PLACES_MAX: usize = WALK_ENDS_MAX;
/// How long an entry is valid after it was last written, in milliseconds: 15 minutes.
pub const PLACE_KEEP_MS: i64 = 15 * 60 * 1000;
/// A list is left if its last page was read this many milliseconds before another list begins.
pub const PLACE_IDLE_MS: i64 = 60 * 1000;
/// Maximum number of different keys for one index.
const DISTINCT_MAX: usize = 4;

/// A digest of a caller and a query.
pub type QueryDigest = [u8; 32];

/// The keys at which pages ended.
#[derive(Debug, Default)]
pub struct Places {
    ends: HashMap<QueryDigest, BTreeMap<u64, Vec<End>>>,
    order: VecDeque<(QueryDigest, u64)>,
}

#[derive(Clone, Debug)]
struct End {
    place: PageKey,
    at: Timestamp,
}

impl Places {
    /// The entry with the greatest index that is not above `index`: the index, and the key to
    /// continue from.
    pub fn before(
        &self,
        query: &QueryDigest,
        index: u64,
        direction: Direction,
        now: Timestamp,
    ) -> Option<(u64, PageKey)> {
        let ends = self.ends.get(query)?;
        ends.range(..=index).rev().find_map(|(index, ends)| {
            let fresh = ends.iter().filter(|end| is_fresh(end, now));
            Some((*index, first(fresh.map(|end| end.place.clone()), direction)?))
        })
    }

    /// Stores that the page before `index` ended at `place`.
    pub fn note(
        &mut self,
        query: QueryDigest,
        index: u64,
        place: PageKey,
        direction: Direction,
        now: Timestamp,
    ) {
        let ends = self.ends.entry(query).or_default();
        let known = ends.entry(index).or_insert_with(|| {
            self.order.push_back((query, index));
            Vec::new()
        });
        known.retain(|end| is_fresh(end, now));
        match known.iter_mut().find(|end| end.place == place) {
            Some(end) => end.at = now,
            None => known.push(End { place, at: now }),
        }
        if known.len() > DISTINCT_MAX {
            // The list with the last key continues from the one before it: users are returned
            // twice, none is left out.
            known.sort_by(|one, other| order(&one.place, &other.place, direction));
            known.pop();
            if let Some(last) = known.last_mut() {
                last.at = now;
            }
        }
        while self.order.len() > PLACES_MAX {
            self.remove_oldest();
        }
    }

    /// Begins a list: forgets the entries of the lists of this query that ended or were left.
    pub fn begin(&mut self, query: &QueryDigest, now: Timestamp) {
        let Some(ends) = self.ends.get_mut(query) else { return };
        ends.retain(|_, ends| {
            ends.retain(|end| age_ms(end, now) < PLACE_IDLE_MS);
            !ends.is_empty()
        });
        let has_index = |index: &u64| ends.contains_key(index);
        self.order.retain(|(of, index)| of != query || has_index(index));
        if ends.is_empty() {
            self.ends.remove(query);
        }
    }

    /// Ends a list. Its entries stay valid, until another list of this query begins.
    pub fn end(&mut self, query: &QueryDigest, now: Timestamp) {
        let left = Timestamp::from_millis(now.as_millis().saturating_sub(PLACE_IDLE_MS));
        for end in self.ends.get_mut(query).into_iter().flat_map(BTreeMap::values_mut).flatten() {
            end.at = end.at.min(left);
        }
    }

    fn remove_oldest(&mut self) {
        let Some((query, index)) = self.order.pop_front() else { return };
        let Some(ends) = self.ends.get_mut(&query) else { return };
        ends.remove(&index);
        if ends.is_empty() {
            self.ends.remove(&query);
        }
    }
}

/// The smallest of the keys.
pub fn first(places: impl Iterator<Item = PageKey>, direction: Direction) -> Option<PageKey> {
    places.min_by(|one, other| order(one, other, direction))
}

fn is_fresh(end: &End, now: Timestamp) -> bool {
    age_ms(end, now) <= PLACE_KEEP_MS
}

const fn age_ms(end: &End, now: Timestamp) -> i64 {
    now.as_millis().saturating_sub(end.at.as_millis())
}

fn order(one: &PageKey, other: &PageKey, direction: Direction) -> std::cmp::Ordering {
    let place = |key: &PageKey| (key.key.clone(), key.id);
    compare(&place(one), &place(other), direction)
}

#[cfg(test)]
mod tests {
    use roster_core::{UserId, list::SortKey};

    use super::*;

    const UP: Direction = Direction::Ascending;
    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn place(number: u8) -> PageKey {
        PageKey { key: SortKey::Id, id: UserId::from_bytes([number; 16]) }
    }

    fn later(ms: i64) -> Timestamp {
        Timestamp::from_millis(NOW.as_millis() + ms)
    }

    #[test]
    fn a_list_continues_where_its_last_page_ended() {
        let mut places = Places::default();
        places.note([1; 32], 101, place(10), UP, NOW);
        places.note([1; 32], 201, place(20), UP, NOW);
        let before = |index| places.before(&[1; 32], index, UP, NOW);
        assert_eq!(before(201), Some((201, place(20))));
        assert_eq!(before(150), Some((101, place(10))));
        assert_eq!(before(100), None);
        assert_eq!(places.before(&[2; 32], 101, UP, NOW), None);
    }

    #[test]
    fn of_two_keys_the_smaller_is_used_until_it_expires() {
        let mut places = Places::default();
        places.note([1; 32], 101, place(10), UP, NOW);
        places.note([1; 32], 101, place(12), UP, later(PLACE_KEEP_MS));
        let at = |ms| places.before(&[1; 32], 101, UP, later(ms)).map(|(_, place)| place);
        assert_eq!(at(PLACE_KEEP_MS), Some(place(10)));
        assert_eq!(at(PLACE_KEEP_MS + 1), Some(place(12)));
        assert_eq!(at(2 * PLACE_KEEP_MS + 1), None);
        let down = places.before(&[1; 32], 101, Direction::Descending, NOW);
        assert_eq!(down, Some((101, place(12))));
    }

    #[test]
    fn a_list_that_begins_forgets_those_that_ended_or_were_left() {
        let mut places = Places::default();
        places.note([1; 32], 101, place(10), UP, NOW);
        places.note([1; 32], 201, place(20), UP, later(PLACE_IDLE_MS - 1));
        places.note([2; 32], 101, place(30), UP, NOW);
        let before = |places: &Places, query: u8, index| {
            places.before(&[query; 32], index, UP, later(PLACE_IDLE_MS)).map(|(_, place)| place)
        };
        places.begin(&[1; 32], later(PLACE_IDLE_MS));
        assert_eq!(before(&places, 1, 101), None, "it was left");
        assert_eq!(before(&places, 1, 201), Some(place(20)), "it may go on");
        places.end(&[1; 32], later(PLACE_IDLE_MS));
        assert_eq!(before(&places, 1, 201), Some(place(20)), "its last page may be read again");
        places.begin(&[1; 32], later(PLACE_IDLE_MS));
        assert_eq!(before(&places, 1, 201), None, "it ended");
        assert_eq!(before(&places, 2, 101), Some(place(30)), "another query");
        assert_eq!((places.order.len(), places.ends.len()), (1, 1));
    }

    #[test]
    fn many_keys_for_one_index_keep_the_smallest() {
        let mut places = Places::default();
        for number in (1..=9).rev() {
            places.note([1; 32], 101, place(number), UP, NOW);
        }
        assert_eq!(places.before(&[1; 32], 101, UP, NOW), Some((101, place(1))));
    }

    #[test]
    fn the_table_is_bounded_and_the_oldest_entry_is_removed_first() {
        let mut places = Places::default();
        let most = u64::try_from(PLACES_MAX).expect("a number");
        for index in 0..=most {
            places.note([1; 32], index + 2, place(1), UP, NOW);
        }
        assert_eq!(places.before(&[1; 32], 2, UP, NOW), None);
        assert_eq!(places.before(&[1; 32], 3, UP, NOW), Some((3, place(1))));
        assert_eq!(places.order.len(), PLACES_MAX);
    }
}
