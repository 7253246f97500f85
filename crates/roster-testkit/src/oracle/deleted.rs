//! A page of deleted users: sorts all of them, then takes the first ones.

use std::cmp::Ordering;

use roster_core::{
    filter::Memberships,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction},
    words::{matches_words, words_of},
};

use super::Entry;

pub(super) fn page<'a>(
    deleted: impl Iterator<Item = &'a Entry>,
    position: i64,
    query: &DeletedQuery,
) -> DeletedPage {
    let key = |entry: &Entry| DeletedKey { at: entry.user.updated_at, id: entry.user.id };
    let mut all: Vec<(DeletedKey, &Entry)> = deleted.map(|entry| (key(entry), entry)).collect();
    let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
    all.sort_by(|(one, _), (other, _)| compare(query.direction, one, other));
    all.retain(|(key, _)| {
        query.before.is_none_or(|before| key.at < before)
            && query
                .after
                .is_none_or(|after| compare(query.direction, key, &after) == Ordering::Greater)
    });
    let no_groups = Memberships::default();
    all.retain(|(_, kept)| {
        query.filter.as_ref().is_none_or(|filter| filter.matches(&kept.user, &no_groups))
            && matches_words(&query.words, &words_of(&kept.user))
    });
    let mut page = DeletedPage { items: Vec::new(), next: None, position, total, examined: None };
    let (mut last, mut bytes) = (None, 0);
    for (key, entry) in all {
        if page.items.len() == query.limit || bytes >= query.bytes_max {
            page.next = last;
            break;
        }
        bytes += entry.stored.record.len();
        page.items.push(entry.as_deleted());
        last = Some(key);
    }
    page
}

fn compare(direction: Direction, one: &DeletedKey, other: &DeletedKey) -> Ordering {
    let ascending = (one.at, one.id).cmp(&(other.at, other.id));
    match direction {
        Direction::Ascending => ascending,
        Direction::Descending => ascending.reverse(),
    }
}
