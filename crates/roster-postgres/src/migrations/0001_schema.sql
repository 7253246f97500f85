-- The schema of a store.
--
-- Keys are bytes that the service computes, and texts have the collation C, so that every database
-- orders and compares them in the same way, whatever its locale. An absent sort key is the single
-- byte ff, which sorts after every UTF-8 text. Each statement is a separate step, because not every
-- database changes its schema in a transaction.
--
-- Large tables are vacuumed once 2 % of their rows are dead: the default of 20 % would be a million
-- rows of a table of five million. Rows that are updated without a change of an index have room on
-- their page for the next version (fillfactor).

CREATE TABLE users (
    id               uuid     PRIMARY KEY,
    version          bigint   NOT NULL CHECK (version > 0),
    status           smallint NOT NULL CHECK (status IN (0, 1)), -- 0 active, 1 suspended
    updated_at       bigint   NOT NULL, -- milliseconds since 1970
    username_key     bytea    NOT NULL,
    email_key        bytea    NOT NULL,
    phone_number_key bytea,
    external_id      bytea,
    family_name_key  bytea    NOT NULL,
    name_key         bytea    NOT NULL,
    record           text COLLATE "C" NOT NULL  -- canonical JSON
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE UNIQUE INDEX users_username ON users (username_key);

CREATE INDEX users_email ON users (email_key, id);

CREATE INDEX users_phone_number ON users (phone_number_key, id)
    WHERE phone_number_key IS NOT NULL;

CREATE INDEX users_external_id ON users (external_id, id) WHERE external_id IS NOT NULL;

CREATE INDEX users_status ON users (status, id);

CREATE INDEX users_family_name ON users (family_name_key, id);

CREATE INDEX users_name ON users (name_key, id);

CREATE INDEX users_updated_at ON users (updated_at, id);

-- Deleted users: the last record of each.
CREATE TABLE deleted_users (
    id           uuid   PRIMARY KEY,
    version      bigint NOT NULL CHECK (version > 0),
    deleted_at   bigint NOT NULL,
    username_key bytea  NOT NULL,
    email_key    bytea,
    external_id  bytea,
    record       text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX deleted_users_deleted_at ON deleted_users (deleted_at, id);

-- The change log; positions are dense from 1, in the order of commits.
CREATE TABLE events (
    position   bigint PRIMARY KEY CHECK (position > 0),
    kind       text COLLATE "C" NOT NULL,
    at         bigint NOT NULL,
    actor      text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    subject_id uuid   NOT NULL, -- the user or the group
    version    bigint NOT NULL CHECK (version > 0),
    changed    text COLLATE "C" NOT NULL, -- names of members, separated by commas
    record     text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02
);

CREATE INDEX events_subject ON events (subject_id, position);

-- One row: the log's identity, its last position, and the numbers of users. Every write updates
-- this row last and keeps it locked until the commit, so positions are dense and in the order of
-- commits. `era` changes with the schema and the rules. A writer states the era that its batch was
-- decided in, and the constraint rejects a batch of another era; the column is null until the first
-- batch of an era.
CREATE TABLE log_head (
    number     smallint PRIMARY KEY CHECK (number = 1),
    era        bigint   NOT NULL,
    log_id     bytea    NOT NULL CHECK (octet_length(log_id) = 8),
    position   bigint   NOT NULL CHECK (position >= 0),
    active     bigint   NOT NULL CHECK (active >= 0),
    suspended  bigint   NOT NULL CHECK (suspended >= 0),
    deleted    bigint   NOT NULL CHECK (deleted >= 0),
    writer_era bigint   CONSTRAINT log_head_era CHECK (writer_era = era)
);

CREATE TABLE settings (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

-- The words of each live user.
CREATE TABLE words (
    word bytea NOT NULL,
    id   uuid  NOT NULL,
    PRIMARY KEY (word, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The keys of live users' e-mail addresses and telephone numbers other than the primary ones.
CREATE TABLE further_keys (
    kind smallint NOT NULL CHECK (kind IN (0, 1)), -- 0 e-mail address, 1 telephone number
    key  bytea    NOT NULL,
    id   uuid     NOT NULL,
    PRIMARY KEY (kind, key, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The results of requests with an idempotency key.
CREATE TABLE idempotency_keys (
    key         bytea  PRIMARY KEY, -- digest of caller and key
    fingerprint bytea  NOT NULL,    -- digest of the request
    at          bigint NOT NULL,
    user_id     uuid   NOT NULL,
    version     bigint NOT NULL CHECK (version > 0),
    position    bigint NOT NULL CHECK (position > 0),
    effect      text COLLATE "C" NOT NULL,    -- the kind of the event, or 'unchanged'
    record      text COLLATE "C" -- of an unchanged user; else the event has it
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX idempotency_keys_at ON idempotency_keys (at);

CREATE INDEX idempotency_keys_user ON idempotency_keys (user_id);

-- API keys. In a column for a time, 0 means that there is none. So does an empty secret.
CREATE TABLE keys (
    id            text COLLATE "C" PRIMARY KEY,
    name          text COLLATE "C" NOT NULL,
    scopes        text COLLATE "C" NOT NULL, -- separated by spaces
    created_at    bigint NOT NULL,
    created_by    text COLLATE "C" NOT NULL,
    expires_at    bigint NOT NULL,
    revoked_at    bigint NOT NULL,
    rotated_at    bigint NOT NULL,
    last_used_at  bigint NOT NULL,
    secret        bytea  NOT NULL, -- SHA-256
    former_secret bytea  NOT NULL, -- the previous one, accepted until former_until
    former_until  bigint NOT NULL
) WITH (fillfactor = 70);

-- One row, which is inserted with the first API key: the number of changes of the keys. Only while
-- it is missing does the service accept requests without credentials. A change of the keys locks
-- the table first and keeps the lock until the commit.
CREATE TABLE keys_head (
    id         smallint PRIMARY KEY CHECK (id = 1),
    generation bigint   NOT NULL
);

-- Groups.
CREATE TABLE groups (
    id          uuid   PRIMARY KEY,
    version     bigint NOT NULL CHECK (version > 0),
    members     bigint NOT NULL CHECK (members >= 0), -- the number of its members
    name_key    bytea  NOT NULL,
    external_id bytea,
    record      text COLLATE "C" NOT NULL  -- canonical JSON
);

CREATE UNIQUE INDEX groups_name ON groups (name_key);

CREATE INDEX groups_external_id ON groups (external_id, id) WHERE external_id IS NOT NULL;
CREATE INDEX groups_external_id_name ON groups (external_id, name_key)
    WHERE external_id IS NOT NULL;

-- The direct members of each group: live users, and groups.
CREATE TABLE group_members (
    group_id  uuid     NOT NULL,
    member_id uuid     NOT NULL,
    kind      smallint NOT NULL CHECK (kind IN (0, 1)), -- 0 user, 1 group
    PRIMARY KEY (group_id, member_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX group_members_member ON group_members (member_id, group_id);

CREATE INDEX group_members_nested ON group_members (group_id, member_id) WHERE kind = 1;

-- One row: the number of groups. A transaction that changes groups or deletes users locks it first
-- and keeps the lock until the commit, so that memberships do not change meanwhile.
CREATE TABLE groups_head (
    id    smallint PRIMARY KEY CHECK (id = 1),
    total bigint   NOT NULL CHECK (total >= 0)
);

-- Where pages by index ended, for the process that serves the next page. Written during a read,
-- without waiting for the disk. The table is a ring: a new end replaces the oldest.
CREATE TABLE walk_ends (
    slot  bigint PRIMARY KEY,
    walk  bytea  NOT NULL, -- digest of the caller and the query
    start bigint NOT NULL, -- the index that follows the page
    place text   COLLATE "C" NOT NULL, -- encrypted
    at    bigint NOT NULL
);

CREATE INDEX walk_ends_walk ON walk_ends (walk, start);

CREATE SEQUENCE walk_end_slots MINVALUE 1 MAXVALUE 20000 CYCLE;

-- Purged users whose history is still to be erased.
CREATE TABLE erasures (
    id      uuid   PRIMARY KEY,
    reached bigint NOT NULL -- the events up to this position are erased
);

-- One row, inserted when housekeeping first runs: the time that deletion by age is based on.
CREATE TABLE clock_mark (
    id         smallint PRIMARY KEY CHECK (id = 1),
    revision   bigint NOT NULL, -- counts the changes of the row
    at         bigint NOT NULL,
    pending_at bigint NOT NULL, -- the mark that a forward jump would make, else 0
    waited_ms  bigint NOT NULL  -- the uptime since that jump
);
