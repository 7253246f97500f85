-- The collection, the change log and the settings of the store.
--
-- Sort keys are of type ANY: an absent one is the empty blob, which SQLite orders after every
-- text, so that absent values stand last ascending and first descending.

CREATE TABLE users (
    number          INTEGER PRIMARY KEY,
    id              BLOB    NOT NULL,
    version         INTEGER NOT NULL,
    status          INTEGER NOT NULL, -- 0 active, 1 suspended
    updated_at      INTEGER NOT NULL, -- milliseconds since 1970
    username_key    TEXT    NOT NULL,
    email_key       ANY     NOT NULL,
    phone_number_key TEXT,
    external_id     TEXT,
    family_name_key ANY     NOT NULL,
    name_key        ANY     NOT NULL,
    record          TEXT    NOT NULL  -- canonical JSON
) STRICT;

CREATE UNIQUE INDEX users_id ON users (id);
CREATE UNIQUE INDEX users_username ON users (username_key);
CREATE INDEX users_email ON users (email_key, id);
CREATE INDEX users_phone_number ON users (phone_number_key, id)
    WHERE phone_number_key IS NOT NULL;
CREATE INDEX users_external_id ON users (external_id, id) WHERE external_id IS NOT NULL;
CREATE INDEX users_status ON users (status, id);
CREATE INDEX users_family_name ON users (family_name_key, id);
CREATE INDEX users_name ON users (name_key, id);
CREATE INDEX users_updated_at ON users (updated_at, id);

-- Users that left the collection: the last record of each.
CREATE TABLE deleted_users (
    number       INTEGER PRIMARY KEY,
    id           BLOB    NOT NULL,
    version      INTEGER NOT NULL,
    deleted_at   INTEGER NOT NULL,
    username_key TEXT    NOT NULL,
    email_key    TEXT,
    external_id  TEXT,
    record       TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX deleted_users_id ON deleted_users (id);
CREATE INDEX deleted_users_deleted_at ON deleted_users (deleted_at, id);

-- The change log; positions are dense from 1.
CREATE TABLE events (
    position   INTEGER PRIMARY KEY,
    kind       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    user_id    BLOB    NOT NULL,
    version    INTEGER NOT NULL,
    changed    TEXT    NOT NULL, -- names of members, separated by commas
    record     TEXT    NOT NULL
) STRICT;

CREATE INDEX events_user ON events (user_id, position);

-- One row: the log's identity, its last position, and how many users there are.
CREATE TABLE log_head (
    number    INTEGER PRIMARY KEY CHECK (number = 1),
    log_id    BLOB    NOT NULL,
    position  INTEGER NOT NULL,
    active    INTEGER NOT NULL,
    suspended INTEGER NOT NULL,
    deleted   INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;
