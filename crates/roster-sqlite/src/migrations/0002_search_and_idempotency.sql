-- What is searched for, keys beside the primary ones, and requests that may come twice.

-- The words of each live user.
CREATE TABLE words (
    word TEXT NOT NULL,
    id   BLOB NOT NULL,
    PRIMARY KEY (word, id)
) STRICT, WITHOUT ROWID;

-- The keys of e-mail addresses and telephone numbers beside the primary ones, of live users.
CREATE TABLE further_keys (
    kind INTEGER NOT NULL, -- 0 e-mail address, 1 telephone number
    key  TEXT    NOT NULL,
    id   BLOB    NOT NULL,
    PRIMARY KEY (kind, key, id)
) STRICT, WITHOUT ROWID;

-- What requests with an idempotency key came to.
CREATE TABLE idempotency_keys (
    key         BLOB    PRIMARY KEY, -- digest of caller and key
    fingerprint BLOB    NOT NULL,    -- digest of the request
    at          INTEGER NOT NULL,
    user_id     BLOB    NOT NULL,
    version     INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    effect      TEXT    NOT NULL,    -- the kind of the event, or 'unchanged'
    record      TEXT                 -- of an unchanged user; else the event has it
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_at ON idempotency_keys (at);
CREATE INDEX idempotency_keys_user ON idempotency_keys (user_id);
