//! The query plan of every statement, as a snapshot. A table that is scanned without an index,
//! or rows that SQLite sorts, fail the test before any snapshot does.

use std::{collections::BTreeSet, fmt::Write as _, ops::Bound};

use roster_core::{
    PolicyKey, Status, TenantId, Timestamp, UserId,
    group::GroupQuery,
    list::{DeletedKey, Direction, PageKey, Sort, SortBy, SortKey},
    plan::{Index, Lookup, Range, RangeKey},
    tenant::{TenantQuery, TenantSelection},
};
use roster_engine::{
    ALL_MEMBERS, BEGIN_ERASURE, CHANGED_KEYS, CLOCK_MARK, COUNT_KEY_CHANGE, COUNT_TENANT_CHANGE,
    CREATE_TENANT, DELETE_WEBHOOK, DELETED_AT, DELETED_USER, DROP_KEY, END_ERASURE,
    END_ERASURES_OF_TENANT, END_INDEX_WORK, END_TENANT, FORGET_EVENTS, FORGET_KEYS, FURTHER, GROUP,
    GROUP_OF_NAME, GROUPS_TOTAL, HAS_KEYS, HEAD, INDEX_KEYS, INDEX_STATE, INDEX_WORK, KEY,
    KEYS_GENERATION, KEYS_OF_OPERATOR, KEYS_OF_TENANT, LAST_EVENT, MEMBERS, MOVE_ERASURE,
    NEWEST_EVENT, NEXT_TENANT, PURGE_TENANT, PUT_KEY, PUT_WEBHOOK, Parameters, REVOKE_KEYS,
    SAVE_PROGRESS, TENANTS_GENERATION, Table, UPDATE_TENANT, USERS_ROOM, WEBHOOK, WEBHOOKS, WORDS,
    count_of_external_id, count_of_range, deleted_users, direct_groups, expired_users_sql,
    groups_above, groups_along, groups_below, groups_of_ids, ids_of_key, ids_of_range,
    members_among, newcomers, places_of_ids, rows_along, rows_of_ids, tenant_of_name,
    tenants_along,
};
use rusqlite::Connection;

use super::support::open;
use crate::{
    columns::KEY_COLUMNS,
    engine::WRITE_CLOCK_MARK,
    offline_api_keys::NOTE_USE,
    policy::count_shared,
    reads::{
        events::{EVENTS, EVENTS_OF_ALL, EVENTS_OF_TENANT, EVENTS_OF_USER, OLDEST},
        rows::Rows,
    },
    settings::DATABASE,
    sqlite::GET,
    writer::sql,
};

const BOTH: [Direction; 2] = [Direction::Ascending, Direction::Descending];

/// Every order, with that of an index that a schema names.
fn orders() -> impl Iterator<Item = SortBy> {
    SortBy::ALL.iter().copied().chain([SortBy::Indexed(2)])
}

/// Every range that a page is read along, with the order of the page.
fn ranges() -> Vec<(Range, SortBy)> {
    let mut ranges = Vec::new();
    for by in orders() {
        let index = Index::Sort(by);
        // The row of `page_key` is between them.
        let key = |byte: u8, letter: &str| match by {
            SortBy::Id => RangeKey::Id(UserId::from_bytes([byte; 16])),
            SortBy::UpdatedAt => RangeKey::Time(Timestamp::from_millis(byte.into())),
            SortBy::Username
            | SortBy::Email
            | SortBy::FamilyName
            | SortBy::Name
            | SortBy::ExpiresAt
            | SortBy::Indexed(_) => RangeKey::Text(letter.to_owned()),
        };
        let (low, high) = (|| key(6, "w"), || key(8, "y"));
        let bounds = [
            (Bound::Unbounded, Bound::Unbounded),
            (Bound::Included(low()), Bound::Excluded(high())),
            (Bound::Excluded(low()), Bound::Unbounded),
            (Bound::Unbounded, Bound::Included(high())),
        ];
        ranges.extend(bounds.map(|(from, to)| (Range { index, from, to }, by)));
    }
    for (index, key) in [
        (Index::Sort(SortBy::Username), text()),
        (Index::Sort(SortBy::Email), text()),
        (Index::ExternalId, text()),
        (Index::PhoneNumber, text()),
        (Index::Status, RangeKey::Status(Status::Suspended)),
        (Index::Member, RangeKey::Id(UserId::from_bytes([7; 16]))),
    ] {
        let range = Range { index, from: Bound::Included(key.clone()), to: Bound::Included(key) };
        ranges.push((range, SortBy::Id));
    }
    ranges
}

fn text() -> RangeKey {
    RangeKey::Text("x".to_owned())
}

/// The statements and their plans, each once. Fails on a scan or a sort.
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
            let is_of_subquery =
                step.contains("(subquery") || ["SCAN few", "SCAN met"].contains(&&*step);
            // A table without rowid is stored as the index of its primary key.
            let is_of_subquery = is_of_subquery || step == "SCAN groups";
            assert!(
                !step.starts_with("SCAN") || step.contains("INDEX") || is_of_subquery,
                "scans: {sql}: {step}"
            );
            writeln!(text, "    {step}").unwrap();
        }
    }
    text
}

#[test]
fn every_page_is_read_along_an_index() {
    let mut statements = vec![HEAD.to_owned(), GET.to_owned()];
    for (range, by) in ranges() {
        statements.push(ids_of_range::<Rows<'_>>(
            TenantId::DEFAULT,
            &range,
            1,
            &mut Parameters::default(),
        ));
        statements.push(count_of_range::<Rows<'_>>(
            TenantId::DEFAULT,
            &range,
            1,
            &mut Parameters::default(),
        ));
        for direction in BOTH {
            let sort = Sort { by, direction };
            for after in [None, Some(page_key(by))] {
                for status in [None, Some(Status::Active)] {
                    let (after, mut to) = (after.as_ref(), Parameters::default());
                    let sql = rows_along::<Rows<'_>>(
                        TenantId::DEFAULT,
                        &range,
                        sort,
                        after,
                        status,
                        1,
                        &mut to,
                    );
                    statements.push(sql);
                }
            }
        }
    }
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn the_keys_of_callers_are_found_by_their_ids() {
    let statements = [
        KEYS_GENERATION,
        CHANGED_KEYS,
        KEYS_OF_TENANT,
        KEYS_OF_OPERATOR,
        KEY,
        HAS_KEYS,
        REVOKE_KEYS,
        PUT_KEY,
        DROP_KEY,
        COUNT_KEY_CHANGE,
        NOTE_USE,
    ];
    insta::assert_snapshot!(explain(statements.map(str::to_owned)));
}

#[test]
fn webhooks_are_found_by_their_ids() {
    let statements = [WEBHOOKS, WEBHOOK, PUT_WEBHOOK, DELETE_WEBHOOK, SAVE_PROGRESS];
    insta::assert_snapshot!(explain(statements.map(str::to_owned)));
}

#[test]
fn tenants_are_found_along_an_index() {
    let mut statements = vec![tenant_of_name()];
    let of_id = TenantSelection::ExternalId("x".to_owned());
    for selection in [TenantSelection::Live, TenantSelection::Deleted, of_id] {
        let query = TenantQuery { selection, after: None, limit: 1 };
        statements.push(tenants_along::<Rows<'_>>(&query, &mut Parameters::default()));
    }
    let changes = [
        NEXT_TENANT,
        CREATE_TENANT,
        UPDATE_TENANT,
        PURGE_TENANT,
        BEGIN_ERASURE,
        END_TENANT,
        USERS_ROOM,
        TENANTS_GENERATION,
        COUNT_TENANT_CHANGE,
        DELETED_AT,
    ];
    statements.extend(changes.map(str::to_owned));
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn groups_and_members_are_read_along_an_index() {
    let mut statements = [GROUP, GROUPS_TOTAL, GROUP_OF_NAME, MEMBERS].map(str::to_owned).to_vec();
    for direction in BOTH {
        for is_after in [false, true] {
            for by in [SortBy::Id, SortBy::Name] {
                for external_id in [None, Some("x".to_owned())] {
                    let after = is_after.then(|| page_key(by));
                    let sort = Sort { by, direction };
                    let query = GroupQuery { sort, after, external_id, ..GroupQuery::first(1) };
                    let mut to = Parameters::default();
                    statements.push(groups_along::<Rows<'_>>(TenantId::DEFAULT, &query, &mut to));
                }
            }
        }
    }
    statements.extend([
        groups_of_ids::<Rows<'_>>(),
        direct_groups::<Rows<'_>>(),
        count_of_external_id::<Rows<'_>>(),
    ]);
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn every_write_of_a_group_finds_its_rows_by_an_index() {
    let mut statements = [
        GROUP,
        GROUP_OF_NAME,
        ALL_MEMBERS,
        sql::CREATE_GROUP,
        sql::UPDATE_GROUP,
        sql::UPDATE_GROUP_WITHOUT_KEYS,
        sql::DELETE_GROUP,
        sql::ADD_MEMBERSHIP,
        sql::REMOVE_MEMBERSHIP,
        sql::REMOVE_MEMBERS_OF_GROUP,
        sql::COUNT,
        LAST_EVENT,
    ]
    .map(str::to_owned)
    .to_vec();
    statements.extend([
        members_among::<Rows<'_>>(),
        newcomers::<Rows<'_>>(),
        groups_above::<Rows<'_>>(),
        groups_below::<Rows<'_>>(),
        direct_groups::<Rows<'_>>(),
    ]);
    insta::assert_snapshot!(explain(statements));
}

fn moment() -> Timestamp {
    Timestamp::from_millis(7)
}

fn page_key(by: SortBy) -> PageKey {
    let key = match by {
        SortBy::Id => SortKey::Id,
        SortBy::UpdatedAt => SortKey::Time(Timestamp::from_millis(7)),
        SortBy::Username
        | SortBy::Email
        | SortBy::FamilyName
        | SortBy::Name
        | SortBy::ExpiresAt
        | SortBy::Indexed(_) => SortKey::Text(Some("x".to_owned())),
    };
    PageKey { key, id: UserId::from_bytes([7; 16]) }
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
    let lookups = lookups.iter().map(ids_of_key::<Rows<'_>>);
    insta::assert_snapshot!(explain(lookups.chain([FURTHER, WORDS].map(str::to_owned))));
}

#[test]
fn deleted_users_and_events_are_read_along_an_index() {
    let mut statements: Vec<String> = [DELETED_USER, OLDEST].map(str::to_owned).to_vec();
    for both in [EVENTS, EVENTS_OF_ALL, EVENTS_OF_TENANT, EVENTS_OF_USER] {
        statements.extend(both.map(str::to_owned));
    }
    for direction in BOTH {
        for (after, before) in [(false, false), (true, false), (false, true), (true, true)] {
            let key = after.then(|| DeletedKey { at: moment(), id: UserId::from_bytes([7; 16]) });
            let bounds = (key, before.then(moment));
            let mut to = Parameters::default();
            statements.push(deleted_users::<Rows<'_>>(
                TenantId::DEFAULT,
                direction,
                bounds,
                1,
                &mut to,
            ));
        }
    }
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn rows_that_are_sorted_are_found_by_their_ids() {
    let ids = [UserId::from_bytes([7; 16])];
    let row = |by: SortBy| {
        let row = |status| {
            rows_of_ids::<Rows<'_>>(TenantId::DEFAULT, &ids, by, status, &mut Parameters::default())
        };
        [None, Some(Status::Active)].map(row)
    };
    let place = |by: SortBy| {
        places_of_ids::<Rows<'_>>(TenantId::DEFAULT, &ids, by, &mut Parameters::default())
    };
    let statements = orders().flat_map(row).chain(orders().map(place));
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn every_write_finds_its_row_by_an_index_and_sets_only_what_changed() {
    let mut statements = [
        sql::LOAD,
        sql::USERNAME_HOLDER,
        sql::EMAIL_HOLDER,
        sql::EXTERNAL_ID_HOLDER,
        sql::INDEXED_HOLDER,
        sql::CREATE,
        sql::DELETE,
        sql::KEEP_DELETED,
        sql::APPEND_EVENT,
        sql::MOVE_HEAD,
    ]
    .map(str::to_owned)
    .to_vec();
    statements.extend(EVENTS.map(str::to_owned));
    statements.push(sql::update([]));
    statements.extend(KEY_COLUMNS.map(|column| sql::update([column])));
    statements.push(sql::update(KEY_COLUMNS));
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn what_a_purge_erases_is_found_along_an_index() {
    use crate::purge::erasure;
    let statements = [
        sql::IDEMPOTENCY,
        erasure::COUNT_EVENTS,
        erasure::COUNT_KEYS,
        erasure::BEGIN,
        erasure::SQL.reached,
        erasure::SQL.next,
        erasure::SQL.empty,
        erasure::SQL.drop_keys,
        MOVE_ERASURE,
        END_ERASURE,
        CLOCK_MARK,
        NEWEST_EVENT,
        WRITE_CLOCK_MARK,
        FORGET_KEYS,
        FORGET_EVENTS,
    ];
    let expired = expired_users_sql::<Rows<'_>>();
    insta::assert_snapshot!(explain(statements.map(str::to_owned).into_iter().chain([expired])));
}

#[test]
fn what_is_in_a_purged_tenant_is_found_along_an_index() {
    use crate::purge::erasure::SQL;
    let others = [END_ERASURES_OF_TENANT, SQL.next_of_tenant, SQL.empty_of_tenant];
    let statements = Table::erase_tenant::<Rows<'_>>().chain(others.map(str::to_owned));
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn shared_keys_are_counted_along_an_index() {
    let statements = PolicyKey::ALL.iter().copied().map(count_shared);
    insta::assert_snapshot!(explain(statements));
}

#[test]
fn indexes_that_the_schema_names_are_built_and_read_along_an_index() {
    use crate::writer::INDEX_SQL as SQL;
    let statements = [
        INDEX_WORK,
        SQL.lock,
        SQL.users,
        SQL.drop,
        SQL.keep,
        END_INDEX_WORK,
        INDEX_KEYS,
        INDEX_STATE,
        sql::INDEXED_HOLDER,
    ];
    insta::assert_snapshot!(explain(statements.map(str::to_owned)));
}
