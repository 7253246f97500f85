-- Keys of usernames with a final sigma, which is equal to any other sigma. If another user has the
-- new key, the row keeps the old one: nobody finds it, and the next write of that user must give it
-- another username. `roster check` names these users.

UPDATE OR IGNORE users SET username_key = replace(username_key, 'ς', 'σ')
    WHERE number IN (SELECT number FROM users WHERE instr(username_key, 'ς') > 0);

UPDATE deleted_users SET username_key = replace(username_key, 'ς', 'σ')
    WHERE instr(username_key, 'ς') > 0;
