-- The schema of a store.
--
-- Sort keys are of type ANY: an absent one is the empty blob, which SQLite orders after every
-- text, so that absent values are last ascending and first descending.
--
-- A tenant leads each index of the rows that belong to tenants. The default tenant is 0, which takes
-- no byte in a row.

CREATE TABLE users (
    number          INTEGER PRIMARY KEY,
    tenant          INTEGER NOT NULL,
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
    expires_at_key  ANY     NOT NULL,
    record          TEXT    NOT NULL  -- canonical JSON
) STRICT;

CREATE UNIQUE INDEX users_id ON users (tenant, id);
CREATE UNIQUE INDEX users_username ON users (tenant, username_key);
CREATE INDEX users_email ON users (tenant, email_key, id);
CREATE INDEX users_phone_number ON users (tenant, phone_number_key, id)
    WHERE phone_number_key IS NOT NULL;
CREATE INDEX users_external_id ON users (tenant, external_id, id)
    WHERE external_id IS NOT NULL;
CREATE INDEX users_status ON users (tenant, status, id);
CREATE INDEX users_family_name ON users (tenant, family_name_key, id);
CREATE INDEX users_name ON users (tenant, name_key, id);
CREATE INDEX users_updated_at ON users (tenant, updated_at, id);
CREATE INDEX users_expires_at ON users (tenant, expires_at_key, id);
-- The active users that expire, of all tenants: a text is less than a blob.
CREATE INDEX users_expiring ON users (expires_at_key, id)
    WHERE status = 0 AND expires_at_key < x'';

-- Deleted users: the last record of each.
CREATE TABLE deleted_users (
    number       INTEGER PRIMARY KEY,
    tenant       INTEGER NOT NULL,
    id           BLOB    NOT NULL,
    version      INTEGER NOT NULL,
    deleted_at   INTEGER NOT NULL,
    username_key TEXT    NOT NULL,
    email_key    TEXT,
    external_id  TEXT,
    record       TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX deleted_users_id ON deleted_users (tenant, id);
CREATE INDEX deleted_users_deleted_at ON deleted_users (tenant, deleted_at, id);

-- The change log of all tenants; positions are dense from 1.
CREATE TABLE events (
    position   INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    subject_id BLOB    NOT NULL, -- the user or the group
    version    INTEGER NOT NULL,
    changed    TEXT    NOT NULL, -- names of members, separated by commas
    record     TEXT    NOT NULL
) STRICT;

CREATE INDEX events_subject ON events (tenant, subject_id, position);
-- A store without tenants has no row in it.
CREATE INDEX events_tenant ON events (tenant, position) WHERE tenant <> 0;

-- One row: the log's identity and its last position.
CREATE TABLE log_head (
    number   INTEGER PRIMARY KEY CHECK (number = 1),
    log_id   BLOB    NOT NULL,
    position INTEGER NOT NULL
) STRICT;

-- The logs that this one continues, each up to this position.
CREATE TABLE former_logs (
    position INTEGER PRIMARY KEY,
    log_id   BLOB NOT NULL UNIQUE
) STRICT;

-- The tenants, and how many users and groups each has. The default tenant has no name, and a purged
-- one has none any more: its row stays, because its number is in events.
CREATE TABLE tenants (
    id           INTEGER PRIMARY KEY,
    name         TEXT,
    version      INTEGER NOT NULL, -- of the default tenant: the number of changes of tenants
    status       INTEGER NOT NULL, -- 0 active, 1 suspended, 2 purged, 3 everything is erased
    display_name TEXT,
    external_id  TEXT,
    users_max    INTEGER,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    deleted_at   INTEGER,          -- while it is kept after its deletion, and after its purge
    active       INTEGER NOT NULL,
    suspended    INTEGER NOT NULL,
    deleted      INTEGER NOT NULL,
    groups       INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tenants_name ON tenants (name);
CREATE INDEX tenants_live ON tenants (name) WHERE deleted_at IS NULL;
CREATE INDEX tenants_deleted ON tenants (name) WHERE deleted_at IS NOT NULL;
CREATE INDEX tenants_external_id ON tenants (external_id, name)
    WHERE external_id IS NOT NULL AND deleted_at IS NULL;

INSERT INTO tenants VALUES (0, NULL, 1, 0, NULL, NULL, NULL, 0, 0, NULL, 0, 0, 0, 0);

-- The settings of the store are those of the default tenant.
CREATE TABLE settings (
    tenant INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    value  ANY     NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX settings_index_work ON settings (tenant) WHERE name = 'index_work';

-- The words of each live user.
CREATE TABLE words (
    tenant INTEGER NOT NULL,
    word   TEXT    NOT NULL,
    id     BLOB    NOT NULL,
    PRIMARY KEY (tenant, word, id)
) STRICT, WITHOUT ROWID;

-- The keys of live users' e-mail addresses and telephone numbers other than the primary ones, and
-- those in the indexes that the schema of users names: one or more of each user.
CREATE TABLE further_keys (
    tenant INTEGER NOT NULL,
    kind   INTEGER NOT NULL, -- 0 e-mail address, 1 telephone number, from 2 on that of an index
    key    TEXT    NOT NULL,
    id     BLOB    NOT NULL,
    PRIMARY KEY (tenant, kind, key, id)
) STRICT, WITHOUT ROWID;

-- The results of requests with an idempotency key.
CREATE TABLE idempotency_keys (
    tenant      INTEGER NOT NULL,
    key         BLOB    NOT NULL,    -- digest of caller and key
    fingerprint BLOB    NOT NULL,    -- digest of the request
    at          INTEGER NOT NULL,
    user_id     BLOB    NOT NULL,
    version     INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    effect      TEXT    NOT NULL,    -- the kind of the event, or 'unchanged'
    record      TEXT,                -- of an unchanged user; otherwise the event has the record
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_at ON idempotency_keys (at);
CREATE INDEX idempotency_keys_user ON idempotency_keys (tenant, user_id);

-- API keys. In a column for a time, 0 means that there is none. So does an empty secret.
CREATE TABLE keys (
    id            TEXT    PRIMARY KEY,
    tenant        INTEGER,          -- NULL: all tenants
    name          TEXT    NOT NULL,
    scopes        TEXT    NOT NULL, -- separated by spaces
    created_at    INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    expires_at    INTEGER NOT NULL,
    revoked_at    INTEGER NOT NULL,
    rotated_at    INTEGER NOT NULL,
    last_used_at  INTEGER NOT NULL,
    secret        BLOB    NOT NULL, -- SHA-256
    former_secret BLOB    NOT NULL, -- the previous secret, valid until former_until
    former_until  INTEGER NOT NULL,
    generation    INTEGER NOT NULL  -- of its last change
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_tenant ON keys (tenant, id);
CREATE INDEX keys_generation ON keys (generation);

-- One row, which is inserted with the first API key: the number of changes of the keys. Only while
-- it is missing does the service accept requests without credentials.
CREATE TABLE keys_head (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    generation INTEGER NOT NULL
) STRICT;

-- The webhooks, each with its progress in the log.
CREATE TABLE webhooks (
    tenant          INTEGER NOT NULL,
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    version         INTEGER NOT NULL CHECK (version > 0), -- counts changes, but not of the progress
    status          INTEGER NOT NULL, -- 0 active, 1 paused, 2 parked, 3 stale
    audit           INTEGER NOT NULL, -- which audit events it has: 0 none, 1 own, 2 all
    record          TEXT    NOT NULL, -- its other members
    secret          BLOB    NOT NULL,
    former_secret   BLOB    NOT NULL, -- the previous one, which signs too until former_until
    former_until    INTEGER NOT NULL,
    log_id          BLOB    NOT NULL CHECK (length(log_id) = 8),
    position        INTEGER NOT NULL, -- everything up to here was received
    failed_to       INTEGER NOT NULL, -- the last event of the request that failed, else 0
    attempts        INTEGER NOT NULL,
    failing_since   INTEGER NOT NULL,
    failing_ms      INTEGER NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    deliveries      TEXT    NOT NULL DEFAULT '[]', -- the last ones, the newest first
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Groups.
CREATE TABLE groups (
    tenant      INTEGER NOT NULL,
    id          BLOB    NOT NULL,
    version     INTEGER NOT NULL,
    members     INTEGER NOT NULL, -- the number of members
    name_key    TEXT    NOT NULL,
    external_id TEXT,
    record      TEXT    NOT NULL, -- canonical JSON
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX groups_name ON groups (tenant, name_key);
CREATE INDEX groups_external_id ON groups (tenant, external_id, id)
    WHERE external_id IS NOT NULL;
CREATE INDEX groups_external_id_name ON groups (tenant, external_id, name_key)
    WHERE external_id IS NOT NULL;

-- The direct members of each group: live users, and groups.
CREATE TABLE group_members (
    tenant    INTEGER NOT NULL,
    group_id  BLOB    NOT NULL,
    member_id BLOB    NOT NULL,
    kind      INTEGER NOT NULL, -- 0 user, 1 group
    PRIMARY KEY (tenant, group_id, member_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX group_members_member ON group_members (tenant, member_id, group_id);
CREATE INDEX group_members_nested ON group_members (tenant, group_id, member_id)
    WHERE kind = 1;

-- Purged users whose history is still to be erased. The id of zeros stands for everything in a
-- purged tenant.
CREATE TABLE erasures (
    tenant  INTEGER NOT NULL,
    id      BLOB    NOT NULL,
    reached INTEGER NOT NULL, -- the events up to this position are erased
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- One row, inserted when housekeeping first runs: the time that deletion by age is based on.
CREATE TABLE clock_mark (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    revision   INTEGER NOT NULL, -- counts the changes of the row
    at         INTEGER NOT NULL,
    pending_at INTEGER NOT NULL, -- the mark that a forward jump would make; 0 if there is none
    waited_ms  INTEGER NOT NULL  -- the uptime since that jump
) STRICT;
