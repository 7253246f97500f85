-- Where pages of walks by index ended, for whichever process serves the next page. Written on the
-- way of a read, without a wait for the disk. A ring: a new end takes the place of the oldest.
CREATE TABLE walk_ends (
    slot  bigint PRIMARY KEY,
    walk  bytea  NOT NULL, -- digest of the caller and the question
    start bigint NOT NULL, -- the index that follows the page
    place text   COLLATE "C" NOT NULL, -- sealed
    at    bigint NOT NULL
);

CREATE INDEX walk_ends_walk ON walk_ends (walk, start);

CREATE SEQUENCE walk_end_slots MINVALUE 1 MAXVALUE 20000 CYCLE;
