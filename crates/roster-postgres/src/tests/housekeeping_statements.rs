//! The statements of housekeeping: erasing, indexes, the clock mark, and deletion by age.

use std::ops::Bound;

use roster_core::{
    TenantId,
    list::{Direction, Sort, SortBy},
    plan::{Index, Range, RangeKey},
};
use roster_engine as engine;

use super::explain::{Statement, at_key, at_start};
use crate::{
    engine::WRITE_CLOCK_MARK,
    erasure,
    indexes::SQL,
    reads::{
        page::{with_head, with_index},
        rows::Rows,
    },
    writer::sql::HOLDERS_OF_INDEXED_KEYS,
};

/// The histories of purged users.
pub(super) fn erasures() -> Vec<Statement> {
    vec![
        at_key(
            &["events_subject", "idempotency_keys_user", "events_pkey", "idempotency_keys_pkey"],
            erasure::BEGIN,
        ),
        at_start(&["erasures_pkey"], engine::PENDING_ERASURES),
        at_key(&["erasures_pkey"], erasure::SQL.reached),
        at_key(&["events_subject"], erasure::SQL.next),
        at_key(&["events_subject"], erasure::SQL.empty),
        at_key(&["idempotency_keys_user", "idempotency_keys_pkey"], erasure::SQL.drop_keys),
        at_key(&["erasures_pkey"], engine::MOVE_ERASURE),
        at_key(&["erasures_pkey"], engine::END_ERASURE),
    ]
}

/// Everything in a purged tenant.
pub(super) fn of_purged_tenants() -> Vec<Statement> {
    let mut statements = vec![
        at_key(&["erasures_pkey"], engine::END_ERASURES_OF_TENANT),
        at_key(&["events_tenant"], erasure::SQL.next_of_tenant),
        at_key(&["events_tenant", "events_pkey"], erasure::SQL.empty_of_tenant),
    ];
    let indexes: [&'static [&'static str]; 9] = [
        &["users_pkey"],
        &["deleted_users_pkey"],
        &["words_pkey"],
        &["further_keys_pkey"],
        &["idempotency_keys_pkey"],
        &["settings_pkey"],
        &["keys_tenant"],
        &["groups_pkey"],
        &["group_members_pkey"],
    ];
    let erased = indexes.into_iter().zip(engine::Table::erase_tenant::<Rows<'_>>());
    statements.extend(erased.map(|(index, sql)| at_key(index, sql)));
    statements
}

/// The clock mark.
pub(super) fn clock_marks() -> Vec<Statement> {
    vec![
        at_key(&["clock_mark_pkey"], engine::CLOCK_MARK),
        at_start(&["events_pkey"], engine::NEWEST_EVENT),
        at_key(&[], WRITE_CLOCK_MARK),
    ]
}

/// Deletion by age, and users who expire.
pub(super) fn outlived() -> Vec<Statement> {
    vec![
        at_key(&["users_expiring", "tenants_pkey"], engine::expired_users_sql::<Rows<'_>>()),
        at_key(&["idempotency_keys_at", "idempotency_keys_pkey"], engine::FORGET_KEYS),
        at_start(&["events_pkey"], engine::OLDEST_EVENTS),
        at_key(&["events_pkey"], engine::FORGET_EVENTS),
    ]
}

/// The indexes that the schema of users names, and the keys in them that are unique.
pub(super) fn indexes() -> Vec<Statement> {
    let range = Range {
        index: Index::Sort(SortBy::Indexed(2)),
        from: Bound::Included(RangeKey::Text("1x".to_owned())),
        to: Bound::Included(RangeKey::Text("1x".to_owned())),
    };
    let sort = Sort { by: SortBy::Id, direction: Direction::Ascending };
    let mut to = engine::Parameters::default();
    let tenant = TenantId::DEFAULT;
    let rows = engine::rows_along::<Rows<'_>>(tenant, &range, sort, None, None, 51, &mut to);
    let head = to.0.len() + 1;
    let found = with_index(&with_head(&rows, SortBy::Id, head), head);
    vec![
        at_start(&["settings_index_work"], engine::INDEX_WORK),
        at_key(&["settings_pkey"], SQL.lock),
        at_key(&["users_pkey"], SQL.users),
        at_key(&["further_keys_pkey"], SQL.drop),
        at_key(&["settings_pkey"], engine::END_INDEX_WORK),
        at_key(&["further_keys_pkey"], engine::INDEX_KEYS),
        at_key(&["settings_pkey", "further_keys_pkey"], engine::INDEX_STATE),
        at_key(&["further_keys_pkey"], HOLDERS_OF_INDEXED_KEYS),
        at_key(&["further_keys_pkey", "users_pkey", "settings_pkey", "tenants_pkey"], found),
    ]
}
