-- The keys of callers.

-- A moment of 0 is none, and so is an empty secret.
CREATE TABLE keys (
    id            TEXT    PRIMARY KEY,
    name          TEXT    NOT NULL,
    scopes        TEXT    NOT NULL, -- separated by spaces
    created_at    INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    expires_at    INTEGER NOT NULL,
    revoked_at    INTEGER NOT NULL,
    rotated_at    INTEGER NOT NULL,
    last_used_at  INTEGER NOT NULL,
    secret        BLOB    NOT NULL, -- SHA-256
    former_secret BLOB    NOT NULL, -- the one before it, which opens for a while longer
    former_until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row, once there was a key: how often the keys were changed. Then the service is open no more.
CREATE TABLE keys_head (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    generation INTEGER NOT NULL
) STRICT;
