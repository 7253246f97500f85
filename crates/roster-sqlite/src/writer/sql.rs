//! The statements of the writer.
//!
//! A write uses few statements and changes few indexes. It finds a row once, and then uses the
//! number of the row. An update sets only the key columns whose keys changed: SQLite rewrites the
//! index of every column that an update sets.

use std::fmt::Write as _;

pub(crate) const LOAD: &str = "SELECT number, record FROM users WHERE tenant = ?1 AND id = ?2";

pub(crate) const LOAD_DELETED: &str =
    "SELECT number, record FROM deleted_users WHERE tenant = ?1 AND id = ?2";

pub(crate) const USERNAME_HOLDER: &str =
    "SELECT id FROM users WHERE tenant = ?1 AND username_key = ?2 LIMIT 1";

pub(crate) const EMAIL_HOLDER: &str =
    "SELECT id FROM users WHERE tenant = ?1 AND email_key = ?2 ORDER BY id LIMIT 1";

pub(crate) const EXTERNAL_ID_HOLDER: &str =
    "SELECT id FROM users WHERE tenant = ?1 AND external_id = ?2 ORDER BY id LIMIT 1";

pub(crate) const INDEXED_HOLDER: &str =
    "SELECT id FROM further_keys WHERE tenant = ?1 AND kind = ?2 AND key = ?3 ORDER BY id LIMIT 1";

pub(crate) const CREATE: &str = "INSERT INTO users (tenant, id, version, status, \
     updated_at, username_key, email_key, phone_number_key, external_id, family_name_key, \
     name_key, expires_at_key, record) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

pub(crate) const DELETE: &str = "DELETE FROM users WHERE number = ?1";

pub(crate) const KEEP_DELETED: &str = "INSERT INTO deleted_users \
     (tenant, id, version, deleted_at, username_key, email_key, external_id, record) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

pub(crate) const DROP_DELETED: &str = "DELETE FROM deleted_users WHERE number = ?1";

/// The kind and the time of the events stay.
pub(crate) const EMPTY_EVENTS: &str =
    "UPDATE events SET record = '' WHERE tenant = ?1 AND subject_id = ?2";

pub(crate) const DROP_KEYS_OF_USER: &str =
    "DELETE FROM idempotency_keys WHERE tenant = ?1 AND user_id = ?2";

pub(crate) const ADD_WORD: &str = "INSERT INTO words (tenant, word, id) VALUES (?1, ?2, ?3)";

pub(crate) const DROP_WORD: &str = "DELETE FROM words WHERE tenant = ?1 AND word = ?2 AND id = ?3";

pub(crate) const ADD_KEY: &str =
    "INSERT INTO further_keys (tenant, kind, key, id) VALUES (?1, ?2, ?3, ?4)";

pub(crate) const DROP_KEY: &str =
    "DELETE FROM further_keys WHERE tenant = ?1 AND kind = ?2 AND key = ?3 AND id = ?4";

/// Finds no record of a purged user whose history is still to be erased. The record of a changed
/// user is in its event. When a user is restored, the events of its groups follow it.
pub(crate) const IDEMPOTENCY: &str = "SELECT key, fingerprint, at, user_id, version, position, \
     effect, coalesce(record, (SELECT CASE WHEN EXISTS \
     (SELECT 1 FROM erasures WHERE erasures.tenant = events.tenant \
     AND erasures.id = events.subject_id) THEN '' ELSE events.record END \
     FROM events WHERE events.position = CASE effect WHEN 'user.restored' THEN \
     (SELECT max(restored.position) FROM events AS restored \
     WHERE restored.tenant = $1 AND restored.subject_id = user_id \
     AND restored.position <= idempotency_keys.position) \
     ELSE idempotency_keys.position END)) \
     FROM idempotency_keys WHERE tenant = $1 AND key = $2 \
     AND (effect = 'user.purged' OR NOT EXISTS (SELECT 1 FROM erasures \
     WHERE erasures.tenant = idempotency_keys.tenant AND erasures.id = idempotency_keys.user_id))";

/// Replaces a record that has expired.
pub(crate) const INSERT_IDEMPOTENCY: &str = "INSERT OR REPLACE INTO idempotency_keys \
     (tenant, key, fingerprint, at, user_id, version, position, effect, record) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

pub(crate) const APPEND_EVENT: &str = "INSERT INTO events \
     (position, tenant, kind, at, actor, request_id, subject_id, version, changed, record) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

pub(crate) const POSITION: &str = "SELECT position FROM log_head WHERE number = 1";

pub(crate) const MOVE_HEAD: &str = "UPDATE log_head SET position = ?1 WHERE number = 1";

/// Adds to the counters of a tenant.
pub(crate) const COUNT: &str = "UPDATE tenants SET active = active + ?2, \
     suspended = suspended + ?3, deleted = deleted + ?4, groups = groups + ?5 WHERE id = ?1";

pub(crate) const CREATE_GROUP: &str = "INSERT INTO groups \
     (tenant, id, version, members, name_key, external_id, record) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(crate) const UPDATE_GROUP: &str = "UPDATE groups SET version = ?3, members = members + ?4, \
     name_key = ?5, external_id = ?6, record = ?7 WHERE tenant = ?1 AND id = ?2";

/// Sets no column that has an index.
pub(crate) const UPDATE_GROUP_WITHOUT_KEYS: &str = "UPDATE groups SET version = ?3, \
     members = members + ?4, record = ?5 WHERE tenant = ?1 AND id = ?2";

pub(crate) const DELETE_GROUP: &str = "DELETE FROM groups WHERE tenant = ?1 AND id = ?2";

pub(crate) const ADD_MEMBERSHIP: &str =
    "INSERT INTO group_members (tenant, group_id, member_id, kind) VALUES (?1, ?2, ?3, ?4)";

pub(crate) const REMOVE_MEMBERSHIP: &str =
    "DELETE FROM group_members WHERE tenant = ?1 AND group_id = ?2 AND member_id = ?3";

pub(crate) const REMOVE_MEMBERS_OF_GROUP: &str =
    "DELETE FROM group_members WHERE tenant = ?1 AND group_id = ?2";

/// The statement that updates a user: parameter 1 is the number of the row, 2 to 4 are version,
/// time and record. The others are the key columns to set, each given as in [`KEY_COLUMNS`].
///
/// [`KEY_COLUMNS`]: crate::columns::KEY_COLUMNS
pub(crate) fn update<'a>(set: impl IntoIterator<Item = (usize, &'a str)>) -> String {
    let mut sql = String::from("UPDATE users SET version = ?2, updated_at = ?3, record = ?4");
    for (parameter, column) in set {
        // Writing to a string does not fail.
        let _infallible = write!(sql, ", {column} = ?{parameter}");
    }
    sql.push_str(" WHERE number = ?1");
    sql
}
