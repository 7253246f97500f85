-- Groups, and who belongs to them.

CREATE TABLE groups (
    id          BLOB    PRIMARY KEY,
    version     INTEGER NOT NULL,
    members     INTEGER NOT NULL, -- how many belong to it
    name_key    TEXT    NOT NULL,
    external_id TEXT,
    record      TEXT    NOT NULL  -- canonical JSON
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX groups_name ON groups (name_key);
CREATE INDEX groups_external_id ON groups (external_id, id) WHERE external_id IS NOT NULL;

-- The direct members of each group: live users, and groups.
CREATE TABLE group_members (
    group_id  BLOB    NOT NULL,
    member_id BLOB    NOT NULL,
    kind      INTEGER NOT NULL, -- 0 user, 1 group
    PRIMARY KEY (group_id, member_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX group_members_member ON group_members (member_id, group_id);
CREATE INDEX group_members_nested ON group_members (group_id, member_id) WHERE kind = 1;

-- One row: how many groups there are.
CREATE TABLE groups_head (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    total INTEGER NOT NULL
) STRICT;

INSERT INTO groups_head (id, total) VALUES (1, 0);
