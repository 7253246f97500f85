//! What both engines share: the queue before the writers, the execution of queued commands, the
//! steps that read a page, and the statements that both engines run.
//!
//! An engine takes requests from the [`Queue`], reads [`Facts`] from its database, and calls
//! [`run`], which decides the requests on these facts. The engine applies the resulting [`Writes`]
//! in one transaction, commits, and returns the results. No rule about users or groups is in an
//! engine. No driver is used here: an engine implements [`Database`], which runs a statement, and
//! [`Dialect`], which prints SQL.
//!
//! - `write`: the path of a write
//! - `read`, `settings`: reads
//! - `api_keys`, `tenants`: API keys and tenants, which do not share the path of other writes
//! - `database`: the traits of an engine's database
//! - `retention`, `check`, `tables`: deletion by age, `roster check`, `roster migrate`
//!
//! ```
//! use roster_engine::{Queue, Results, Work};
//!
//! /// The loop of a writer: each batch is what was queued while the last one was committed.
//! async fn write(queue: &Queue, mut commit: impl FnMut(&[Work]) -> Results) {
//!     while let Some(batch) = queue.next().await {
//!         let results = commit(&batch);
//!         queue.finish(batch, results);
//!     }
//! }
//! ```

mod api_keys;
mod audit;
mod check;
mod database;
mod fork;
mod index_rows;
mod indexes;
mod read;
mod retention;
mod settings;
mod tables;
mod tenants;
#[cfg(test)]
mod tests;
mod webhooks;
mod write;

pub use api_keys::{
    CHANGED_KEYS, COUNT_KEY_CHANGE, DROP_KEY, HAS_KEYS, KEY, KEYS_GENERATION, KEYS_OF_OPERATOR,
    KEYS_OF_TENANT, PUT_KEY, REVOKE_KEYS, change_keys, changed_keys, key, keys,
};
pub use audit::{append_policy, note_settings};
pub use check::{CheckReader, Findings, Line, SearchRow, check, check_counters};
pub use database::{
    Cell, DELETED_AT, Database, Dialect, HEAD, Values, corrupt, event_of, first, head, is_live,
    rows, tenant_of_event,
};
pub use fork::{LOG, fork, former_log_end};
pub use index_rows::{IndexRow, IndexRows, IndexWriter};
pub use indexes::{
    END_INDEX_WORK, INDEX_KEYS, INDEX_STATE, INDEX_WORK, IndexSql, end_index_check, end_index_work,
    index_keys, index_step, is_the_same, may_select, tenants_with_index_work,
};
pub use read::deleted_users::{DELETED_USER, deleted_page, deleted_user, deleted_users};
pub use read::page::{FEW, read_few, read_page};
pub use read::page_rows::{is_behind, show_row};
pub use read::page_sql::{
    FURTHER, Parameters, WORDS, count_of_range, ids_of_key, ids_of_range, places_of_ids,
    rows_along, rows_of_ids, status_number,
};
pub use read::stored_groups::{
    GROUP, GROUP_OF_NAME, GROUPS_TOTAL, MEMBERS, count_of_external_id, direct_groups, group,
    group_page, groups_along, groups_of, groups_of_ids, kind_number, members_page,
};
pub use retention::{
    CLOCK_MARK, END_ERASURE, END_ERASURES_OF_TENANT, ErasureSql, FORGET_EVENTS, FORGET_KEYS,
    MOVE_ERASURE, NEWEST_EVENT, OLDEST_EVENTS, PENDING_ERASURES, advance_clock_mark, erase,
    erase_tenant, expired_users, expired_users_sql, forget, pending_erasures,
};
pub use settings::{
    INDEX_WORK_SETTING, INDEXES_SETTING, SCHEMA_SETTING, SECRET_SETTING, SETTING, rules_with,
    schema_of, secret, setting, stored_policy, user_schema, whole_policy,
};
pub use tables::{Table, TableDigest, digest};
pub use tenants::{
    BEGIN_ERASURE, COUNT_TENANT_CHANGE, CREATE_TENANT, END_TENANT, NEXT_TENANT, PURGE_TENANT,
    TENANTS_GENERATION, UPDATE_TENANT, USERS_ROOM, change_tenant, tenant, tenant_name,
    tenant_of_name, tenants, tenants_along, tenants_generation, totals,
};
pub use webhooks::{
    COUNT_WEBHOOKS, DELETE_WEBHOOK, PUT_WEBHOOK, SAVE_PROGRESS, SERVED_WEBHOOKS, WEBHOOK, WEBHOOKS,
    change_webhook, deliveries, pause_webhooks, save_progress, served_webhooks, webhook, webhooks,
};
pub use write::batch::{
    CLAIMS_MAX, Completed, Cost, MEMBERSHIPS_MAX, batches, preview, refuse_deleted_tenant, run,
};
pub use write::executed::Executed;
pub use write::facts::{ClaimKind, CommandError, Current, Facts};
pub use write::group::{
    ALL_MEMBERS, LAST_EVENT, groups_above, groups_below, members_among, newcomers,
};
pub use write::idempotency::IdempotencyRecord;
pub use write::queue::{Answered, Job, Queue, Results, TRANSACTION_COMMANDS_MAX, Work};
pub use write::request::Request;
pub use write::writes::{
    Counts, DeletedWrite, GroupWrite, GroupWrites, NewIdempotencyRecord, UserWrite, Writes,
    further_keys,
};
