//! The statements of the writers. Each takes arrays: a transaction has at most one of each, however
//! many commands it executes.

pub(crate) const LOAD: &str = "SELECT id, record FROM users WHERE id = ANY($1) ORDER BY id";

pub(crate) const LOCK: &str =
    "SELECT id, record FROM users WHERE id = ANY($1) ORDER BY id FOR UPDATE";

/// Locks the users of some ids, and those that hold some keys: all in one order, so that two
/// batches never wait for each other. The keys show whether a user still holds them.
pub(crate) const LOCK_HOLDERS: &str = "SELECT id, record, username_key, email_key, external_id \
     FROM users WHERE id = ANY(ARRAY(SELECT unnest($1::uuid[]) \
     UNION ALL SELECT id FROM users WHERE username_key = ANY($2) \
     UNION ALL SELECT id FROM users WHERE email_key = ANY($3) \
     UNION ALL SELECT id FROM users WHERE external_id = ANY($4))) ORDER BY id FOR UPDATE";

/// The end of a statement that locks rows, if it must not wait for another transaction.
pub(crate) const NO_WAIT: &str = " NOWAIT";

/// Locks keys, given as digests in their order, until the end of the transaction. Returns nothing.
pub(crate) const CLAIM: &str = "SELECT 0 FROM unnest($1::bigint[]) AS claim \
     WHERE pg_advisory_xact_lock(claim) IS NULL";

/// Does the same without a wait. Returns a row for each key that another transaction has locked.
pub(crate) const CLAIM_AT_ONCE: &str = "SELECT 0 FROM unnest($1::bigint[]) AS claim \
     WHERE NOT pg_try_advisory_xact_lock(claim)";

pub(crate) const LOAD_DELETED: &str =
    "SELECT id, record FROM deleted_users WHERE id = ANY($1) ORDER BY id";

pub(crate) const LOCK_DELETED: &str =
    "SELECT id, record FROM deleted_users WHERE id = ANY($1) ORDER BY id FOR UPDATE";

/// The holders of user names and addresses: the kind of the key as a number, the key, the user.
pub(crate) const HOLDERS: &str = "SELECT 0, username_key, id FROM users \
     WHERE username_key = ANY($1) \
     UNION ALL SELECT 1, email_key, id FROM users WHERE email_key = ANY($2)";

/// The holders of external ids, where these are unique.
pub(crate) const HOLDERS_OF_EXTERNAL_IDS: &str =
    "SELECT 2, external_id, id FROM users WHERE external_id = ANY($1)";

/// Idempotency records. The record of a changed user is in its event. Records of a purged user that
/// are not erased yet have the time 0.
pub(crate) const IDEMPOTENCY: &str = "SELECT known.key, known.fingerprint, \
     CASE WHEN known.effect = 'user.purged' OR (SELECT erasures.id FROM erasures \
     WHERE erasures.id = known.user_id) IS NULL THEN known.at ELSE 0 END, \
     known.user_id, \
     known.version, known.position, known.effect, coalesce(known.record, events.record) \
     FROM idempotency_keys AS known LEFT JOIN events ON events.position = known.position \
     WHERE known.key = ANY($1)";

pub(crate) const DELETE: &str = "DELETE FROM users WHERE ctid = ANY(ARRAY(\
     SELECT ctid FROM users WHERE id = ANY($1) ORDER BY id))";

pub(crate) const DROP_DELETED: &str = "DELETE FROM deleted_users WHERE id = ANY($1)";

/// Inserts new users, and all new words and further keys: one statement costs less than three.
pub(crate) const CREATE: &str = "WITH created AS (INSERT INTO users (id, version, status, \
     updated_at, username_key, email_key, phone_number_key, external_id, family_name_key, \
     name_key, record) SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], \
     $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], \
     $10::bytea[], $11::text[])), \
     worded AS (INSERT INTO words (word, id) SELECT * FROM unnest($12::bytea[], $13::uuid[])) \
     INSERT INTO further_keys (kind, key, id) \
     SELECT * FROM unnest($14::smallint[], $15::bytea[], $16::uuid[])";

/// Here and below, a subquery finds the place of each row. With a join of the keys, the planner may
/// read the whole table and search the arrays for each row. The order admits one index only.
pub(crate) const REPLACE: &str = "UPDATE users SET version = new.version, status = new.status, \
     updated_at = new.updated_at, username_key = new.username_key, email_key = new.email_key, \
     phone_number_key = new.phone_number_key, external_id = new.external_id, \
     family_name_key = new.family_name_key, name_key = new.name_key, record = new.record \
     FROM (SELECT found.ctid AS place, new.* FROM unnest($1::uuid[], $2::bigint[], \
     $3::smallint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], \
     $9::bytea[], $10::bytea[], $11::text[]) \
     AS new (id, version, status, updated_at, username_key, email_key, phone_number_key, \
     external_id, family_name_key, name_key, record) CROSS JOIN LATERAL (SELECT ctid FROM users \
     WHERE id BETWEEN new.id AND new.id ORDER BY id LIMIT 1) AS found) AS new \
     WHERE users.ctid = new.place";

pub(crate) const KEEP_DELETED: &str = "INSERT INTO deleted_users \
     (id, version, deleted_at, username_key, email_key, external_id, record) \
     SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], \
     $6::bytea[], $7::text[])";

pub(crate) const ADD_WORDS: &str =
    "INSERT INTO words (word, id) SELECT * FROM unnest($1::bytea[], $2::uuid[])";

pub(crate) const DROP_WORDS: &str = "DELETE FROM words \
     USING unnest($1::bytea[], $2::uuid[]) AS gone (word, id) \
     WHERE (words.word, words.id) >= (gone.word, gone.id) \
     AND (words.word, words.id) <= (gone.word, gone.id)";

pub(crate) const ADD_KEYS: &str = "INSERT INTO further_keys (kind, key, id) \
     SELECT * FROM unnest($1::smallint[], $2::bytea[], $3::uuid[])";

pub(crate) const DROP_KEYS: &str = "DELETE FROM further_keys \
     USING unnest($1::smallint[], $2::bytea[], $3::uuid[]) AS gone (kind, key, id) \
     WHERE (further_keys.kind, further_keys.key, further_keys.id) \
     >= (gone.kind, gone.key, gone.id) \
     AND (further_keys.kind, further_keys.key, further_keys.id) \
     <= (gone.kind, gone.key, gone.id)";

pub(crate) const DELETE_EXPIRED_IDEMPOTENCY: &str =
    "DELETE FROM idempotency_keys WHERE key = ANY($1)";

/// The last statement before the commit. It updates the head, which stays locked until the commit,
/// and inserts events and idempotency records at the new positions. In another era it violates the
/// constraint `log_head_era`. The commit, which is already sent, then commits nothing.
pub(crate) const APPEND: &str = "WITH head AS (\
     UPDATE log_head SET position = position + $1, active = active + $2, \
     suspended = suspended + $3, deleted = deleted + $4, writer_era = $5 WHERE number = 1 \
     RETURNING position - $1 AS before), \
     appended AS (INSERT INTO events \
     (position, kind, at, actor, request_id, subject_id, version, changed, record) \
     SELECT head.before + new.nth, new.kind, new.at, new.actor, new.request_id, new.user_id, \
     new.version, new.changed, new.record FROM head, unnest($6::bigint[], $7::text[], \
     $8::bigint[], $9::text[], $10::text[], $11::uuid[], $12::bigint[], $13::text[], $14::text[]) \
     AS new (nth, kind, at, actor, request_id, user_id, version, changed, record)), \
     remembered AS (INSERT INTO idempotency_keys \
     (key, fingerprint, at, user_id, version, position, effect, record) \
     SELECT new.key, new.fingerprint, new.at, new.user_id, new.version, head.before + new.nth, \
     new.effect, new.record FROM head, unnest($15::bytea[], $16::bytea[], $17::bigint[], \
     $18::uuid[], $19::bigint[], $20::bigint[], $21::text[], $22::text[]) \
     AS new (key, fingerprint, at, user_id, version, nth, effect, record)) \
     SELECT before FROM head";

/// The position of the log, for a batch that writes nothing.
pub(crate) const POSITION: &str = "SELECT position, era FROM log_head WHERE number = 1";

/// The lock of every transaction that changes groups.
pub(crate) const LOCK_GROUPS: &str = "SELECT total FROM groups_head WHERE id = 1 FOR UPDATE";

pub(crate) const CREATE_GROUPS: &str = "INSERT INTO groups \
     (id, version, members, name_key, external_id, record) \
     SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], \
     $6::text[])";

pub(crate) const UPDATE_GROUPS: &str = "UPDATE groups SET version = new.version, \
     members = groups.members + new.more, name_key = new.name_key, \
     external_id = new.external_id, record = new.record \
     FROM (SELECT found.ctid AS place, new.* FROM unnest($1::uuid[], $2::bigint[], \
     $3::bigint[], $4::bytea[], $5::bytea[], $6::text[]) \
     AS new (id, version, more, name_key, external_id, record) \
     CROSS JOIN LATERAL (SELECT ctid FROM groups \
     WHERE id BETWEEN new.id AND new.id ORDER BY id LIMIT 1) AS found) AS new \
     WHERE groups.ctid = new.place";

pub(crate) const DELETE_GROUPS: &str = "DELETE FROM groups WHERE id = ANY($1)";

pub(crate) const DELETE_MEMBERSHIPS_OF_GROUPS: &str =
    "DELETE FROM group_members WHERE group_id = ANY($1)";

pub(crate) const ADD_MEMBERSHIPS: &str = "INSERT INTO group_members (group_id, member_id, kind) \
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[])";

pub(crate) const REMOVE_MEMBERSHIPS: &str = "DELETE FROM group_members \
     USING (SELECT found.ctid FROM unnest($1::uuid[], $2::uuid[]) AS gone (group_id, member_id) \
     CROSS JOIN LATERAL (SELECT ctid FROM group_members WHERE group_id = gone.group_id \
     AND member_id = gone.member_id OFFSET 0) AS found) AS gone \
     WHERE group_members.ctid = gone.ctid";

pub(crate) const COUNT_GROUPS: &str = "UPDATE groups_head SET total = total + $1 WHERE id = 1";
