-- Purged users whose history is still to be erased, and the clock mark.

CREATE TABLE erasures (
    id      uuid   PRIMARY KEY,
    reached bigint NOT NULL -- the events up to this position are erased
);

-- One row, once housekeeping ran: the moment that deletion by age goes by.
CREATE TABLE clock_mark (
    id         smallint PRIMARY KEY CHECK (id = 1),
    revision   bigint NOT NULL, -- counts the changes of the row
    at         bigint NOT NULL,
    pending_at bigint NOT NULL, -- the mark that a forward jump would make, else 0
    waited_ms  bigint NOT NULL  -- the uptime since that jump
);
