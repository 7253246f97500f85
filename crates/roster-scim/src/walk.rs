//! Walks by index that lose nobody.
//!
//! Where users leave while somebody walks by `startIndex`, all that follow move up, and whoever
//! moves across the edge of a page is never seen. So the place where a page ended is remembered
//! for the index that follows it, for each caller and question by themselves: the next page goes
//! on there, whatever has moved. Where two walks disagree the smaller place rules: somebody may be
//! seen twice, nobody not at all. The table is bounded; the oldest is forgotten first.

use std::collections::{BTreeMap, HashMap, VecDeque};

use roster_core::{
    Timestamp,
    list::{Direction, PageKey},
    page::order::compare,
    walk::WALK_ENDS_MAX,
};

/// Most places that are remembered.
pub const PLACES_MAX: usize = WALK_ENDS_MAX;
/// Milliseconds for which a place is remembered after it was last the end of a page: 15 minutes.
pub const PLACE_KEEP_MS: i64 = 15 * 60 * 1000;
/// Most places that are told apart for one index.
const DISTINCT_MAX: usize = 4;

/// A caller and a question, digested.
pub type Question = [u8; 32];

/// Where pages ended.
#[derive(Debug, Default)]
pub struct Places {
    ends: HashMap<Question, BTreeMap<u64, Vec<End>>>,
    order: VecDeque<(Question, u64)>,
}

#[derive(Clone, Debug)]
struct End {
    place: PageKey,
    at: Timestamp,
}

impl Places {
    /// The place to go on from for the nearest index that is not beyond this one, and that index.
    pub fn before(
        &self,
        question: &Question,
        index: u64,
        direction: Direction,
        now: Timestamp,
    ) -> Option<(u64, PageKey)> {
        let ends = self.ends.get(question)?;
        ends.range(..=index).rev().find_map(|(index, ends)| {
            let fresh = ends.iter().filter(|end| is_fresh(end, now));
            Some((*index, first(fresh.map(|end| end.place.clone()), direction)?))
        })
    }

    /// Takes note that the page before this index ended there.
    pub fn note(
        &mut self,
        question: Question,
        index: u64,
        place: PageKey,
        direction: Direction,
        now: Timestamp,
    ) {
        let ends = self.ends.entry(question).or_default();
        let known = ends.entry(index).or_insert_with(|| {
            self.order.push_back((question, index));
            Vec::new()
        });
        known.retain(|end| is_fresh(end, now));
        match known.iter_mut().find(|end| end.place == place) {
            Some(end) => end.at = now,
            None => known.push(End { place, at: now }),
        }
        if known.len() > DISTINCT_MAX {
            // The last one's walk goes on from the place before it: seen twice, never missed.
            known.sort_by(|one, other| order(&one.place, &other.place, direction));
            known.pop();
            if let Some(last) = known.last_mut() {
                last.at = now;
            }
        }
        while self.order.len() > PLACES_MAX {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((question, index)) = self.order.pop_front() else { return };
        let Some(ends) = self.ends.get_mut(&question) else { return };
        ends.remove(&index);
        if ends.is_empty() {
            self.ends.remove(&question);
        }
    }
}

/// The smallest of the places at which walks ended.
pub fn first(places: impl Iterator<Item = PageKey>, direction: Direction) -> Option<PageKey> {
    places.min_by(|one, other| order(one, other, direction))
}

fn is_fresh(end: &End, now: Timestamp) -> bool {
    now.as_millis().saturating_sub(end.at.as_millis()) <= PLACE_KEEP_MS
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
    fn a_walk_goes_on_where_its_last_page_ended() {
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
    fn of_two_walks_the_smaller_place_rules_until_it_is_old() {
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
    fn many_walks_over_one_index_keep_the_smallest_places() {
        let mut places = Places::default();
        for number in (1..=9).rev() {
            places.note([1; 32], 101, place(number), UP, NOW);
        }
        assert_eq!(places.before(&[1; 32], 101, UP, NOW), Some((101, place(1))));
    }

    #[test]
    fn the_table_is_bounded_and_the_oldest_is_forgotten_first() {
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
