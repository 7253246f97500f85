"""Checks the database of a stopped service: its integrity, and whether the log matches the records.

SQLite's `integrity_check` must be "ok". Positions of the log must be dense from 1, and each user's
versions must increase by one. A replay of the log must give exactly the stored users and deleted
users with the same record texts, and the stored counters must match. No event of a
purged user may have a record.
"""

import sys
import uuid

from engines import Postgres, Sqlite
from service import Service


class Fault(Exception):
    """The database is not as expected."""


def audit(store, service):
    """Returns the live users as {id: record text}; raises Fault."""
    if found := store.faults(service):
        raise Fault(f"the engine says: {found}")
    live, deleted, last = fold(store, service)
    compare(store, service, "users", live)
    compare(store, service, "deleted_users", deleted)
    counters = "SELECT position, active + suspended, deleted FROM log_head, tenants WHERE id = 0"
    heads = list(store.rows(service, counters))
    if heads != [(last, len(live), len(deleted))]:
        raise Fault(f"the head {heads}, not {last} with {len(live)} and {len(deleted)} users")
    return {shown(user): record for user, (_, record) in live.items()}


def shown(user):
    """An id as HTTP shows it: SQLite returns the bytes, PostgreSQL the UUID."""
    return str(user if isinstance(user, uuid.UUID) else uuid.UUID(bytes=user))


def fold(store, service):
    """Replays the log. Returns live and deleted users as {id: (version, record)}, and the last
    position.
    """
    live, deleted, purged, position = {}, {}, set(), 0
    emptied, told = set(), {}
    log = "SELECT position, kind, subject_id, version, record FROM events ORDER BY position"
    for number, kind, user, version, record in store.rows(service, log):
        position += 1
        if number != position:
            raise Fault(f"the log has a gap: position {number} stands where {position} should")
        if kind == "log.forked":
            continue
        before = live.get(user) or deleted.get(user)
        if user in purged:
            raise Fault(f"position {number}: {kind} of a user that was purged")
        if record == "":
            emptied.add(user)
        else:
            told[user] = number
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
            if user in told:
                raise Fault(f"position {told[user]} holds a record of a user that was purged")
        else:
            raise Fault(f"position {number}: {kind} after {before}")
    if emptied != purged:
        raise Fault(f"{len(emptied - purged)} users without a purge have events without a record")
    return live, deleted, position


def compare(store, service, table, folded):
    stored = {
        user: (version, record)
        for user, version, record in store.rows(service, f"SELECT id, version, record FROM {table}")
    }
    if stored != folded:
        every = stored.keys() | folded.keys()
        apart = [user for user in every if stored.get(user) != folded.get(user)]
        first = apart[0]
        raise Fault(
            f"{table}: {len(apart)} records differ from the log; {shown(first)} is "
            f"{stored.get(first)}, the log says {folded.get(first)}"
        )


if __name__ == "__main__":
    place = sys.argv[1]
    try:
        if place.startswith("postgres"):
            users = audit(Postgres(None), Service("", ".", database=place))
        else:
            users = audit(Sqlite(), Service("", place))
        print(f"{len(users):,} users; the database is whole and the log is the truth")
    except Fault as fault:
        sys.exit(str(fault))
