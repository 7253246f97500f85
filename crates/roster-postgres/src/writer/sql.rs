//! The statements that write. Each takes arrays, so that a transaction has one of each however
//! many commands it carries.

pub(crate) const DELETE: &str = "DELETE FROM users WHERE id = ANY($1)";

pub(crate) const DROP_DELETED: &str = "DELETE FROM deleted_users WHERE id = ANY($1)";

/// Users that are new, with all words and further keys that are: a statement costs more than what
/// it inserts.
pub(crate) const CREATE: &str = "WITH created AS (INSERT INTO users (id, version, status, \
     updated_at, username_key, email_key, phone_number_key, external_id, family_name_key, \
     name_key, record) SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], \
     $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], \
     $10::bytea[], $11::text[])), \
     worded AS (INSERT INTO words (word, id) SELECT * FROM unnest($12::bytea[], $13::uuid[])) \
     INSERT INTO further_keys (kind, key, id) \
     SELECT * FROM unnest($14::smallint[], $15::bytea[], $16::uuid[])";

pub(crate) const REPLACE: &str = "UPDATE users SET version = new.version, status = new.status, \
     updated_at = new.updated_at, username_key = new.username_key, email_key = new.email_key, \
     phone_number_key = new.phone_number_key, external_id = new.external_id, \
     family_name_key = new.family_name_key, name_key = new.name_key, record = new.record \
     FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bytea[], \
     $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::text[]) \
     AS new (id, version, status, updated_at, username_key, email_key, phone_number_key, \
     external_id, family_name_key, name_key, record) WHERE users.id = new.id";

pub(crate) const KEEP_DELETED: &str = "INSERT INTO deleted_users \
     (id, version, deleted_at, username_key, email_key, external_id, record) \
     SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], \
     $6::bytea[], $7::text[])";

pub(crate) const ADD_WORDS: &str =
    "INSERT INTO words (word, id) SELECT * FROM unnest($1::bytea[], $2::uuid[])";

pub(crate) const DROP_WORDS: &str = "DELETE FROM words \
     USING unnest($1::bytea[], $2::uuid[]) AS gone (word, id) \
     WHERE words.word = gone.word AND words.id = gone.id";

pub(crate) const ADD_KEYS: &str = "INSERT INTO further_keys (kind, key, id) \
     SELECT * FROM unnest($1::smallint[], $2::bytea[], $3::uuid[])";

pub(crate) const DROP_KEYS: &str = "DELETE FROM further_keys \
     USING unnest($1::smallint[], $2::bytea[], $3::uuid[]) AS gone (kind, key, id) \
     WHERE further_keys.kind = gone.kind AND further_keys.key = gone.key \
     AND further_keys.id = gone.id";

pub(crate) const FORGET_MARKS: &str = "DELETE FROM idempotency_keys WHERE key = ANY($1)";

/// The last statement before the commit: moves the head, from which on nobody else can move it,
/// and with the positions that this gives writes events and marks. Where the era is another one
/// it divides by zero: an error, so that the commit behind it commits nothing.
pub(crate) const APPEND: &str = "WITH head AS (\
     UPDATE log_head SET position = position + $1, active = active + $2, \
     suspended = suspended + $3, deleted = deleted + $4 WHERE number = 1 AND era = $5 \
     RETURNING position - $1 AS before), \
     appended AS (INSERT INTO events \
     (position, kind, at, actor, request_id, user_id, version, changed, record) \
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
     SELECT (SELECT before FROM head), 1 / (SELECT count(*) FROM head)";

/// Where the log stands, for commands that changed nothing.
pub(crate) const POSITION: &str = "SELECT position, era FROM log_head WHERE number = 1";
