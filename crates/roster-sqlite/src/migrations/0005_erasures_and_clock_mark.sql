-- Purged users whose history is still to be erased, and the clock mark.

CREATE TABLE erasures (
    id      BLOB    PRIMARY KEY,
    reached INTEGER NOT NULL -- the events up to this position are erased
) STRICT, WITHOUT ROWID;

-- One row, once housekeeping ran: the moment that deletion by age goes by.
CREATE TABLE clock_mark (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    revision   INTEGER NOT NULL, -- counts the changes of the row
    at         INTEGER NOT NULL,
    pending_at INTEGER NOT NULL, -- the mark that a forward jump would make; 0 where there is none
    waited_ms  INTEGER NOT NULL  -- the uptime since that jump
) STRICT;
