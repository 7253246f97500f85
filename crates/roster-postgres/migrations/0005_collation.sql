-- Text is ordered by its bytes in every database, whatever the locale of the database is.

ALTER TABLE settings ALTER COLUMN name TYPE text COLLATE "C";

ALTER TABLE users ALTER COLUMN record TYPE text COLLATE "C";

ALTER TABLE deleted_users ALTER COLUMN record TYPE text COLLATE "C";

ALTER TABLE groups ALTER COLUMN record TYPE text COLLATE "C";

ALTER TABLE events
    ALTER COLUMN kind TYPE text COLLATE "C",
    ALTER COLUMN actor TYPE text COLLATE "C",
    ALTER COLUMN request_id TYPE text COLLATE "C",
    ALTER COLUMN changed TYPE text COLLATE "C",
    ALTER COLUMN record TYPE text COLLATE "C";

ALTER TABLE idempotency_keys
    ALTER COLUMN effect TYPE text COLLATE "C",
    ALTER COLUMN record TYPE text COLLATE "C";

ALTER TABLE keys
    ALTER COLUMN id TYPE text COLLATE "C",
    ALTER COLUMN name TYPE text COLLATE "C",
    ALTER COLUMN scopes TYPE text COLLATE "C",
    ALTER COLUMN created_by TYPE text COLLATE "C";
