-- The collection, the change log and what is found by.
--
-- Keys are bytes that the service makes, so that every database orders and compares them alike,
-- whatever its locale. A sort key that is absent is the one byte ff, which comes after every
-- UTF-8 text. Each statement is a step of its own: not every database changes its schema in a
-- transaction.

CREATE TABLE users (
    id               uuid     PRIMARY KEY,
    version          bigint   NOT NULL,
    status           smallint NOT NULL, -- 0 active, 1 suspended
    updated_at       bigint   NOT NULL, -- milliseconds since 1970
    username_key     bytea    NOT NULL,
    email_key        bytea    NOT NULL,
    phone_number_key bytea,
    external_id      bytea,
    family_name_key  bytea    NOT NULL,
    name_key         bytea    NOT NULL,
    record           text     NOT NULL  -- canonical JSON
);

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
    id           uuid   PRIMARY KEY,
    version      bigint NOT NULL,
    deleted_at   bigint NOT NULL,
    username_key bytea  NOT NULL,
    email_key    bytea,
    external_id  bytea,
    record       text   NOT NULL
);

CREATE INDEX deleted_users_deleted_at ON deleted_users (deleted_at, id);

-- The change log; positions are dense from 1, in the order of commits.
CREATE TABLE events (
    position   bigint PRIMARY KEY,
    kind       text   NOT NULL,
    at         bigint NOT NULL,
    actor      text   NOT NULL,
    request_id text   NOT NULL,
    user_id    uuid   NOT NULL,
    version    bigint NOT NULL,
    changed    text   NOT NULL, -- names of members, separated by commas
    record     text   NOT NULL
);

CREATE INDEX events_user ON events (user_id, position);

-- One row: the log's identity, its last position, and how many users there are. Whoever writes
-- moves it last, and holds it until the commit: that makes positions dense and puts them in the
-- order of commits. `era` changes with the schema and the rules; a process that opened the store
-- in another era writes no more.
CREATE TABLE log_head (
    number    smallint PRIMARY KEY CHECK (number = 1),
    era       bigint   NOT NULL,
    log_id    bytea    NOT NULL,
    position  bigint   NOT NULL,
    active    bigint   NOT NULL,
    suspended bigint   NOT NULL,
    deleted   bigint   NOT NULL
);

CREATE TABLE settings (
    name  text  PRIMARY KEY,
    value bytea NOT NULL
);

-- The words of each live user.
CREATE TABLE words (
    word bytea NOT NULL,
    id   uuid  NOT NULL,
    PRIMARY KEY (word, id)
);

-- The keys of e-mail addresses and telephone numbers beside the primary ones, of live users.
CREATE TABLE further_keys (
    kind smallint NOT NULL, -- 0 e-mail address, 1 telephone number
    key  bytea    NOT NULL,
    id   uuid     NOT NULL,
    PRIMARY KEY (kind, key, id)
);

-- What requests with an idempotency key came to.
CREATE TABLE idempotency_keys (
    key         bytea  PRIMARY KEY, -- digest of caller and key
    fingerprint bytea  NOT NULL,    -- digest of the request
    at          bigint NOT NULL,
    user_id     uuid   NOT NULL,
    version     bigint NOT NULL,
    position    bigint NOT NULL,
    effect      text   NOT NULL,    -- the kind of the event, or 'unchanged'
    record      text                -- of an unchanged user; else the event has it
);

CREATE INDEX idempotency_keys_at ON idempotency_keys (at);

CREATE INDEX idempotency_keys_user ON idempotency_keys (user_id);
