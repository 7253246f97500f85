//! A page of the deleted users, the simple way: sort all of them, take some.

use std::cmp::Ordering;

use roster_core::{
    filter::Memberships,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction},
};

use super::Kept;

pub(super) fn page<'a>(
    deleted: impl Iterator<Item = &'a Kept>,
    position: i64,
    query: &DeletedQuery,
) -> DeletedPage {
    let place = |kept: &Kept| DeletedKey { at: kept.user.updated_at, id: kept.user.id };
    let mut all: Vec<(DeletedKey, &Kept)> = deleted.map(|kept| (place(kept), kept)).collect();
    let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
    all.sort_by(|(one, _), (other, _)| compare(query.direction, one, other));
    all.retain(|(place, _)| {
        query.before.is_none_or(|before| place.at < before)
            && query
                .after
                .is_none_or(|after| compare(query.direction, place, &after) == Ordering::Greater)
    });
    let no_groups = Memberships::default();
    all.retain(|(_, kept)| {
        query.filter.as_ref().is_none_or(|filter| filter.matches(&kept.user, &no_groups))
    });
    let mut page = DeletedPage { items: Vec::new(), next: None, position, total, examined: None };
    let (mut last, mut bytes) = (None, 0);
    for (place, kept) in all {
        if page.items.len() == query.limit || bytes >= query.bytes_max {
            page.next = last;
            break;
        }
        bytes += kept.stored.record.len();
        page.items.push(kept.as_deleted());
        last = Some(place);
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
