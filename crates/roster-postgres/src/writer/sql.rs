//! The statements of the writers. Each takes arrays: a transaction has at most one of each, however
//! many commands it executes. The first parameter of those about users and groups is the tenant.
//!
//! If rows are found by several keys, a subquery finds each of them. With a list of keys in one
//! condition, or with a join, the planner may read all rows of the tenant and search the list for
//! each. The order of a subquery admits one index only, if its conditions are ranges: all indexes
//! of a table begin with the tenant. `OFFSET 0` keeps a subquery without an order apart.

/// Selects columns of the users of the ids `$2`, in the order of the ids.
macro_rules! select_by_id {
    ($table:literal, $end:literal) => {
        concat!(
            "SELECT found.* FROM unnest($2::uuid[]) AS named (id) CROSS JOIN LATERAL \
             (SELECT id, record FROM ",
            $table,
            " WHERE tenant = $1 AND id BETWEEN named.id AND named.id ORDER BY id LIMIT 1",
            $end,
            ") AS found"
        )
    };
}

pub(crate) const LOAD: &str = select_by_id!("users", "");

pub(crate) const LOCK: &str = select_by_id!("users", " FOR UPDATE");

/// Selects the users with the keys of a parameter in a column, in the order of its index.
macro_rules! select_by_key {
    ($select:literal, $key:literal, $order:literal, $keys:literal) => {
        concat!(
            "SELECT ",
            $select,
            " FROM unnest(",
            $keys,
            "::bytea[]) AS named (key) CROSS JOIN LATERAL (SELECT ",
            $key,
            " AS key, id FROM users WHERE tenant = $1 AND ",
            $key,
            " BETWEEN named.key AND named.key ORDER BY ",
            $order,
            ") AS found"
        )
    };
}

/// Locks the users of some ids, and those that hold some keys: all in one order, so that two
/// batches never wait for each other. The keys show whether a user still holds them.
pub(crate) const LOCK_HOLDERS: &str = concat!(
    "SELECT found.* FROM unnest((SELECT array_agg(DISTINCT id ORDER BY id) \
     FROM (SELECT unnest($2::uuid[]) AS id UNION ALL ",
    select_by_key!("found.id", "username_key", "username_key", "$3"),
    " UNION ALL ",
    select_by_key!("found.id", "email_key", "email_key, id", "$4"),
    " UNION ALL ",
    select_by_key!("found.id", "external_id", "external_id, id", "$5"),
    ") AS either)) AS named (id) CROSS JOIN LATERAL \
     (SELECT id, record, username_key, email_key, external_id FROM users \
     WHERE tenant = $1 AND id BETWEEN named.id AND named.id ORDER BY id LIMIT 1 \
     FOR UPDATE) AS found"
);

/// A statement that locks rows, so that it does not wait for another transaction.
pub(crate) fn at_once(sql: &str) -> String {
    sql.replace(" FOR UPDATE", " FOR UPDATE NOWAIT")
}

/// Locks what digests stand for, in their order, until the end of the transaction. Returns nothing.
pub(crate) const CLAIM: &str = "SELECT 0 FROM unnest($1::bigint[]) AS claim \
     WHERE pg_advisory_xact_lock(claim) IS NULL";

/// Does the same without a wait. Returns a row for each digest that another transaction has locked.
pub(crate) const CLAIM_AT_ONCE: &str = "SELECT 0 FROM unnest($1::bigint[]) AS claim \
     WHERE NOT pg_try_advisory_xact_lock(claim)";

pub(crate) const LOAD_DELETED: &str = select_by_id!("deleted_users", "");

pub(crate) const LOCK_DELETED: &str = select_by_id!("deleted_users", " FOR UPDATE");

/// The holders of user names and addresses: the kind of the key as a number, the key, the user.
pub(crate) const HOLDERS: &str = concat!(
    select_by_key!("0, found.*", "username_key", "username_key", "$2"),
    " UNION ALL ",
    select_by_key!("1, found.*", "email_key", "email_key, id", "$3")
);

/// The holders of external ids, where these are unique.
pub(crate) const HOLDERS_OF_EXTERNAL_IDS: &str =
    select_by_key!("2, found.*", "external_id", "external_id, id", "$2");

/// The holders of keys in unique indexes that the schema names: the number of the index, the key,
/// the user.
pub(crate) const HOLDERS_OF_INDEXED_KEYS: &str = "SELECT found.* \
     FROM unnest($2::smallint[], $3::bytea[]) AS named (kind, key) CROSS JOIN LATERAL \
     (SELECT kind, key, id FROM further_keys WHERE tenant = $1 AND kind = named.kind \
     AND key = named.key ORDER BY kind, key, id LIMIT 1) AS found";

/// Idempotency records. The record of a changed user is in its event; when it is restored, the
/// events of its groups follow it. Records of a purged user that are not erased yet have the time
/// 0.
pub(crate) const IDEMPOTENCY: &str = "SELECT known.key, known.fingerprint, \
     CASE WHEN known.effect = 'user.purged' OR (SELECT erasures.id FROM erasures \
     WHERE erasures.tenant = known.tenant AND erasures.id = known.user_id) IS NULL \
     THEN known.at ELSE 0 END, known.user_id, \
     known.version, known.position, known.effect, coalesce(known.record, events.record) \
     FROM idempotency_keys AS known LEFT JOIN events ON events.position = \
     CASE known.effect WHEN 'user.restored' THEN (SELECT max(restored.position) \
     FROM events AS restored WHERE restored.tenant = known.tenant \
     AND restored.subject_id = known.user_id AND restored.position <= known.position) \
     ELSE known.position END \
     WHERE known.tenant = $1 AND known.key = ANY($2)";

pub(crate) const DELETE: &str = "DELETE FROM users WHERE ctid = ANY(ARRAY(\
     SELECT found.ctid FROM unnest($2::uuid[]) AS gone (id) CROSS JOIN LATERAL \
     (SELECT ctid FROM users WHERE tenant = $1 AND id BETWEEN gone.id AND gone.id \
     ORDER BY id LIMIT 1) AS found))";

pub(crate) const DROP_DELETED: &str =
    "DELETE FROM deleted_users WHERE tenant = $1 AND id = ANY($2)";

/// Inserts new users, and all new words and further keys: one statement costs less than three.
pub(crate) const CREATE: &str = "WITH created AS (INSERT INTO users (tenant, id, version, status, \
     updated_at, username_key, email_key, phone_number_key, external_id, family_name_key, \
     name_key, expires_at_key, record) SELECT $1::integer, * FROM unnest($2::uuid[], \
     $3::bigint[], $4::smallint[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[], \
     $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::text[])), \
     worded AS (INSERT INTO words (tenant, word, id) \
     SELECT $1::integer, * FROM unnest($14::bytea[], $15::uuid[])) \
     INSERT INTO further_keys (tenant, kind, key, id) \
     SELECT $1::integer, * FROM unnest($16::smallint[], $17::bytea[], $18::uuid[])";

pub(crate) const REPLACE: &str = "UPDATE users SET version = new.version, status = new.status, \
     updated_at = new.updated_at, username_key = new.username_key, email_key = new.email_key, \
     phone_number_key = new.phone_number_key, external_id = new.external_id, \
     family_name_key = new.family_name_key, name_key = new.name_key, \
     expires_at_key = new.expires_at_key, record = new.record \
     FROM (SELECT found.ctid AS place, new.* FROM unnest($2::uuid[], $3::bigint[], \
     $4::smallint[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], \
     $10::bytea[], $11::bytea[], $12::bytea[], $13::text[]) \
     AS new (id, version, status, updated_at, username_key, email_key, phone_number_key, \
     external_id, family_name_key, name_key, expires_at_key, record) CROSS JOIN LATERAL \
     (SELECT ctid FROM users WHERE tenant = $1 AND id BETWEEN new.id AND new.id \
     ORDER BY id LIMIT 1) AS found) AS new WHERE users.ctid = new.place";

pub(crate) const KEEP_DELETED: &str = "INSERT INTO deleted_users \
     (tenant, id, version, deleted_at, username_key, email_key, external_id, record) \
     SELECT $1::integer, * FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bytea[], \
     $6::bytea[], $7::bytea[], $8::text[])";

pub(crate) const ADD_WORDS: &str = "INSERT INTO words (tenant, word, id) \
     SELECT $1::integer, * FROM unnest($2::bytea[], $3::uuid[])";

pub(crate) const DROP_WORDS: &str = "DELETE FROM words \
     USING (SELECT found.ctid FROM unnest($2::bytea[], $3::uuid[]) AS gone (word, id) \
     CROSS JOIN LATERAL (SELECT ctid FROM words WHERE tenant = $1 AND word = gone.word \
     AND id = gone.id OFFSET 0) AS found) AS gone WHERE words.ctid = gone.ctid";

pub(crate) const ADD_KEYS: &str = "INSERT INTO further_keys (tenant, kind, key, id) \
     SELECT $1::integer, * FROM unnest($2::smallint[], $3::bytea[], $4::uuid[])";

pub(crate) const DROP_KEYS: &str = "DELETE FROM further_keys \
     USING (SELECT found.ctid FROM unnest($2::smallint[], $3::bytea[], $4::uuid[]) \
     AS gone (kind, key, id) CROSS JOIN LATERAL (SELECT ctid FROM further_keys \
     WHERE tenant = $1 AND kind = gone.kind AND key = gone.key AND id = gone.id OFFSET 0) \
     AS found) AS gone WHERE further_keys.ctid = gone.ctid";

pub(crate) const DELETE_EXPIRED_IDEMPOTENCY: &str =
    "DELETE FROM idempotency_keys WHERE tenant = $1 AND key = ANY($2)";

/// The last statement that may wait for a lock. It updates the head, which stays locked until the
/// commit, and inserts events and idempotency records at the new positions. In another era, or if
/// a load of a dump has replaced the table `$4`, it violates the constraint `log_head_era`. The
/// commit, which is already sent, then commits nothing.
pub(crate) const APPEND: &str = "WITH head AS (\
     UPDATE log_head SET position = position + $2, \
     writer_era = CASE WHEN tableoid::bigint = $4 THEN $3::bigint ELSE -1 END WHERE number = 1 \
     RETURNING position - $2 AS before), \
     appended AS (INSERT INTO events \
     (position, tenant, kind, at, actor, request_id, subject_id, version, changed, record) \
     SELECT head.before + new.nth, $1::integer, new.kind, new.at, new.actor, new.request_id, \
     new.user_id, new.version, new.changed, new.record FROM head, unnest($5::bigint[], \
     $6::text[], $7::bigint[], $8::text[], $9::text[], $10::uuid[], $11::bigint[], $12::text[], \
     $13::text[]) AS new (nth, kind, at, actor, request_id, user_id, version, changed, record)), \
     remembered AS (INSERT INTO idempotency_keys \
     (tenant, key, fingerprint, at, user_id, version, position, effect, record) \
     SELECT $1::integer, new.key, new.fingerprint, new.at, new.user_id, new.version, \
     head.before + new.nth, new.effect, new.record FROM head, unnest($14::bytea[], \
     $15::bytea[], $16::bigint[], $17::uuid[], $18::bigint[], $19::bigint[], $20::text[], \
     $21::text[]) AS new (key, fingerprint, at, user_id, version, nth, effect, record)) \
     SELECT before FROM head";

/// Adds to the counters of a tenant. If another transaction took the last places of its maximum
/// meanwhile, the constraint `tenants_quota` rejects the batch.
pub(crate) const COUNT: &str = "UPDATE tenants SET active = CASE WHEN $2::bigint + $3::bigint > 0 \
     AND active + suspended + $2 + $3 > users_max THEN -1 ELSE active + $2 END, \
     suspended = suspended + $3, deleted = deleted + $4, groups = groups + $5 WHERE id = $1";

/// The position of the log, for a batch that writes nothing.
pub(crate) const POSITION: &str = "SELECT position, era FROM log_head WHERE number = 1";

pub(crate) const CREATE_GROUPS: &str = "INSERT INTO groups \
     (tenant, id, version, members, name_key, external_id, record) \
     SELECT $1::integer, * FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bytea[], \
     $6::bytea[], $7::text[])";

pub(crate) const UPDATE_GROUPS: &str = "UPDATE groups SET version = new.version, \
     members = groups.members + new.more, name_key = new.name_key, \
     external_id = new.external_id, record = new.record \
     FROM (SELECT found.ctid AS place, new.* FROM unnest($2::uuid[], $3::bigint[], \
     $4::bigint[], $5::bytea[], $6::bytea[], $7::text[]) \
     AS new (id, version, more, name_key, external_id, record) \
     CROSS JOIN LATERAL (SELECT ctid FROM groups \
     WHERE tenant = $1 AND id BETWEEN new.id AND new.id ORDER BY id LIMIT 1) AS found) AS new \
     WHERE groups.ctid = new.place";

pub(crate) const DELETE_GROUPS: &str = "DELETE FROM groups WHERE tenant = $1 AND id = ANY($2)";

pub(crate) const DELETE_MEMBERSHIPS_OF_GROUPS: &str =
    "DELETE FROM group_members WHERE tenant = $1 AND group_id = ANY($2)";

pub(crate) const ADD_MEMBERSHIPS: &str = "INSERT INTO group_members \
     (tenant, group_id, member_id, kind) \
     SELECT $1::integer, * FROM unnest($2::uuid[], $3::uuid[], $4::smallint[])";

pub(crate) const REMOVE_MEMBERSHIPS: &str = "DELETE FROM group_members \
     USING (SELECT found.ctid FROM unnest($2::uuid[], $3::uuid[]) AS gone (group_id, member_id) \
     CROSS JOIN LATERAL (SELECT ctid FROM group_members WHERE tenant = $1 \
     AND group_id = gone.group_id AND member_id = gone.member_id OFFSET 0) AS found) AS gone \
     WHERE group_members.ctid = gone.ctid";
