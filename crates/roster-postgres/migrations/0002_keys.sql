-- The keys of callers.

-- A moment of 0 is none, and so is an empty secret.
CREATE TABLE keys (
    id            text   PRIMARY KEY,
    name          text   NOT NULL,
    scopes        text   NOT NULL, -- separated by spaces
    created_at    bigint NOT NULL,
    created_by    text   NOT NULL,
    expires_at    bigint NOT NULL,
    revoked_at    bigint NOT NULL,
    rotated_at    bigint NOT NULL,
    last_used_at  bigint NOT NULL,
    secret        bytea  NOT NULL, -- SHA-256
    former_secret bytea  NOT NULL, -- the one before it, which opens for a while longer
    former_until  bigint NOT NULL
);

-- One row, once there was a key: how often the keys were changed. Then the service is open no more.
-- Whoever changes keys moves it first, and holds it until the commit.
CREATE TABLE keys_head (
    id         smallint PRIMARY KEY CHECK (id = 1),
    generation bigint   NOT NULL
);
