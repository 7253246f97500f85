"""Three processes over one PostgreSQL: a log without gaps, reordering or duplicates, and no stale
reads.

32 writers distribute their writes over the three processes and read each acknowledged one through
another process at once. A reader on each process follows `/events` to its end all the time. Slow
transactions directly in PostgreSQL lock rows of the same users, so that batches commit in another
order than they began. Races for names, addresses and versions use all three processes.

At the end each reader must have got every position from 1 to the last exactly once and in order,
and all three the same events. The records replayed from the log must be the collection, through
each process. To prove that the check works, a naive log, a sequence read by "greater than the last
one I saw", runs in the same database. The check must find its lost rows.
"""

import hashlib
import json
import sys
import threading
import time

import slow_transactions
from audit import Fault, audit
from claims import Claims
from engines import Postgres
from follow_events import apart, everything
from positions import Positions
from postgres import cluster, connect
from roaming_writers import KINDS, RoamingWriter
from service import Service, Workplace, arguments

PROCESSES, WRITERS, LOCKERS, SHARED = 3, 32, 2, 12
PLANTED_ROWS = 4_000
# The pause between slow transactions. Some are in progress about a third of the time.
PAUSE_SECONDS_MAX = 1.5


class Reader(threading.Thread):
    """Follows the log through one process. The first reader replays it."""

    def __init__(self, service, number, folding):
        super().__init__(daemon=True)
        self.service, self.folding = service, folding
        self.positions, self.digest = Positions(f"reader {number}"), hashlib.sha256()
        self.live, self.deleted = {}, {}
        self.pulls, self.fault, self.done = 0, None, threading.Event()

    def run(self):
        try:
            self.follow()
        except Exception as error:  # noqa: BLE001
            self.fault = f"a reader ended: {error!r}"

    def follow(self):
        connection, after = self.service.connect(60.0), None
        while len(self.positions.faults) < 20:
            last = self.done.is_set()
            path = "/events?limit=500" + (f"&after={after}" if after else "")
            answer = connection.request("GET", path)
            if answer.status != 200:
                self.fault = f"{path} was answered {answer}"
                return
            page, self.pulls = answer.json(), self.pulls + 1
            for event in page["items"]:
                self.positions.take(int(event["id"].rsplit("-", 1)[1]))
                self.digest.update(json.dumps(event, sort_keys=True).encode())
                if self.folding:
                    self.fold(event)
            after = answer.headers["roster-position"]
            # A poll that began after `done` was set includes everything that was written before.
            if last and page["next_cursor"] is None:
                return
            if not page["items"]:
                time.sleep(0.005)

    def fold(self, event):
        data, number = event["data"], self.positions.last
        user, before = data["user_id"], self.live.pop(data["user_id"], None)
        before = before or self.deleted.pop(user, None)
        if data["version"] != (before["version"] if before else 0) + 1:
            raise ValueError(f"position {number}: {event} follows {before}")
        gone = event["type"] == "user.deleted"
        (self.deleted if gone else self.live)[user] = data["user"]


class Trial:
    """The processes, and all threads that work with them."""

    def __init__(self, options, place, database):
        self.database = database
        # The same URL for all, as behind one load balancer, because each event contains it.
        flags = ("--base-url", "http://127.0.0.1:8080")
        self.services = [
            Service(options.binary, place / f"data{number}", None, database, flags)
            for number in range(PROCESSES)
        ]
        self.options, self.faults = options, []

    def start(self):
        """Starts the processes together, on an empty database that one of them must prepare."""
        threads = [threading.Thread(target=service.start) for service in self.services]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        connection = self.services[0].connect()
        bodies = [{"username": f"shared{number}"} for number in range(SHARED)]
        answers = [connection.request("POST", "/users", body) for body in bodies]
        if wrong := [str(answer) for answer in answers if answer.status != 201]:
            raise Fault(f"a shared user was not created: {wrong[0]}")
        shared = [answer.json()["id"] for answer in answers]
        share = -(-self.options.changes // WRITERS)
        self.readers = [Reader(s, n, n == 0) for n, s in enumerate(self.services)]
        self.writers = [
            RoamingWriter(self.services, number, self.options.seed, share, shared)
            for number in range(WRITERS)
        ]
        self.lockers = [
            slow_transactions.Locker(self.database, number, self.victims, PAUSE_SECONDS_MAX)
            for number in range(LOCKERS)
        ]
        self.claims = Claims(self.services, self.options.races)

    def victims(self, chance):
        """Users whose rows a slow transaction locks: some that all write to, some of one writer."""
        users = chance.sample(self.writers[0].shared, chance.randrange(1, 3))
        live = list(self.writers[chance.randrange(WRITERS)].live)
        return users + chance.sample(live, min(len(live), 3))

    def run(self):
        """Runs the writers. Returns the seconds."""
        began = time.monotonic()
        for thread in (*self.readers, *self.writers, *self.lockers, self.claims):
            thread.start()
        for thread in (*self.writers, self.claims):
            thread.join()
        seconds = time.monotonic() - began
        for locker in self.lockers:
            locker.done.set()
        for locker in self.lockers:
            locker.join()
        for reader in self.readers:
            reader.done.set()
        for reader in self.readers:
            reader.join(120)
        everyone = (*self.readers, *self.writers, *self.lockers, self.claims)
        self.faults += [thread.fault for thread in everyone if thread.fault]
        return seconds

    def compare(self):
        """Compares the readers with each other and the head of the log, and the replay with the
        collection.
        """
        with connect(self.database) as connection:
            head = connection.execute("SELECT position FROM log_head").fetchone()[0]
            count = connection.execute("SELECT count(*), max(position) FROM events").fetchone()
        if count != (head, head):
            self.faults.append(f"the head is at {head}, of the log's events {count}")
        if head < self.options.changes:
            self.faults.append(f"{head} events, {self.options.changes} were asked for")
        for reader in self.readers:
            reader.positions.end(head)
            self.faults += reader.positions.faults
        if len({reader.digest.digest() for reader in self.readers}) != 1:
            self.faults.append("the readers were given different events")
        fold = self.readers[0]
        for number, service in enumerate(self.services):
            users = {user["id"]: user for user in everything(service.connect(), "/users")}
            if users != fold.live:
                told = apart(users, fold.live)
                self.faults.append(f"process {number} shows another collection: {told}")
            gone = {user["id"]: user for user in everything(service.connect(), "/deleted-users")}
            if {user: record["version"] for user, record in gone.items()} != {
                user: record["version"] for user, record in fold.deleted.items()
            }:
                self.faults.append(f"process {number} shows other deleted users than the log")
        for writer in self.writers:
            mine = {user: fold.live.get(user) for user in writer.live}
            if mine != writer.live:
                self.faults.append(f"a writer's users: {apart(mine, writer.live)}")
            if any(user in fold.live for user in writer.deleted):
                self.faults.append(f"writer {writer.number} deleted a user that lives")
        return head

    def stop(self):
        for service in self.services:
            if code := service.stop():
                self.faults.append(f"SIGTERM ended a process with {code}")
            if service.log.exists() and b"panicked" in service.log.read_bytes():
                self.faults.append(f"a panic; see {service.log}")


def prove_the_checker(database, faults):
    """The naive follower must lose rows, and the check must find them. Returns the result as a
    text.
    """
    planted = Positions("the planted follower")
    lost = slow_transactions.naive_log(database, planted, PLANTED_ROWS)
    if not planted.faults or not lost:
        faults.append(f"the planted follower lost {lost} rows and was not caught")
    first = planted.faults[0] if planted.faults else "no fault"
    return f"planted: {lost} of {PLANTED_ROWS:,} rows lost, caught ({first})"


def main():
    options = arguments(
        __doc__,
        changes=(200_000, 5_000, "changes to make"),
        races=(1_500, 60, "races through all three processes"),
    )
    head, seconds, planted = 0, 0.0, "not planted"
    with Workplace("three") as place, cluster() as server:
        trial = Trial(options, place, server.database())
        try:
            trial.start()
            seconds = trial.run()
            if not trial.faults:
                head = trial.compare()
            planted = prove_the_checker(trial.database, trial.faults)
        finally:
            trial.stop()
        try:
            audit(Postgres(server), trial.services[0])
        except Fault as fault:
            trial.faults.append(str(fault))
        for fault in trial.faults[:5]:
            print(fault)
        report(trial, head, seconds, planted)
        sys.exit(1 if trial.faults else 0)


def report(trial, head, seconds, planted):
    writers, claims = trial.writers, trial.claims
    kinds = ", ".join(f"{sum(w.count[kind] for w in writers):,} {kind}" for kind in KINDS)
    names, stale = writers[0].checks, sum("Stale" in (w.fault or "") for w in writers)
    checks = ", ".join(f"{sum(w.checks[name] for w in writers):,} {name}" for name in names)
    print(
        f"{sum(w.written for w in writers):,} writes ({kinds}) in {seconds:.0f} s "
        f"({sum(w.written for w in writers) / max(seconds, 0.001):,.0f}/s), "
        f"{sum(w.unavailable for w in writers)} answers 503, slowest "
        f"{max(w.slowest for w in writers):.2f} s; {sum(k.held for k in trial.lockers)} slow "
        f"transactions, {sum(k.waiting for k in trial.lockers)} waits seen behind them, "
        f"{sum(k.refused for k in trial.lockers)} broken as deadlocks"
    )
    print(
        f"looked for through another process: {checks}, {stale} of them stale; "
        f"{sum(claims.run_of.values()):,} races, won by {claims.won_by}"
    )
    print(planted)
    print(
        f"three processes: {head:,} events, seen by {PROCESSES} readers in "
        f"{sum(reader.pulls for reader in trial.readers):,} pulls; {len(trial.faults)} faults"
    )


if __name__ == "__main__":
    main()
