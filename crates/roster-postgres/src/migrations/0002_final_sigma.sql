-- Keys of usernames with a final sigma, which is equal to any other sigma. If another user has the
-- new key, the row keeps the old one: nobody finds it, and the next write of that user must give it
-- another username. `roster check` names these users. Of several users with the same new key, the
-- oldest one gets it.
--
-- The era ends after the first step, so processes of an older release, which compute other keys,
-- stop writing before the keys of users change.

UPDATE deleted_users
SET username_key = convert_to(replace(convert_from(username_key, 'UTF8'), 'ς', 'σ'), 'UTF8')
WHERE position('\xcf82'::bytea IN username_key) > 0;

UPDATE log_head SET era = era + 1, writer_era = NULL WHERE number = 1;

UPDATE users SET username_key = folded.username_key FROM (
    SELECT DISTINCT ON (2) id,
        convert_to(replace(convert_from(username_key, 'UTF8'), 'ς', 'σ'), 'UTF8') AS username_key
    FROM users WHERE position('\xcf82'::bytea IN username_key) > 0
    ORDER BY 2, id
) AS folded
WHERE users.id = folded.id
    AND NOT EXISTS (SELECT FROM users AS other WHERE other.username_key = folded.username_key);
