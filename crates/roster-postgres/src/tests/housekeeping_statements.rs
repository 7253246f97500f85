//! The statements of housekeeping: erasing, the clock mark, and deletion by age.

use roster_engine as engine;

use super::explain::{Statement, at_key, at_start};
use crate::{engine::WRITE_CLOCK_MARK, erasure, reads::rows::Rows};

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

/// Deletion by age.
pub(super) fn outlived() -> Vec<Statement> {
    vec![
        at_key(&["idempotency_keys_at", "idempotency_keys_pkey"], engine::FORGET_KEYS),
        at_start(&["events_pkey"], engine::OLDEST_EVENTS),
        at_key(&["events_pkey"], engine::FORGET_EVENTS),
    ]
}
