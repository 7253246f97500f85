-- The schema of a store.
--
-- Keys are bytes that the service computes, and texts have the collation C, so that every database
-- orders and compares them in the same way, whatever its locale. An absent sort key is the single
-- byte ff, which sorts after every UTF-8 text. Each statement is a separate step, because not every
-- database changes its schema in a transaction.
--
-- A tenant leads each index of the rows that belong to tenants. The default tenant is 0.
--
-- Large tables are vacuumed once 2 % of their rows are dead: the default of 20 % would be a million
-- rows of a table of five million. Rows that are updated without a change of an index have room on
-- their page for the next version (fillfactor).

CREATE TABLE users (
    tenant           integer  NOT NULL,
    id               uuid     NOT NULL,
    version          bigint   NOT NULL CHECK (version > 0),
    status           smallint NOT NULL CHECK (status IN (0, 1)), -- 0 active, 1 suspended
    updated_at       bigint   NOT NULL, -- milliseconds since 1970
    username_key     bytea    NOT NULL,
    email_key        bytea    NOT NULL,
    phone_number_key bytea,
    external_id      bytea,
    family_name_key  bytea    NOT NULL,
    name_key         bytea    NOT NULL,
    expires_at_key   bytea    NOT NULL,
    record           text COLLATE "C" NOT NULL, -- canonical JSON
    PRIMARY KEY (tenant, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

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

-- The active users that expire, of all tenants.
CREATE INDEX users_expiring ON users (expires_at_key, id)
    WHERE status = 0 AND expires_at_key < '\xff'::bytea;

-- Deleted users: the last record of each.
CREATE TABLE deleted_users (
    tenant       integer NOT NULL,
    id           uuid    NOT NULL,
    version      bigint  NOT NULL CHECK (version > 0),
    deleted_at   bigint  NOT NULL,
    username_key bytea   NOT NULL,
    email_key    bytea,
    external_id  bytea,
    record       text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX deleted_users_deleted_at ON deleted_users (tenant, deleted_at, id);

-- The change log of all tenants; positions are dense from 1, in the order of commits.
CREATE TABLE events (
    position   bigint  PRIMARY KEY CHECK (position > 0),
    tenant     integer NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    at         bigint  NOT NULL,
    actor      text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    subject_id uuid    NOT NULL, -- the user or the group
    version    bigint  NOT NULL CHECK (version > 0),
    changed    text COLLATE "C" NOT NULL, -- names of members, separated by commas
    record     text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02
);

CREATE INDEX events_subject ON events (tenant, subject_id, position);

-- A store without other tenants has no row in it.
CREATE INDEX events_tenant ON events (tenant, position) WHERE tenant <> 0;

-- One row: the log's identity and its last position. Every write updates this row after all others
-- except the counters of its tenant, and keeps it locked until the commit, so positions are dense
-- and in the order of commits. `era` changes with the schema and the rules. A writer states the era
-- that its batch was decided in, and the constraint rejects a batch of another era; the column is
-- null until the first batch of an era. `server` names the server, its timeline and the tables that
-- the log was last on; null until a service starts.
CREATE TABLE log_head (
    number     smallint PRIMARY KEY CHECK (number = 1),
    era        bigint   NOT NULL,
    log_id     bytea    NOT NULL CHECK (octet_length(log_id) = 8),
    position   bigint   NOT NULL CHECK (position >= 0),
    writer_era bigint   CONSTRAINT log_head_era CHECK (writer_era = era),
    server     text COLLATE "C"
);

-- The logs that this one continues, each up to this position.
CREATE TABLE former_logs (
    position bigint PRIMARY KEY CHECK (position >= 0),
    log_id   bytea  NOT NULL UNIQUE CHECK (octet_length(log_id) = 8)
);

-- The tenants, and how many users and groups each has. A transaction updates the counters while it
-- has the lock of log_head.
CREATE TABLE tenants (
    id           integer  PRIMARY KEY CHECK (id >= 0),
    name         text COLLATE "C", -- the default tenant has none
    version      bigint   NOT NULL CHECK (version > 0), -- of the default tenant: the number of
                                  -- changes of tenants
    status       smallint NOT NULL CHECK (status IN (0, 1, 2, 3)), -- 0 active,
                                  -- 1 suspended, 2 purged, 3 everything is erased
    display_name text COLLATE "C",
    external_id  text COLLATE "C",
    users_max    bigint,
    created_at   bigint   NOT NULL,
    updated_at   bigint   NOT NULL,
    deleted_at   bigint,            -- while it is kept after its deletion, and after its purge
    active       bigint   NOT NULL CONSTRAINT tenants_quota CHECK (active >= 0),
    suspended    bigint   NOT NULL CHECK (suspended >= 0),
    deleted      bigint   NOT NULL CHECK (deleted >= 0),
    groups       bigint   NOT NULL CHECK (groups >= 0),
    rules_era    bigint   NOT NULL DEFAULT 0 -- the era that its last change of schema, its deletion
                                  -- or its restoration began
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX tenants_name ON tenants (name);
CREATE INDEX tenants_rules_era ON tenants (rules_era);
CREATE INDEX tenants_live ON tenants (name) WHERE deleted_at IS NULL;
CREATE INDEX tenants_deleted ON tenants (name) WHERE deleted_at IS NOT NULL;

CREATE INDEX tenants_external_id ON tenants (external_id, name)
    WHERE external_id IS NOT NULL AND deleted_at IS NULL;

-- The settings of the store are those of the default tenant.
CREATE TABLE settings (
    tenant integer NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  bytea   NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE INDEX settings_index_work ON settings (tenant) WHERE name = 'index_work';

-- The words of each live user.
CREATE TABLE words (
    tenant integer NOT NULL,
    word   bytea   NOT NULL,
    id     uuid    NOT NULL,
    PRIMARY KEY (tenant, word, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The keys of live users' e-mail addresses and telephone numbers other than the primary ones, and
-- those in the indexes that the schema of users names: one or more of each user.
CREATE TABLE further_keys (
    tenant integer  NOT NULL,
    kind   smallint NOT NULL CHECK (kind >= 0), -- 0 e-mail address, 1 telephone number,
                                                -- from 2 on the number of an index
    key    bytea    NOT NULL,
    id     uuid     NOT NULL,
    PRIMARY KEY (tenant, kind, key, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The results of requests with an idempotency key.
CREATE TABLE idempotency_keys (
    tenant      integer NOT NULL,
    key         bytea   NOT NULL, -- digest of caller and key
    fingerprint bytea   NOT NULL, -- digest of the request
    at          bigint  NOT NULL,
    user_id     uuid    NOT NULL,
    version     bigint  NOT NULL CHECK (version > 0),
    position    bigint  NOT NULL CHECK (position >= 0),
    effect      text COLLATE "C" NOT NULL, -- the kind of the event, or 'unchanged'
    record      text COLLATE "C", -- of an unchanged user; else the event has it
    PRIMARY KEY (tenant, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX idempotency_keys_at ON idempotency_keys (at);

CREATE INDEX idempotency_keys_user ON idempotency_keys (tenant, user_id);

-- API keys. In a column for a time, 0 means that there is none. So does an empty secret.
CREATE TABLE keys (
    id            text COLLATE "C" PRIMARY KEY,
    tenant        integer, -- NULL: all tenants
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
    former_until  bigint NOT NULL,
    generation    bigint NOT NULL  -- of its last change
) WITH (fillfactor = 70);

CREATE INDEX keys_tenant ON keys (tenant, id);
CREATE INDEX keys_generation ON keys (generation);

-- One row, which is inserted with the first API key: the number of changes of the keys. Only while
-- it is missing does the service accept requests without credentials.
CREATE TABLE keys_head (
    id         smallint PRIMARY KEY CHECK (id = 1),
    generation bigint   NOT NULL
);

-- The webhooks, each with its progress in the log.
CREATE TABLE webhooks (
    tenant          integer  NOT NULL,
    id              uuid     NOT NULL,
    version         bigint   NOT NULL CHECK (version > 0), -- counts changes, but not of the progress
    status          smallint NOT NULL, -- 0 active, 1 paused, 2 parked, 3 stale
    audit           smallint NOT NULL, -- which audit events it has: 0 none, 1 own, 2 all
    record          text COLLATE "C" NOT NULL, -- its other members
    secret          bytea    NOT NULL,
    former_secret   bytea    NOT NULL, -- the previous one, which signs too until former_until
    former_until    bigint   NOT NULL,
    log_id          bytea    NOT NULL CHECK (octet_length(log_id) = 8),
    position        bigint   NOT NULL, -- everything up to here was received
    failed_to       bigint   NOT NULL, -- the last event of the request that failed, else 0
    attempts        bigint   NOT NULL,
    failing_since   bigint   NOT NULL,
    failing_ms      bigint   NOT NULL,
    next_attempt_at bigint   NOT NULL,
    deliveries      text COLLATE "C" NOT NULL DEFAULT '[]', -- the last ones, the newest first
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70);

-- The process that sends to webhooks, and until when. `fence` rises with each owner.
CREATE TABLE leases (
    name  text COLLATE "C" PRIMARY KEY,
    owner bytea  NOT NULL,
    until bigint NOT NULL,
    fence bigint NOT NULL
);

-- Groups.
CREATE TABLE groups (
    tenant      integer NOT NULL,
    id          uuid    NOT NULL,
    version     bigint  NOT NULL CHECK (version > 0),
    members     bigint  NOT NULL CHECK (members >= 0), -- the number of its members
    name_key    bytea   NOT NULL,
    external_id bytea,
    record      text COLLATE "C" NOT NULL, -- canonical JSON
    PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX groups_name ON groups (tenant, name_key);

CREATE INDEX groups_external_id ON groups (tenant, external_id, id)
    WHERE external_id IS NOT NULL;

CREATE INDEX groups_external_id_name ON groups (tenant, external_id, name_key)
    WHERE external_id IS NOT NULL;

-- The direct members of each group: live users, and groups.
CREATE TABLE group_members (
    tenant    integer  NOT NULL,
    group_id  uuid     NOT NULL,
    member_id uuid     NOT NULL,
    kind      smallint NOT NULL CHECK (kind IN (0, 1)), -- 0 user, 1 group
    PRIMARY KEY (tenant, group_id, member_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX group_members_member ON group_members (tenant, member_id, group_id);

CREATE INDEX group_members_nested ON group_members (tenant, group_id, member_id)
    WHERE kind = 1;

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

-- Purged users whose history is still to be erased. The id of zeros stands for everything in a
-- purged tenant.
CREATE TABLE erasures (
    tenant  integer NOT NULL,
    id      uuid    NOT NULL,
    reached bigint  NOT NULL, -- the events up to this position are erased
    PRIMARY KEY (tenant, id)
);

-- One row, inserted when housekeeping first runs: the time that deletion by age is based on.
CREATE TABLE clock_mark (
    id         smallint PRIMARY KEY CHECK (id = 1),
    revision   bigint NOT NULL, -- counts the changes of the row
    at         bigint NOT NULL,
    pending_at bigint NOT NULL, -- the mark that a forward jump would make, else 0
    waited_ms  bigint NOT NULL  -- the uptime since that jump
);
