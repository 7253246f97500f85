//! A page the naive way: all users, filtered, sorted, cut.
//!
//! Ends early by bytes as every engine must; never by rows examined, since what a page looks at is
//! an engine's own matter.

use std::cmp::Ordering;

use roster_core::{
    UserId,
    limits::TOTAL_EXACT_MAX,
    list::{Direction, Equals, Page, PageKey, PageQuery, Sort, SortBy, SortKey, Total},
    words,
};

use super::Kept;

pub(super) fn page<'a>(
    users: impl Iterator<Item = &'a Kept>,
    position: i64,
    query: &PageQuery,
) -> Page {
    let mut met: Vec<(PageKey, &Kept)> = users
        .filter(|kept| meets(&query.equals, kept))
        .filter(|kept| query.filter.as_ref().is_none_or(|filter| filter.matches(&kept.user)))
        .filter(|kept| words::matches_words(&query.words, &words::words_of(&kept.user)))
        .map(|kept| (page_key(query.sort.by, kept), kept))
        .collect();
    met.sort_by(|(one, _), (other, _)| compare(query.sort, one, other));
    let total = query.count.then(|| total(query, met.len()));
    if let Some(after) = &query.after {
        met.retain(|(key, _)| compare(query.sort, key, after) == Ordering::Greater);
    }
    let mut page = Page { items: Vec::new(), next: None, position, total, examined: None };
    if query.limit == 0 {
        return page;
    }
    let (mut last, mut bytes) = (None, 0);
    for (key, kept) in met {
        if page.items.len() == query.limit || bytes >= query.bytes_max {
            page.next = last;
            break;
        }
        bytes += kept.stored.record.len();
        page.items.push(kept.stored.clone());
        last = Some(key);
    }
    page
}

/// All users, and those of one status, are counted by the kept counters, so exactly.
fn total(query: &PageQuery, met: usize) -> Total {
    let met = u64::try_from(met).unwrap_or(u64::MAX);
    let equals = &query.equals;
    let counter_kept = *equals == Equals { status: equals.status, ..Equals::default() }
        && query.filter.is_none()
        && query.words.is_empty();
    if counter_kept || met <= TOTAL_EXACT_MAX {
        Total::Exactly(met)
    } else {
        Total::AtLeast(TOTAL_EXACT_MAX)
    }
}

fn meets(equals: &Equals, kept: &Kept) -> bool {
    let Equals { ids, username, email, external_id, phone_number, status } = equals;
    let same = |wanted: &Option<String>, key: Option<&String>| {
        wanted.as_ref().is_none_or(|wanted| key == Some(wanted))
    };
    let keys = &kept.keys;
    ids.as_ref().is_none_or(|ids: &Vec<UserId>| ids.contains(&kept.user.id))
        && same(username, Some(&keys.username))
        && same(email, keys.email.as_ref())
        && same(external_id, keys.external_id.as_ref())
        && same(phone_number, keys.phone_number.as_ref())
        && status.is_none_or(|status| status == kept.user.status)
}

fn page_key(by: SortBy, kept: &Kept) -> PageKey {
    let keys = &kept.keys;
    let key = match by {
        SortBy::Id => SortKey::Id,
        SortBy::UpdatedAt => SortKey::Time(keys.updated_at),
        SortBy::Username => SortKey::Text(Some(keys.username.clone())),
        SortBy::Email => SortKey::Text(keys.email.clone()),
        SortBy::FamilyName => SortKey::Text(keys.family_name.clone()),
        SortBy::Name => SortKey::Text(keys.name.clone()),
    };
    PageKey { key, id: kept.user.id }
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
