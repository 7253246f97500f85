//! The query plan of every statement, as a snapshot.

use std::ops::Bound;

use roster_core::{
    Guard, Rules, Sharing, Status, TenantId, Timestamp, UserId,
    group::GroupQuery,
    list::{DeletedKey, Direction, PageKey, Sort, SortBy, SortKey},
    plan::{Index, Lookup, Range, RangeKey},
    tenant::{TenantQuery, TenantSelection},
};

use roster_engine as engine;

use super::{
    explain::{
        Enters::{AtKey, AtStart},
        Sizes, Statement, at_key, at_start, explain,
    },
    housekeeping_statements::{clock_marks, erasures, indexes, of_purged_tenants, outlived},
};
use crate::{
    api_keys,
    engine::PROBE,
    in_force::{CHANGED, NEXT_ERA_OF_TENANT, STATE},
    reads::{
        events::{self, Scope, Shape},
        page::with_head,
        rows::Rows,
        user_lookups, walks,
    },
    uniqueness::KEYS,
    writer::sql,
};

/// A tenant. The plan of a statement is the same for each.
const TENANT: TenantId = TenantId::DEFAULT;

/// The dialect of this engine.
type Db = Rows<'static>;

const fn rules(email: Sharing, external_id: Sharing) -> Rules {
    Rules { email, external_id, put: Guard::Off, delete: Guard::Off }
}

#[tokio::test]
async fn every_statement_uses_its_index_at_every_table_size() {
    let groups = [
        ("pages", pages()),
        ("pages_of_ranges", pages_of_ranges()),
        ("unordered", unordered()),
        ("lookups", lookups()),
        ("reads", reads()),
        ("writes", writes()),
        ("outlived", outlived()),
        ("erasures", erasures()),
        ("purged_tenants", of_purged_tenants()),
        ("tenants", tenants()),
        ("clock_marks", clock_marks()),
        ("keys", keys_of_callers()),
        ("groups", groups_and_members()),
        ("indexes", indexes()),
        (
            "walks",
            vec![
                at_key(&["walk_ends_walk"], walks::FIND),
                at_key(&["walk_ends_walk"], walks::FORGET),
                at_key(&["walk_ends_walk"], walks::END),
            ],
        ),
    ];
    let rules = [
        rules(Sharing::Unique, Sharing::Shared),
        rules(Sharing::Shared, Sharing::Unique),
        rules(Sharing::Unique, Sharing::Unique),
    ];
    for (name, plans) in explain(&rules, &groups, Sizes::NewAndFull).await {
        insta::assert_snapshot!(name, plans);
    }
}

#[tokio::test]
async fn statements_of_many_ids_have_one_plan_while_tables_grow() {
    let rules = [rules(Sharing::Unique, Sharing::Shared)];
    let groups = [("grown", of_many_ids())];
    for (name, plans) in explain(&rules, &groups, Sizes::All).await {
        insta::assert_snapshot!(name, plans);
    }
}

/// Statements whose cost is the product of two lengths if their plan is wrong.
fn of_many_ids() -> Vec<Statement> {
    vec![
        at_key(&["users_pkey"], user_lookups::GET),
        at_key(&["users_pkey"], sql::LOCK),
        at_key(&["users_pkey"], sql::DELETE),
        at_key(&["users_pkey"], sql::REPLACE),
        at_key(&["words_pkey"], sql::DROP_WORDS),
        at_key(&["further_keys_pkey"], sql::DROP_KEYS),
        at_key(&["groups_pkey"], engine::groups_of_ids::<Db>()),
        at_key(&["group_members_member", "groups_pkey"], engine::direct_groups::<Db>()),
        at_key(&["group_members_member"], engine::members_among::<Db>()),
        at_key(&["group_members_member", "groups_pkey", "users_pkey"], engine::newcomers::<Db>()),
        at_key(&["group_members_member"], engine::groups_above::<Db>()),
        at_key(&["group_members_nested"], engine::groups_below::<Db>()),
        at_key(&["groups_pkey"], sql::UPDATE_GROUPS),
        at_key(&["group_members_member"], sql::REMOVE_MEMBERSHIPS),
    ]
}

#[tokio::test]
async fn keys_that_may_be_unique_are_counted_and_found_along_an_index() {
    let [email, external_id] = KEYS;
    let counted = vec![
        at_key(&["users_email"], email.count),
        at_start(&["users_external_id"], external_id.count),
        at_key(&["users_email"], email.list),
        at_start(&["users_external_id"], external_id.list),
        at_key(&["settings_pkey"], engine::SETTING),
    ];
    // The lookup of holders, while the external ids are unique.
    let all = &["users_pkey", "users_username", "users_email", "users_external_id"];
    let held = vec![
        at_key(&["users_external_id"], sql::HOLDERS_OF_EXTERNAL_IDS),
        at_key(all, sql::LOCK_HOLDERS),
    ];
    for (sharing, name, statements) in
        [(Sharing::Shared, "counted_keys", counted), (Sharing::Unique, "unique_keys", held)]
    {
        let rules = [rules(Sharing::Shared, sharing)];
        for (name, plans) in explain(&rules, &[(name, statements)], Sizes::NewAndFull).await {
            insta::assert_snapshot!(name, plans);
        }
    }
}

const BOTH: [Direction; 2] = [Direction::Ascending, Direction::Descending];

const LIMIT: usize = 51;

/// Every order, with that of an index that a schema names.
fn orders() -> impl Iterator<Item = SortBy> {
    SortBy::ALL.iter().copied().chain([SortBy::Indexed(2)])
}

/// A function that makes a statement whose plan enters its index at the start, or at a key.
type At = fn(&'static [&'static str], String) -> Statement;

fn text() -> String {
    "x".to_owned()
}

fn index_of(index: Index) -> &'static [&'static str] {
    match index {
        Index::Sort(SortBy::Id) => &["users_pkey"],
        Index::Sort(SortBy::UpdatedAt) => &["users_updated_at"],
        Index::Sort(SortBy::Username) => &["users_username"],
        Index::Sort(SortBy::Email) => &["users_email"],
        Index::Sort(SortBy::FamilyName) => &["users_family_name"],
        Index::Sort(SortBy::Name) => &["users_name"],
        Index::Sort(SortBy::ExpiresAt) => &["users_expires_at"],
        Index::Sort(SortBy::Indexed(_)) => &["further_keys_pkey", "users_pkey"],
        Index::ExternalId => &["users_external_id"],
        Index::PhoneNumber => &["users_phone_number"],
        Index::Status => &["users_status"],
        Index::Member => &["group_members_pkey", "users_pkey"],
    }
}

/// The same indexes, and that of the head of the log.
fn with_tenants(index: Index) -> &'static [&'static str] {
    match index {
        Index::Sort(SortBy::Id) => &["users_pkey", "tenants_pkey"],
        Index::Sort(SortBy::UpdatedAt) => &["users_updated_at", "tenants_pkey"],
        Index::Sort(SortBy::Username) => &["users_username", "tenants_pkey"],
        Index::Sort(SortBy::Email) => &["users_email", "tenants_pkey"],
        Index::Sort(SortBy::FamilyName) => &["users_family_name", "tenants_pkey"],
        Index::Sort(SortBy::Name) => &["users_name", "tenants_pkey"],
        Index::Sort(SortBy::ExpiresAt) => &["users_expires_at", "tenants_pkey"],
        Index::Sort(SortBy::Indexed(_)) => &["further_keys_pkey", "users_pkey", "tenants_pkey"],
        Index::ExternalId => &["users_external_id", "tenants_pkey"],
        Index::PhoneNumber => &["users_phone_number", "tenants_pkey"],
        Index::Status => &["users_status", "tenants_pkey"],
        Index::Member => &["group_members_pkey", "users_pkey", "tenants_pkey"],
    }
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
        | SortBy::Indexed(_) => SortKey::Text(Some(text())),
    };
    PageKey { key, id: UserId::from_bytes([7; 16]) }
}

/// The statements for the rows of a range in an order: from its start and after a row, in both
/// directions, with and without a status, alone and with the head of the log.
fn along(range: &Range, by: SortBy) -> Vec<Statement> {
    let is_whole = range.is_whole();
    let mut statements = Vec::new();
    for direction in BOTH {
        let sort = Sort { by, direction };
        for after in [None, Some(page_key(by))] {
            let enters = if is_whole && after.is_none() { AtStart } else { AtKey };
            for status in [None, Some(Status::Active)] {
                let mut to = engine::Parameters::default();
                let rows = engine::rows_along::<Db>(
                    TENANT,
                    range,
                    sort,
                    after.as_ref(),
                    status,
                    LIMIT,
                    &mut to,
                );
                let direct = status.is_none().then(|| {
                    let sql = with_head(&rows, by, to.0.len() + 1);
                    Statement { sql, indexes: with_tenants(range.index), enters }
                });
                let alone = Statement { sql: rows, indexes: index_of(range.index), enters };
                statements.extend([alone].into_iter().chain(direct));
            }
        }
    }
    statements
}

/// Pages that are read along a whole index.
fn pages() -> Vec<Statement> {
    let whole = |by: SortBy| along(&Range::whole(Index::Sort(by)), by);
    orders().flat_map(whole).collect()
}

/// The ranges of filters, in an order.
fn ranges(by: SortBy) -> [Range; 4] {
    let key = |byte: u8, text: &str| match by {
        SortBy::Id => RangeKey::Id(UserId::from_bytes([byte; 16])),
        SortBy::UpdatedAt => RangeKey::Time(Timestamp::from_millis(byte.into())),
        SortBy::Username
        | SortBy::Email
        | SortBy::FamilyName
        | SortBy::Name
        | SortBy::ExpiresAt
        | SortBy::Indexed(_) => RangeKey::Text(text.to_owned()),
    };
    // The row of `page_key` is between the first and the last.
    let (low, same, high) = (|| key(6, "w"), || key(7, "x"), || key(8, "y"));
    [
        (Bound::Included(low()), Bound::Excluded(high())),
        (Bound::Excluded(low()), Bound::Unbounded),
        (Bound::Unbounded, Bound::Included(high())),
        (Bound::Included(same()), Bound::Included(same())),
    ]
    .map(|(from, to)| Range { index: Index::Sort(by), from, to })
}

/// The ranges of one key whose rows are in the order of ids.
fn keys_in_the_order_of_ids() -> Vec<Range> {
    let keys = [
        (Index::Sort(SortBy::Username), RangeKey::Text(text())),
        (Index::Sort(SortBy::Email), RangeKey::Text(text())),
        (Index::ExternalId, RangeKey::Text(text())),
        (Index::PhoneNumber, RangeKey::Text(text())),
        (Index::Status, RangeKey::Status(Status::Active)),
        (Index::Member, RangeKey::Id(UserId::from_bytes([7; 16]))),
    ];
    let range = |(index, key): (Index, RangeKey)| Range {
        index,
        from: Bound::Included(key.clone()),
        to: Bound::Included(key),
    };
    keys.into_iter().map(range).collect()
}

/// Pages along a range of an index.
fn pages_of_ranges() -> Vec<Statement> {
    let by_order = orders().flat_map(|by| ranges(by).map(|range| along(&range, by)));
    let by_id = keys_in_the_order_of_ids().into_iter().map(|range| along(&range, SortBy::Id));
    by_order.chain(by_id).flatten().collect()
}

/// Rows that are sorted afterwards, and totals.
fn unordered() -> Vec<Statement> {
    let mut statements = Vec::new();
    let ranges = orders().flat_map(ranges).chain(keys_in_the_order_of_ids());
    for range in ranges {
        let mut to = engine::Parameters::default();
        statements.push(at_key(
            index_of(range.index),
            engine::ids_of_range::<Db>(TENANT, &range, LIMIT, &mut to),
        ));
        let mut to = engine::Parameters::default();
        statements.push(at_key(
            index_of(range.index),
            engine::count_of_range::<Db>(TENANT, &range, LIMIT, &mut to),
        ));
    }
    let ids = [UserId::from_bytes([7; 16])];
    for by in orders() {
        for status in [None, Some(Status::Active)] {
            let rows = engine::rows_of_ids::<Db>(
                TENANT,
                &ids,
                by,
                status,
                &mut engine::Parameters::default(),
            );
            statements.push(at_key(&["users_pkey"], rows));
        }
        let places =
            engine::places_of_ids::<Db>(TENANT, &ids, by, &mut engine::Parameters::default());
        statements.push(at_key(&["users_pkey"], places));
    }
    statements
}

/// The statements that find ids by keys and words.
fn lookups() -> Vec<Statement> {
    let lookups: [(Lookup, &'static [&'static str]); 7] = [
        (Lookup::Id(UserId::from_bytes([7; 16])), &["users_pkey"]),
        (Lookup::Username(text()), &["users_username"]),
        (Lookup::Email(text()), &["users_email"]),
        (Lookup::AnyEmail(text()), &["users_email"]),
        (Lookup::ExternalId(text()), &["users_external_id"]),
        (Lookup::PhoneNumber(text()), &["users_phone_number"]),
        (Lookup::AnyPhoneNumber(text()), &["users_phone_number"]),
    ];
    let mut statements: Vec<Statement> =
        lookups.iter().map(|(one, index)| at_key(index, engine::ids_of_key::<Db>(one))).collect();
    statements.push(at_key(&["further_keys_pkey"], engine::FURTHER));
    statements.push(at_key(&["words_pkey"], engine::WORDS));
    statements
}

/// Single users, the head, the log, deleted users.
fn reads() -> Vec<Statement> {
    let mut statements = vec![
        at_key(&["users_pkey"], user_lookups::GET),
        at_key(&["deleted_users_pkey"], engine::DELETED_USER),
        at_key(&["tenants_pkey"], engine::HEAD),
        at_start(&["settings_pkey", "tenants_pkey"], STATE),
        at_key(&["tenants_rules_era"], CHANGED),
    ];
    let of_events: [(_, &'static [&'static str]); 4] = [
        (Scope::All, &["events_pkey", "erasures_pkey", "tenants_pkey"]),
        (Scope::Default, &["events_pkey", "erasures_pkey"]),
        (Scope::Tenant, &["events_pkey", "events_tenant", "erasures_pkey"]),
        (Scope::Subject, &["events_pkey", "events_subject", "erasures_pkey"]),
    ];
    for (scope, indexes) in of_events {
        for direction in BOTH {
            for (of_kinds, of_actors) in [(false, false), (true, false), (true, true)] {
                let shape = Shape { scope, direction, of_kinds, of_actors };
                statements.push(at_start(indexes, events::rows(shape)));
            }
        }
    }
    for direction in BOTH {
        for (after, before) in [(false, false), (true, false), (false, true), (true, true)] {
            let moment = || Timestamp::from_millis(7);
            let key = after.then(|| DeletedKey { at: moment(), id: UserId::from_bytes([7; 16]) });
            let bounds = (key, before.then(moment));
            let mut to = engine::Parameters::default();
            let sql = engine::deleted_users::<Db>(TENANT, direction, bounds, 1, &mut to);
            let make = if after || before { at_key } else { at_start };
            statements.push(make(&["deleted_users_deleted_at"], sql));
        }
    }
    statements
}

/// All statements of a write.
fn writes() -> Vec<Statement> {
    vec![
        at_key(&[], PROBE),
        at_key(&["users_pkey"], sql::LOAD),
        at_key(&["users_pkey"], sql::LOCK),
        at_key(&[], sql::CLAIM),
        at_key(&[], sql::CLAIM_AT_ONCE),
        at_key(&["deleted_users_pkey"], sql::LOAD_DELETED),
        at_key(&["deleted_users_pkey"], sql::LOCK_DELETED),
        at_key(&["users_username", "users_email"], sql::HOLDERS),
        at_key(
            &["idempotency_keys_pkey", "events_pkey", "events_subject", "erasures_pkey"],
            sql::IDEMPOTENCY,
        ),
        at_key(&["users_pkey"], sql::DELETE),
        at_key(&["deleted_users_pkey"], sql::DROP_DELETED),
        at_key(&["users_pkey"], sql::REPLACE),
        at_key(&[], sql::CREATE),
        at_key(&[], sql::KEEP_DELETED),
        at_key(&["words_pkey"], sql::DROP_WORDS),
        at_key(&[], sql::ADD_WORDS),
        at_key(&["further_keys_pkey"], sql::DROP_KEYS),
        at_key(&[], sql::ADD_KEYS),
        at_key(&["idempotency_keys_pkey"], sql::DELETE_EXPIRED_IDEMPOTENCY),
        at_key(&[], sql::APPEND),
        at_key(&["tenants_pkey"], sql::COUNT),
        at_key(&["tenants_pkey"], NEXT_ERA_OF_TENANT),
        at_key(&[], sql::POSITION),
    ]
}

/// API keys.
fn keys_of_callers() -> Vec<Statement> {
    vec![
        at_key(&["keys_head_pkey"], engine::KEYS_GENERATION),
        at_key(&["keys_generation"], engine::CHANGED_KEYS),
        at_key(&["keys_tenant"], engine::KEYS_OF_TENANT),
        at_key(&["keys_tenant"], engine::KEYS_OF_OPERATOR),
        at_key(&["keys_pkey"], engine::KEY),
        at_key(&["keys_tenant"], engine::HAS_KEYS),
        at_key(&["keys_head_pkey", "keys_tenant"], engine::REVOKE_KEYS),
        at_key(&["keys_head_pkey"], engine::PUT_KEY),
        at_key(&["keys_pkey"], engine::DROP_KEY),
        at_key(&[], engine::COUNT_KEY_CHANGE),
        at_key(&["keys_pkey"], api_keys::NOTE_USE),
    ]
}

/// Groups and their members.
fn groups_and_members() -> Vec<Statement> {
    let mut statements = Vec::new();
    for direction in BOTH {
        let ways: [(bool, At); 2] = [(false, at_start), (true, at_key)];
        for (is_after, at) in ways {
            let along = |by, external_id| {
                let (sort, after) = (Sort { by, direction }, is_after.then(|| page_key(by)));
                let query = GroupQuery { sort, after, external_id, ..GroupQuery::first(1) };
                engine::groups_along::<Db>(TENANT, &query, &mut engine::Parameters::default())
            };
            statements.push(at(&["groups_pkey"], along(SortBy::Id, None)));
            statements.push(at(&["groups_name"], along(SortBy::Name, None)));
            let id = || Some(text());
            statements.push(at_key(&["groups_external_id"], along(SortBy::Id, id())));
            statements.push(at_key(&["groups_external_id_name"], along(SortBy::Name, id())));
        }
    }
    statements.extend([
        at_key(&["groups_pkey"], engine::GROUP),
        at_key(&["tenants_pkey"], engine::GROUPS_TOTAL),
        at_key(&["groups_pkey"], engine::groups_of_ids::<Db>()),
        at_key(&["groups_name"], engine::GROUP_OF_NAME),
        at_key(&["groups_external_id"], engine::count_of_external_id::<Db>()),
        at_key(&["group_members_pkey"], engine::MEMBERS),
        at_key(&["group_members_member", "groups_pkey"], engine::direct_groups::<Db>()),
        at_key(&["group_members_member"], engine::members_among::<Db>()),
        at_key(&["group_members_pkey"], engine::ALL_MEMBERS),
        at_key(&["group_members_member", "groups_pkey", "users_pkey"], engine::newcomers::<Db>()),
        at_key(&["group_members_member"], engine::groups_above::<Db>()),
        at_key(&["events_subject"], engine::LAST_EVENT),
        at_key(&["group_members_nested"], engine::groups_below::<Db>()),
        at_key(&[], sql::CREATE_GROUPS),
        at_key(&["groups_pkey"], sql::UPDATE_GROUPS),
        at_key(&["groups_pkey"], sql::DELETE_GROUPS),
        at_key(&["group_members_pkey"], sql::DELETE_MEMBERSHIPS_OF_GROUPS),
        at_key(&[], sql::ADD_MEMBERSHIPS),
        at_key(&["group_members_member"], sql::REMOVE_MEMBERSHIPS),
    ]);
    statements
}

/// Tenants.
fn tenants() -> Vec<Statement> {
    let along = |selection| {
        let query = TenantQuery { selection, after: None, limit: 1 };
        engine::tenants_along::<Db>(&query, &mut engine::Parameters::default())
    };
    vec![
        at_key(&["tenants_name"], engine::tenant_of_name()),
        at_key(&["tenants_live"], along(TenantSelection::Live)),
        at_key(&["tenants_deleted"], along(TenantSelection::Deleted)),
        at_key(&["tenants_external_id"], along(TenantSelection::ExternalId(text()))),
        at_key(&["tenants_pkey"], engine::UPDATE_TENANT),
        at_key(&["tenants_pkey"], engine::PURGE_TENANT),
        at_key(&["tenants_pkey"], engine::END_TENANT),
        at_key(&["tenants_pkey"], engine::DELETED_AT),
    ]
}
