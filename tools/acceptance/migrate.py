"""A store of a million users is migrated from SQLite to PostgreSQL, and clients notice no
difference.

The first migration is not interrupted and is timed. The second one, into another database, is
interrupted repeatedly: the command is killed with -9, or the server ends its connections, at random
times. In between, a service on the incomplete database must refuse to start, and another migration
into it must continue where the last one ended. At the end everything that can be read from the
store must be as before: every member, version and time of every user, deleted users, and the events
with their positions. Old cursors lead to the same next pages, old tags still match, requests with
an Idempotency-Key are replayed, and the next write gets the next version and the next position.
"""

import json
import random
import subprocess
import sys
import time

from audit import Fault
from migrate_source import fill
from migrate_view import View
from postgres import cluster, connect
from service import Service, Workplace, arguments

FLAGS = ("--base-url", "http://directory.localhost", "--log", "error")
SIZES = (
    "SELECT t.relname, c.relname, pg_relation_size(c.oid) FROM pg_class t"
    " JOIN pg_class c ON c.oid = t.oid OR c.oid IN"
    " (SELECT indexrelid FROM pg_index WHERE indrelid = t.oid)"
    " WHERE t.relkind = 'r' AND t.relnamespace = 'roster'::regnamespace"
    " AND pg_relation_size(c.oid) > 65536 ORDER BY 1, c.relkind DESC, 2"
)


class Migration:
    """The running command."""

    def __init__(self, options, source, target, *more):
        command = [options.binary, "migrate", "--from", source, "--to", target, "--json", *more]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([str(word) for word in command], **output)

    def wait(self, seconds=3600.0):
        """Status, stdout and stderr; `TimeoutExpired` if it takes longer."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def kill(self):
        self.process.kill()
        return self.wait()


def whole(migration):
    """The output of a migration that must succeed, and its seconds."""
    began = time.monotonic()
    status, out, err = migration.wait()
    if status != 0:
        raise Fault(f"the migration ended with {status}: {err}")
    return json.loads(out), err, time.monotonic() - began


def refused(migration, reason):
    status, _, err = migration.wait()
    if status != 1 or reason not in err:
        raise Fault(f"not refused because {reason}: {status} {err}")


def break_off(migration, target, seconds, by_server):
    """Interrupts it after this time. Returns its status and stderr; status 0 if it ended before."""
    try:
        status, _, err = migration.wait(seconds)
        if status != 0:
            raise Fault(f"it ended by itself: {err}")
        return status, err
    except subprocess.TimeoutExpired:
        pass
    if not by_server:
        status, _, err = migration.kill()
        return status, err
    with connect(target) as database:
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user"
            " AND pid <> pg_backend_pid()"
        )
    status, _, err = migration.wait(60)
    if status not in (0, 1) or (status == 1 and not err.splitlines()[-1].startswith("error: ")):
        raise Fault(f"ended by the server, it said {status} {err}")
    return status, err


def is_marked(target):
    with connect(target) as database:
        has = database.execute("SELECT to_regclass('settings') IS NOT NULL").fetchone()[0]
        asked = "SELECT count(*) FROM settings WHERE name = 'migration'"
        return bool(has and database.execute(asked).fetchone()[0])


def must_not_serve(options, place, target):
    """A service on an incomplete database refuses to start, and reports why."""
    command = [options.binary, "serve", "--listen", "127.0.0.1:0", "--allow-open", "--database", target]
    command += ["--data", place / "refused"]
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=30, check=False
    )
    if result.returncode != 1 or "not finished" not in result.stderr:
        raise Fault(f"a half-done database was served: {result.returncode} {result.stderr}")


def with_breaks(options, place, source, target, seconds):
    """Migrates with interruptions. Returns how many there were, and how many runs continued."""
    chance, breaks, gone_on, status = random.Random(options.seed), 0, 0, None
    chunks = ("--chunk-bytes", options.chunk)
    while status != 0:
        migration = Migration(options, source, target, *chunks)
        # A run that is interrupted while it starts leaves nothing to go on with.
        if breaks < (options.breaks if gone_on else 10 * options.breaks):
            # The remaining work shrinks, and so does the time of the runs.
            after = seconds * chance.uniform(0.1, 0.8) / (gone_on + 1)
            status, err = break_off(migration, target, after, by_server=breaks % 2)
        else:
            status, _, err = migration.wait()
            if status != 0:
                raise Fault(f"the last run ended with {status}: {err}")
        gone_on += "continuing after" in err
        breaks += status != 0
        if is_marked(target):
            must_not_serve(options, place, target)
    if not breaks or not gone_on:
        raise Fault(f"{breaks} interruptions, {gone_on} gone on with: this proves nothing")
    return breaks, gone_on


def goes_on(service, view, keyed):
    """Replays and further writes."""
    connection = service.connect()
    for request, before in keyed:
        answer = connection.request(*request)
        replayed = answer.headers.get("idempotent-replayed") == "true"
        if not replayed or answer.body != before.body or answer.status != before.status:
            yield f"{request[:2]} with its key was answered {answer}, not {before}"
    log, number = view.position.rsplit("-", 1)
    for count, (path, tag, body) in enumerate(view.tags[:100], 1):
        answer = connection.request("PATCH", path, {"nickname": "moved"}, {"If-Match": tag})
        version = json.loads(body)["version"] + 1
        position = f"{log}-{int(number) + count}"
        if answer.status != 200 or answer.json()["version"] != version:
            yield f"{path}: version {version} was wanted, {answer} came"
        elif answer.headers["roster-position"] != position:
            yield f"{path}: position {position} was wanted, {answer.headers} came"
        if connection.request("PATCH", path, {"nickname": "x"}, {"If-Match": tag}).status != 412:
            yield f"{path}: the tag from before the last change is still taken"


def tell_sizes(target, told):
    """Bytes per row of each table and index."""
    with connect(target) as database:
        for table, relation, size in database.execute(SIZES):
            rows = told["rows"].get(table, 0)
            if rows:
                print(f"  {table}: {relation} {size:,} bytes, {size / rows:.1f} a row")


def run(options, place, databases):
    source = Service(options.binary, place / "data", flags=FLAGS)
    source.start()
    try:
        keyed = fill(source, place, options)
        view = View(source, place, options)
        refused(Migration(options, source.data, databases.database()), "stop the service")
    finally:
        source.stop()
    timed = databases.database("timed")
    told, err, seconds = whole(Migration(options, source.data, timed))
    rows = sum(told["rows"].values())
    print(err.strip())
    print(
        f"{told['users']:,} users, {told['position']:,} events, {rows:,} rows in {seconds:.1f} s:"
        f" {told['users'] / seconds:,.0f} users/s, {rows / seconds:,.0f} rows/s",
        flush=True,
    )
    tell_sizes(timed, told)
    refused(Migration(options, source.data, timed), "holds this very store already")
    databases.drop(timed)
    broken = databases.database("broken")
    breaks, gone_on = with_breaks(options, place, source.data, broken, seconds)
    service = Service(options.binary, place / "data", database=broken, flags=FLAGS)
    service.start()
    try:
        faults = view.hold(service) + list(goes_on(service, view, keyed))
    finally:
        service.stop()
    databases.drop(broken)
    compared = ", ".join(f"{count:,} {kind}" for kind, count in view.counts.items())
    print(
        f"migrate: after {breaks} interruptions, {gone_on} of them gone on with, {compared},"
        f" {len(view.samples)} pages by old cursors, {len(view.tags):,} tags and {len(keyed)} keys"
        f" are as before; {len(faults)} faults"
    )
    return faults


def main():
    options = arguments(
        __doc__,
        users=(1_000_000, 3_000, "users to make"),
        changes=(50_000, 800, "changes of every kind, after that"),
        keyed=(200, 20, "requests with an Idempotency-Key"),
        pages=(40, 5, "pages of each order"),
        tags=(2_000, 100, "users whose tags are kept"),
        breaks=(8, 3, "interruptions"),
        chunk=(1 << 20, 1 << 14, "bytes that an interrupted run loads at a time"),
    )
    with Workplace("migrate") as place, cluster() as databases:
        try:
            faults = run(options, place, databases)
        except Fault as fault:
            faults = [str(fault)]
        for fault in faults[:5]:
            print(fault)
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
