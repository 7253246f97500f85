//! A page of users: filters and sorts all users, then takes the first ones.
//!
//! A page ends early by bytes, as in every engine. It never ends early by examined rows, because
//! these differ between engines.

use std::cmp::Ordering;

use roster_core::{
    Status, User,
    filter::{Expression, Filter},
    limits::TOTAL_EXACT_MAX,
    list::{Direction, Page, PageKey, PageQuery, Sort, SortBy, SortKey, Total},
    words,
};

use super::{Entry, State};

pub(super) fn page(state: &State, query: &PageQuery) -> Page {
    let position = state.position;
    let matches = |filter: &Filter, user: &User| {
        let groups = state.groups_of(&[user.id]);
        filter.matches(user, &filter.memberships(groups.values().flatten()))
    };
    let mut matching: Vec<(PageKey, &Entry)> = state
        .live
        .values()
        .filter(|entry| query.filter.as_ref().is_none_or(|filter| matches(filter, &entry.user)))
        .filter(|entry| words::matches_words(&query.words, &words::words_of(&entry.user)))
        .map(|entry| (page_key(query, entry), entry))
        .collect();
    matching.sort_by(|(one, _), (other, _)| compare(query.sort, one, other));
    let total = query.count.then(|| total(query, matching.len()));
    if let Some(after) = &query.after {
        matching.retain(|(key, _)| compare(query.sort, key, after) == Ordering::Greater);
    }
    let mut page = Page { items: Vec::new(), next: None, position, total, examined: None };
    if query.limit == 0 {
        return page;
    }
    let (mut last, mut bytes) = (None, 0);
    for (key, entry) in matching {
        if page.items.len() == query.limit || bytes >= query.bytes_max {
            page.next = last;
            break;
        }
        bytes += entry.stored.record.len();
        page.items.push(entry.stored.clone());
        last = Some(key);
    }
    page
}

/// The numbers of all users and of those with one status are stored counters, so they are exact.
fn total(query: &PageQuery, matching: usize) -> Total {
    let matching = u64::try_from(matching).unwrap_or(u64::MAX);
    let filter = query.filter.as_ref().map(|filter| filter.expression().clone());
    let statuses =
        [Status::Active, Status::Suspended].map(|status| Some(Expression::status(status)));
    let has_counter = (filter.is_none() || statuses.contains(&filter)) && query.words.is_empty();
    if has_counter || matching <= TOTAL_EXACT_MAX {
        Total::Exactly(matching)
    } else {
        Total::AtLeast(TOTAL_EXACT_MAX)
    }
}

fn page_key(query: &PageQuery, entry: &Entry) -> PageKey {
    let keys = &entry.keys;
    let key = match query.sort.by {
        SortBy::Id => SortKey::Id,
        SortBy::UpdatedAt => SortKey::Time(keys.updated_at),
        SortBy::Username => SortKey::Text(Some(keys.username.clone())),
        SortBy::Email => SortKey::Text(keys.email.clone()),
        SortBy::FamilyName => SortKey::Text(keys.family_name.clone()),
        SortBy::Name => SortKey::Text(keys.name.clone()),
        SortBy::ExpiresAt => SortKey::Text(keys.expires_at.clone()),
        SortBy::Indexed(kind) => {
            SortKey::Text(query.schema.index(kind).map(|index| index.sort_key(&entry.user)))
        }
    };
    PageKey { key, id: entry.user.id }
}

/// Ascending, ties broken by id, absent texts last; descending is exactly the reverse.
fn compare(sort: Sort, one: &PageKey, other: &PageKey) -> Ordering {
    let by_key = match (&one.key, &other.key) {
        (SortKey::Time(one), SortKey::Time(other)) => one.cmp(other),
        (SortKey::Text(one), SortKey::Text(other)) => {
            (one.is_none(), one).cmp(&(other.is_none(), other))
        }
        (SortKey::Id | SortKey::Time(_) | SortKey::Text(_), _) => Ordering::Equal,
    };
    let ascending = by_key.then(one.id.cmp(&other.id));
    match sort.direction {
        Direction::Ascending => ascending,
        Direction::Descending => ascending.reverse(),
    }
}
