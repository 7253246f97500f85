//! The query plan of every statement, as a snapshot. A table that is scanned without an index,
//! or rows that SQLite sorts, fail the test before any snapshot does.

use std::{collections::BTreeSet, fmt::Write as _, ops::Bound};

use roster_core::{
    PolicyKey, Status, Timestamp, UserId,
    group::GroupQuery,
    list::{Direction, PageKey, PageQuery, Sort, SortBy, SortKey},
    plan::{Index, Lookup, Range, RangeKey},
};
use rusqlite::Connection;

use super::support::open;
use crate::{
    columns::KEY_COLUMNS,
    connection::DATABASE,
    deleted,
    events::{EVENTS_AFTER, EVENTS_OF_USER, OLDEST},
    groups, keys,
    page::{self, range::Bounds},
    policy::count_shared,
    sqlite::GET,
    writer::sql,
};

const BOTH: [Direction; 2] = [Direction::Ascending, Direction::Descending];

/// Every range that a page is read along, with the order that it is read in.
fn ranges() -> Vec<(Range, SortBy)> {
    let mut ranges = Vec::new();
    for by in SortBy::ALL.iter().copied() {
        let index = Index::Sort(by);
        let key = || match by {
            SortBy::Id => RangeKey::Id(UserId::from_bytes([7; 16])),
            SortBy::UpdatedAt => RangeKey::Time(Timestamp::from_millis(7)),
            SortBy::Username | SortBy::Email | SortBy::FamilyName | SortBy::Name => text(),
        };
        let bounds = [
            (Bound::Unbounded, Bound::Unbounded),
            (Bound::Included(key()), Bound::Excluded(key())),
            (Bound::Excluded(key()), Bound::Unbounded),
            (Bound::Unbounded, Bound::Included(key())),
        ];
        ranges.extend(bounds.map(|(from, to)| (Range { index, from, to }, by)));
    }
    for (index, key) in [
        (Index::Sort(SortBy::Username), text()),
        (Index::Sort(SortBy::Email), text()),
        (Index::ExternalId, text()),
        (Index::PhoneNumber, text()),
        (Index::Status, RangeKey::Status(Status::Suspended)),
    ] {
        let range = Range { index, from: Bound::Included(key.clone()), to: Bound::Included(key) };
        ranges.push((range, SortBy::Id));
    }
    ranges
}

fn text() -> RangeKey {
    RangeKey::Text("x".to_owned())
}

/// The statements and their plans, each once; fails on a scan or a sort.
fn explain(statements: impl IntoIterator<Item = String>) -> String {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for sql in statements {
        if !seen.insert(sql.clone()) {
            continue;
        }
        writeln!(text, "{sql}").unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            assert!(!step.contains("TEMP B-TREE"), "sorts: {sql}: {step}");
            assert!(
                !step.starts_with("SCAN") || step.contains("INDEX") || step.contains("(subquery"),
                "scans: {sql}: {step}"
            );
            writeln!(text, "    {step}").unwrap();
        }
    }
    text
}

#[test]
fn every_page_is_read_along_an_index() {
    let mut statements = vec![page::head::HEAD.to_owned(), GET.to_owned()];
    for (range, by) in ranges() {
        statements.push(page::sql::ids(&range, &Bounds::of(&range)));
        statements.push(page::sql::rows_of(&range, &Bounds::of(&range)));
        for direction in BOTH {
            let sort = Sort { by, direction };
            for after in
                [None, Some(PageKey { key: sort_key(by), id: UserId::from_bytes([7; 16]) })]
            {
                let query = PageQuery { sort, after, ..PageQuery::first(1) };
                let (bounds, after) = Bounds::after(&range, &query);
                for has_status in [false, true] {
                    let is_after = after.is_some();
                    statements.push(page::sql::along(&range, sort, &bounds, is_after, has_status));
                }
            }
        }
    }
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn the_keys_of_callers_are_found_by_their_ids() {
    let statements = [keys::GENERATION, keys::KEYS, keys::DROP, keys::NOTE_USE];
    insta::assert_snapshot!(explain(statements.map(str::to_owned)));
}

#[test]
fn groups_and_members_are_read_along_an_index() {
    let mut statements: Vec<String> =
        [groups::GET, groups::TOTAL, groups::MEMBERS, groups::GROUPS_OF]
            .map(str::to_owned)
            .to_vec();
    let id = UserId::from_bytes([7; 16]);
    for mask in 0..16 {
        let asked = |bit: u32| mask & (1 << bit) != 0;
        let query = GroupQuery {
            ids: asked(0).then(Vec::new),
            name_key: asked(1).then(String::new),
            member: asked(2).then_some(id),
            external_id: asked(3).then(String::new),
            ..GroupQuery::first(1)
        };
        statements.extend([groups::rows_sql(&query), groups::count_sql(&query)]);
    }
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn every_write_of_a_group_finds_its_rows_by_an_index() {
    let statements = [
        sql::GROUP_NAME_HOLDER,
        groups::GET,
        sql::IS_MEMBER,
        sql::ALL_MEMBERS,
        sql::IS_USER,
        sql::IS_GROUP,
        sql::COUNT_GROUPS_OF,
        sql::GROUPS_ABOVE,
        sql::GROUPS_BELOW,
        sql::CREATE_GROUP,
        sql::UPDATE_GROUP,
        sql::UPDATE_GROUP_WITHOUT_KEYS,
        sql::DELETE_GROUP,
        sql::ADD_MEMBERSHIP,
        sql::REMOVE_MEMBERSHIP,
        sql::REMOVE_MEMBERS_OF_GROUP,
        sql::COUNT_GROUPS,
    ];
    let bound = format!("LIMIT {}", roster_core::limits::GROUPS_OF_MEMBER_MAX);
    assert!(sql::COUNT_GROUPS_OF.contains(&bound), "as many as may be are enough to know");
    insta::assert_snapshot!(explain(statements.map(str::to_owned)));
}

fn sort_key(by: SortBy) -> SortKey {
    match by {
        SortBy::Id => SortKey::Id,
        SortBy::UpdatedAt => SortKey::Time(Timestamp::from_millis(7)),
        SortBy::Username | SortBy::Email | SortBy::FamilyName | SortBy::Name => {
            SortKey::Text(Some("x".to_owned()))
        }
    }
}

#[test]
fn keys_and_words_are_found_along_an_index() {
    let key = || "x".to_owned();
    let lookups = [
        Lookup::Id(UserId::from_bytes([7; 16])),
        Lookup::Username(key()),
        Lookup::Email(key()),
        Lookup::AnyEmail(key()),
        Lookup::ExternalId(key()),
        Lookup::PhoneNumber(key()),
        Lookup::AnyPhoneNumber(key()),
    ];
    let others = [page::sql::FURTHER_EMAIL, page::sql::FURTHER_PHONE_NUMBER, page::sql::WORDS];
    let statements = lookups.iter().map(page::sql::key).chain(others);
    insta::assert_snapshot!(explain(statements.map(str::to_owned)));
}

#[test]
fn deleted_users_and_events_are_read_along_an_index() {
    let mut statements: Vec<String> =
        [deleted::GET, EVENTS_AFTER, EVENTS_OF_USER, OLDEST].map(str::to_owned).to_vec();
    for direction in BOTH {
        for (after, before) in [(false, false), (true, false), (false, true), (true, true)] {
            statements.push(deleted::rows(direction, after, before));
        }
    }
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn rows_that_are_sorted_are_found_by_their_ids() {
    let row = |by: &SortBy| [false, true].map(|has_status| page::sql::row(*by, has_status));
    let places = SortBy::ALL.iter().map(|by| page::sql::place(*by));
    let statements = SortBy::ALL.iter().flat_map(row).chain(places);
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn every_write_finds_its_row_by_an_index_and_sets_only_what_changed() {
    let mut statements = [
        sql::LOAD,
        sql::USERNAME_HOLDER,
        sql::EMAIL_HOLDER,
        sql::EXTERNAL_ID_HOLDER,
        sql::CREATE,
        sql::DELETE,
        sql::KEEP_DELETED,
        sql::APPEND_EVENT,
        sql::MOVE_HEAD,
        EVENTS_AFTER,
    ]
    .map(str::to_owned)
    .to_vec();
    statements.push(sql::update([]));
    statements.extend(KEY_COLUMNS.map(|column| sql::update([column])));
    statements.push(sql::update(KEY_COLUMNS));
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn what_a_purge_erases_is_found_along_an_index() {
    use crate::{clock_mark, writer::erasure};
    let statements = [
        sql::IDEMPOTENCY,
        sql::EVENT_RECORD,
        erasure::COUNT_EVENTS,
        erasure::COUNT_KEYS,
        erasure::BEGIN,
        erasure::REACHED,
        erasure::NEXT,
        erasure::EMPTY,
        erasure::DROP_KEYS,
        erasure::MOVE,
        erasure::END,
        clock_mark::READ,
        clock_mark::NEWEST_EVENT,
        clock_mark::WRITE,
    ];
    insta::assert_snapshot!(explain(statements.map(str::to_owned)));
}

#[test]
fn shared_keys_are_counted_along_an_index() {
    let statements = PolicyKey::ALL.iter().copied().map(count_shared);
    insta::assert_snapshot!(explain(statements));
}
