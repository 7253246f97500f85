"""Reads a data directory after its service stopped: is the file whole, and is the log the truth?

`integrity_check` must be "ok"; the positions of the log must be dense from 1; each user's versions
must rise by one; folding the log must give exactly the stored users and deleted users, record text
for record text; and of a purged user no event may hold a record.
"""

import sqlite3
import sys
import uuid
from pathlib import Path


RECORDS = "SELECT position FROM events WHERE user_id = ? AND record <> ''"


class Fault(Exception):
    """Something in the file is not as it must be."""


def audit(data):
    """The live users as {id: record text}; raises Fault."""
    connection = sqlite3.connect(Path(data) / "roster.db")
    try:
        verdict = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        if verdict != ["ok"]:
            raise Fault(f"integrity_check: {verdict[:5]}")
        if broken := connection.execute("PRAGMA foreign_key_check").fetchall():
            raise Fault(f"foreign_key_check: {broken[:5]}")
        live, deleted = fold(connection)
        compare(connection, "users", live)
        compare(connection, "deleted_users", deleted)
        return {str(uuid.UUID(bytes=user)): record for user, (_, record) in live.items()}
    finally:
        connection.close()


def fold(connection):
    """Replays the log: the live and the deleted users as {id: (version, record)}."""
    live, deleted, purged, position = {}, {}, set(), 0
    emptied = set()
    log = connection.execute(
        "SELECT position, kind, user_id, version, record FROM events ORDER BY position"
    )
    for number, kind, user, version, record in log:
        position += 1
        if number != position:
            raise Fault(f"the log has a gap: position {number} stands where {position} should")
        before = live.get(user) or deleted.get(user)
        if user in purged:
            raise Fault(f"position {number}: {kind} of a user that was purged")
        if record == "":
            emptied.add(user)
        if version != (before[0] if before else 0) + 1:
            raise Fault(f"position {number}: version {version} follows {before}")
        if kind == "user.created" and before is None:
            live[user] = (version, record)
        elif kind == "user.updated" and user in live:
            live[user] = (version, record)
        elif kind == "user.deleted" and user in live:
            del live[user]
            deleted[user] = (version, record)
        elif kind == "user.restored" and user in deleted:
            del deleted[user]
            live[user] = (version, record)
        elif kind == "user.purged" and user in deleted:
            del deleted[user]
            purged.add(user)
            if told := connection.execute(RECORDS, (user,)).fetchone():
                raise Fault(f"position {told[0]} holds a record of a user that was purged")
        else:
            raise Fault(f"position {number}: {kind} after {before}")
    if emptied != purged:
        raise Fault(f"{len(emptied - purged)} users without a purge have events without a record")
    return live, deleted


def compare(connection, table, folded):
    stored = {
        user: (version, record)
        for user, version, record in connection.execute(f"SELECT id, version, record FROM {table}")
    }
    if stored != folded:
        every = stored.keys() | folded.keys()
        apart = [user for user in every if stored.get(user) != folded.get(user)]
        first = apart[0]
        raise Fault(
            f"{table}: {len(apart)} records differ from the log; {uuid.UUID(bytes=first)} is "
            f"{stored.get(first)}, the log says {folded.get(first)}"
        )


if __name__ == "__main__":
    try:
        print(f"{len(audit(sys.argv[1])):,} users; the file is whole and the log is the truth")
    except Fault as fault:
        sys.exit(str(fault))
