-- Groups, and who belongs to them.

CREATE TABLE groups (
    id          uuid   PRIMARY KEY,
    version     bigint NOT NULL,
    members     bigint NOT NULL, -- how many belong to it
    name_key    bytea  NOT NULL,
    external_id bytea,
    record      text   NOT NULL  -- canonical JSON
);

CREATE UNIQUE INDEX groups_name ON groups (name_key);

CREATE INDEX groups_external_id ON groups (external_id, id) WHERE external_id IS NOT NULL;

-- The direct members of each group: live users, and groups.
CREATE TABLE group_members (
    group_id  uuid     NOT NULL,
    member_id uuid     NOT NULL,
    kind      smallint NOT NULL, -- 0 user, 1 group
    PRIMARY KEY (group_id, member_id)
);

CREATE INDEX group_members_member ON group_members (member_id, group_id);

CREATE INDEX group_members_nested ON group_members (group_id, member_id) WHERE kind = 1;

-- One row: how many groups there are. Whoever changes groups or deletes users locks it first and
-- holds it until the commit, so that who belongs to what stands still meanwhile.
CREATE TABLE groups_head (
    id    smallint PRIMARY KEY CHECK (id = 1),
    total bigint   NOT NULL
);
