"""A user with a long history and many others are purged, and no file has a byte of them.

First each of many users is created, changed twice, deleted and purged. Then comes the user with a
long history, while others write.

The history is written to the database as the service would have written it, and checked. The purge
must get its response at once and hide the user at once. The service is killed during the erasure
and started again, and must finish it. Then the files are searched for the user: those of the data
directory with the service running and after it stopped, those of PostgreSQL after an ANALYZE and a
VACUUM FULL, because its statistics have values of columns and it removes old versions of rows only
then. A dump of all rows, which a backup contains, is searched too.
"""

import contextlib
import json
import sqlite3
import sys
import time
import urllib.parse
from pathlib import Path

import mixed_writers
import postgres
from audit import Fault, audit
from engines import engine
from service import Closed, Workplace, arguments

MARK = "Lovelace4711Zq"  # one word of the search index
BLOCK_BYTES = 1 << 24
WITHIN_SECONDS = 1800


def execute(service, *statements):
    """Executes statements while the service runs. Returns the rows of the last one."""
    if service.database:
        with postgres.connect(service.database) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []
    with contextlib.closing(sqlite3.connect(service.data / "roster.db", timeout=60)) as connection:
        with connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall()


def seed(service, user, events):
    """Gives the only user of a stopped service further versions, as PATCHes would have."""
    numbers = (
        f"generate_series(3, {events}) AS n (version)"
        if service.database
        else f"(WITH RECURSIVE n (version) AS (SELECT 3 UNION ALL SELECT version + 1 FROM n "
        f"WHERE version < {events}) SELECT version FROM n) AS n"
    )
    version = "CAST(n.version AS text)"
    record = (
        f"replace(replace(record, '\"version\":2,', '\"version\":' || {version} || ','), "
        f"'\"title\":\"T2\"', '\"title\":\"T' || {version} || '\"')"
    )
    last = f"(SELECT record FROM events WHERE position = {events})"
    execute(
        service,
        "INSERT INTO events (position, tenant, kind, at, actor, request_id, subject_id, version, "
        "changed, record) SELECT n.version, 0, kind, at, actor, request_id, subject_id, n.version, "
        f"'title', {record} FROM {numbers} CROSS JOIN events WHERE position = 2",
        f"UPDATE users SET version = {events}, record = {last}",
        f"UPDATE log_head SET position = {events}",
    )


def files(service):
    """The files with the users."""
    if not service.database:
        return [path for path in service.data.rglob("*") if path.is_file()]
    with postgres.connect(service.database) as connection:
        row = connection.execute(
            "SELECT pg_backend_pid(), oid FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        # A backend runs in the data directory. Only superusers may query its name.
        place = Path(f"/proc/{row[0]}/cwd").resolve() / "base" / str(row[1])
        return [path for path in place.iterdir() if path.is_file()]


def search(service):
    """The files with the user's mark, in either case."""
    found = []
    for path in files(service):
        # PostgreSQL deletes the files that a VACUUM FULL replaced some time after it. The files are
        # not mapped: the service may truncate its log meanwhile.
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            end = b""
            while block := file.read(BLOCK_BYTES):
                content = end + block
                if any(mark.encode() in content for mark in (MARK, MARK.lower())):
                    found.append(path.name)
                    break
                end = block[-len(MARK):]
    return found


def rewrite_and_search(service):
    """The same files of PostgreSQL after all tables were rewritten. Rows that a session can still
    read, such as that of a killed process, remain until they are rewritten without it.
    """
    execute(service, "VACUUM FULL")
    return search(service)


def search_dump(service):
    """The tables whose rows have the user's mark, in either case, as text or in hexadecimal."""
    texts = [MARK, MARK.lower()]
    texts += [text.encode().hex() for text in texts]
    marks = [text.encode() for text in texts] + [text.upper().encode() for text in texts[2:]]

    def has_mark(row):
        return any(mark in row for mark in marks)

    if not service.database:
        path = service.data / "roster.db"
        with contextlib.closing(sqlite3.connect(path, timeout=60)) as connection:
            rows = (line for line in connection.iterdump() if line.startswith("INSERT"))
            return sorted({line.split('"')[1] for line in rows if has_mark(line.encode())})
    found = []
    with postgres.connect(service.database) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'roster' ORDER BY tablename"
        ).fetchall()
        for (table,) in tables:
            with connection.cursor().copy(f'COPY roster."{table}" TO STDOUT') as rows:
                # All rows are read: a copy cannot be left.
                if sum(has_mark(bytes(row)) for row in rows):
                    found.append(table)
    return found


def purge_many(service, connection, people):
    """Creates, changes, deletes and purges users."""
    users = []
    for number in range(people):
        name = f"M{number}-{MARK}"
        body = {
            "username": name,
            "family_name": MARK,
            "emails": [{"value": f"{name}@example.com"}],
            "attributes": {"of": {"note": [MARK]}},
        }
        user = expect(201, connection.request("POST", "/users", body)).json()["id"]
        for title in (f"T {MARK}", None):
            expect(200, connection.request("PATCH", f"/users/{user}", {"title": title}))
        users.append(user)
    # Autovacuum may do it at any time: the statistics then have values of columns.
    execute(service, "ANALYZE")
    for user in users:
        expect(204, connection.request("DELETE", f"/users/{user}"))
        expect(204, connection.request("DELETE", f"/deleted-users/{user}"))


def pending(service):
    """The position that the erasure has reached; None once it is done."""
    rows = execute(service, "SELECT reached FROM erasures")
    return rows[0][0] if rows else None


def wait(what, so, within=WITHIN_SECONDS, pause=0.05):
    """Waits until a condition holds. Returns the seconds."""
    began = time.monotonic()
    while not so():
        if time.monotonic() - began > within:
            raise SystemExit(f"{what}: not within {within} s")
        time.sleep(pause)
    return time.monotonic() - began


def expect(status, answer):
    if answer.status != status:
        raise SystemExit(f"{status} was expected, and {answer} came")
    return answer


def must_be_hidden(connection, user, events):
    """Checks the first and the last page of the user's history that have changes."""
    position = connection.request("GET", "/users?limit=1").headers["roster-position"]
    log = position.split("-")[0]
    for after in (0, max(0, events - 900)):
        path = f"/users/{user}/events?limit=1000&after={urllib.parse.quote(f'{log}-{after}')}"
        answer = expect(200, connection.request("GET", path))
        shown = [item for item in json.loads(answer.body)["items"] if "user" in item["data"]]
        if shown or MARK.encode() in answer.body:
            raise SystemExit(f"after the purge, {len(shown)} events show the person")
    for path in (f"/users/{user}", f"/deleted-users/{user}"):
        expect(404, connection.request("GET", path))


class Writers:
    """Writers that run until they are stopped."""

    def __init__(self, service, first, seed):
        numbers = range(first, first + 2)
        self.all = [mixed_writers.MixedWriter(service, number, seed) for number in numbers]
        self.began = time.monotonic()
        for writer in self.all:
            writer.start()

    def stop(self, was_killed=False):
        """Stops them. Returns changes per second. An error is the service's, unless it was killed.
        """
        for writer in self.all:
            writer.done.set()
        for writer in self.all:
            writer.join()
        faults = [writer.fault for writer in self.all if writer.fault]
        if faults and not was_killed:
            raise SystemExit(faults[0])
        return sum(writer.written for writer in self.all) / (time.monotonic() - self.began)


def purge(service, store, options):
    """Purges the user. Returns the seconds of the response and of the erasure, and writes per
    second.
    """
    service.start()
    connection = service.connect()
    body = {"username": f"U{MARK}", "family_name": MARK, "email": f"{MARK}@example.com"}
    user = expect(201, connection.request("POST", "/users", body)).json()["id"]
    expect(200, connection.request("PATCH", f"/users/{user}", {"title": "T2"}))
    service.stop()
    seed(service, user, options.events)
    if service.database:
        execute(service, "VACUUM FULL")
    audit(store, service)
    found = search_dump(service)
    if not search(service) or not {"events", "users", "words"} <= set(found):
        raise SystemExit(f"before the purge, only {found} have the mark: the search proves nothing")

    service.start()
    connection = service.connect()
    purge_many(service, connection, options.people)
    wait("the erasure of many", lambda: pending(service) is None)
    expect(204, connection.request("DELETE", f"/users/{user}"))
    writers = Writers(service, 0, options.seed)
    began = time.monotonic()
    expect(204, connection.request("DELETE", f"/deleted-users/{user}"))
    answered = time.monotonic() - began
    must_be_hidden(connection, user, options.events)
    wait("the first step", lambda: pending(service) != 0, pause=0.005)
    under_way = store.under_way(service)
    service.kill()
    writers.stop(was_killed=True)
    store.settle(service, under_way)
    reached = pending(service)
    if not reached:
        raise SystemExit(f"the service was not killed in the middle: {reached}")

    service.start()
    connection = service.connect()
    writers = Writers(service, 10, options.seed)
    must_be_hidden(connection, user, options.events)
    erased = wait("the erasure", lambda: pending(service) is None, pause=0.5)
    # The connection from before may have been idle for too long.
    must_be_hidden(service.connect(), user, options.events)
    rate = writers.stop()
    alone = Writers(service, 20, options.seed)
    time.sleep(min(5.0, max(1.0, erased)))
    return answered, reached, erased, rate, alone.stop()


def main():
    options = arguments(
        __doc__,
        engines=True,
        events=(1_000_000, 60_000, "events of the person"),
        people=(1_000, 50, "further users, who are purged first"),
    )
    with Workplace("purge-long") as place, engine(options) as store:
        service = store.service(options.binary, place / "data")
        try:
            answered, reached, erased, rate, alone = purge(service, store, options)
            if service.database:
                service.stop()
                # The statistics have values of the person until the next ANALYZE.
                execute(service, "ANALYZE")
                wait("a search of the files", lambda: not rewrite_and_search(service), 60, 2)
                swept = 0.0
            else:
                swept = wait("a search of the files", lambda: not search(service))
        except Closed as error:
            raise SystemExit(f"the service closed a connection: {error}") from error
        finally:
            service.stop()
        if found := search(service) + search_dump(service):
            raise SystemExit(f"after the stop, {found} hold the person")
        try:
            audit(store, service)
        except Fault as fault:
            raise SystemExit(str(fault)) from fault
        store.discard(service)
        print(
            f"purge of {options.people:,} users, then of one with {options.events:,} events, over "
            f"{options.engine}: answered in "
            f"{answered * 1000:.0f} ms, killed after {reached:,}, the rest erased in "
            f"{erased:.1f} s beside {rate:.0f} writes/s ({alone:.0f} without), files clean "
            f"{swept:.1f} s later; 0 hits"
        )
    sys.exit(0)


if __name__ == "__main__":
    main()
