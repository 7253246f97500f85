"""The connection between service and PostgreSQL is cut at every stage of a write: no write is lost
or executed twice, and none returns 500.

First, one write at a time: for each kind of write and each way of cutting, the connection is cut
before the first message of its transaction, after each message to PostgreSQL, at each message of
its responses, right before COMMIT, after COMMIT, and before the response to the COMMIT is
forwarded; and at each message of a new connection's start. The COMMIT of a connection that the
service lost may also arrive late, while the write is sent again. Then eight writers write while the
connection is cut at random places. Every response must be the expected one or 503 with Retry-After.
The write is sent again with its key until it gets its result. Within 2 s of the connection being
restored another write must succeed. At the end the change log must have each write once, and reads
meanwhile must not have been stale.
"""

import random
import sys
import threading
import time

from audit import Fault as AuditFault
from audit import audit
from disk_watch import DiskWatch
from engines import Postgres
from postgres import backends, cluster
from service import Closed, Service, Workplace, arguments, percentile
from wire import Cut, Wire
from wire_writes import KINDS, Fault, Ledger, Reader, verify

RECOVERY_SECONDS_MAX = 2.0
WRITERS = 8
COMMITS = ("before commit", "after commit", "commit held")
STAGES_MAX = 200


class Run:
    """The service behind its proxy, and the measurements."""

    def __init__(self, service, wire, ledger, disk, seed):
        self.service, self.wire, self.ledger, self.disk = service, wire, ledger, disk
        self.random = random.Random(f"{seed} cuts")
        self.stages, self.recoveries = set(), {}

    def fill(self, count):
        """Users to write to."""
        for _ in range(count):
            self.write("create")

    def write(self, kind):
        write = self.ledger.take(kind)
        write.run(self.service)
        if write.fault:
            raise Fault(write.fault)

    def stage(self, kind, cut, opening=False):
        """One write of `kind` and one cut. Returns whether the write reached the place of the cut.
        """
        write = self.ledger.take(kind)
        self.wire.arm(cut)
        if opening:
            self.wire.reset_all()
        thread = threading.Thread(target=write.run, args=(self.service,))
        thread.start()
        while thread.is_alive() and not self.wire.fired.wait(0.002):
            pass
        fired = self.wire.fired.is_set()
        if fired:
            self.recover(cut)
        thread.join()
        self.wire.disarm()
        if write.fault:
            raise Fault(f"{kind}, cut {cut}: {write.fault}")
        if fired:
            self.stages.add((kind, cut.place, cut.number))
        if len(self.ledger.live) < 20:
            self.fill(20)
        return fired

    def recover(self, cut):
        """The time from the restoration of the connection until a write succeeds."""
        if not self.wire.whole.wait(cut.seconds + 10):
            raise Fault(f"cut {cut}: the wire was not whole again")
        self.write("create")
        now = time.monotonic()
        # The time in which PostgreSQL itself stalled does not count.
        took = now - self.wire.whole_at - self.disk.stalled(self.wire.whole_at, now)
        self.recoveries.setdefault(cut.way, []).append(took)
        if took > RECOVERY_SECONDS_MAX:
            where = f"cut {cut} at {self.wire.last[1]}"
            raise Fault(f"{where}: a write was answered {took:.2f} s after the wire was whole")

    def every_stage(self, kind, way, seconds, step=1):
        """All places of one write; `step` skips numbered ones."""
        for place in COMMITS:
            if not self.stage(kind, Cut(place, 0, way, self.seconds(seconds))):
                raise Fault(f"a {kind} was written without the place {place!r}")
        for place, first in (("front", 0), ("back", 1)):
            missed, number = 0, first
            # A new connection prepares its statements, so it sends more messages.
            while missed < 2 and number < STAGES_MAX:
                cut = Cut(place, number, way, self.seconds(seconds))
                missed = 0 if self.stage(kind, cut) else missed + 1
                number += step

    def every_opening(self, way, seconds, step=1):
        """All messages of a new connection until the service's first transaction on it."""
        for number in range(1, self.wire.opening + 2, step):
            self.stage("create", Cut("opening", number, way, self.seconds(seconds)), opening=True)

    def late_commits(self, times):
        """The service is disconnected and sends the write again while its COMMIT is still to
        arrive.
        """
        for number in range(times * len(KINDS)):
            cut = Cut("before commit", 0, "late", self.seconds(1.2))
            self.stage(KINDS[number % len(KINDS)], cut)

    def seconds(self, seconds):
        return self.random.uniform(seconds / 4, seconds)

    def at_random(self, cuts):
        """Cuts at random places and in random ways while eight writers write."""
        done, faults = threading.Event(), []
        threads = [threading.Thread(target=self.keep_writing, args=(done, faults))
                   for _ in range(WRITERS)]  # fmt: skip
        for thread in threads:
            thread.start()
        try:
            for _ in range(cuts):
                time.sleep(self.random.uniform(0, 0.1))
                place = self.random.choice(("front", "back", "front", "back", *COMMITS))
                way = self.random.choice(("reset", "reset", "dark", "freeze", "freeze and reset"))
                cut = Cut(place, self.random.randrange(1, 30), way, self.seconds(1.0))
                self.wire.arm(cut)
                if self.wire.fired.wait(2):
                    self.recover(cut)
                self.wire.disarm()
                if faults:
                    break
        finally:
            done.set()
            for thread in threads:
                thread.join()
        if faults:
            raise Fault(faults[0])

    def keep_writing(self, done, faults):
        while not done.is_set() and not faults:
            kind = self.ledger.random.choice((*KINDS, "create", "refused"))
            write = self.ledger.take("create" if len(self.ledger.live) < 60 else kind)
            write.run(self.service)
            if write.fault:
                faults.append(write.fault)


def cut_everywhere(run, options):
    if options.slice:
        for kind in ("create", "delete"):
            run.every_stage(kind, "reset", 0, 2)
        for way in ("dark", "freeze", "freeze and reset", "orphan"):
            run.stage("replace", Cut("before commit", 0, way, 0.5))
        run.late_commits(2)
        run.every_opening("reset", 0, 5)
    else:
        for kind in KINDS:
            run.every_stage(kind, "reset", 0)
            run.every_stage(kind, "dark", 1.0, 2)
            run.every_stage(kind, "freeze", 4.0, 3)
            run.every_stage(kind, "freeze and reset", 4.0, 5)
        run.every_stage("patch", "orphan", 0, 4)
        run.late_commits(20)
        for way in ("reset", "dark", "freeze"):
            run.every_opening(way, 1.0)
    run.at_random(options.random)


def main():
    options = arguments(__doc__, random=(600, 25, "cuts at random places"))
    faults, count, reader, run = [], 0, None, None
    began = time.monotonic()
    with Workplace("wire") as place, cluster() as server:
        database = server.database()
        wire = Wire(database)
        service = Service(options.binary, place / "data", database=wire.url)
        try:
            service.start()
            ledger, disk = Ledger(options.seed), DiskWatch(database)
            disk.start()
            run = Run(service, wire, ledger, disk, options.seed)
            run.write("taker")
            run.fill(30)
            reader = Reader(service, ledger)
            reader.start()
            cut_everywhere(run, options)
            reader.done.set()
            reader.join(90)
            disk.done.set()
            disk.join(30)
            faults += [fault for fault in (reader.fault, disk.fault) if fault]
            count = verify(service, ledger)
            if wire.cancels:
                faults.append(f"{wire.cancels} requests to cancel a statement")
            if len(backends(database)) > 50:
                faults.append(f"{len(backends(database))} connections to PostgreSQL are left")
            if code := service.stop():
                faults.append(f"SIGTERM ended the service with {code}")
            audit(Postgres(server), Service("", place, database=database))
        except (Fault, AuditFault, Closed) as fault:
            faults.append(str(fault))
        finally:
            service.process and service.process.poll() is None and service.kill()
            wire.close()
        if b"panicked" in service.log.read_bytes():
            faults.append("the service's log tells of a panic")
        for fault in faults[:5]:
            print(fault)
        if run:
            report(run, reader, count, time.monotonic() - began)
        print(f"wire cut: {len(faults)} faults")
        sys.exit(1 if faults else 0)


def report(run, reader, count, seconds):
    print(
        f"wire cut: {len(run.stages)} stages, {run.wire.made} cuts in {seconds:.0f} s; "
        f"{run.ledger.answered:,} writes answered, {count:,} events, {run.ledger.unavailable:,} "
        f"answers 503 {run.ledger.codes}, {run.ledger.replays} replays; slowest write "
        f"{run.ledger.slowest:.1f} s; {reader.reads if reader else 0:,} reads, "
        f"{reader.unavailable if reader else 0} of them 503; PostgreSQL itself stood still at "
        f"most {run.disk.worst():.2f} s"
    )
    for way, took in run.recoveries.items():
        print(
            f"{way}: {len(took)} cuts, a write again p50 {percentile(took, 0.5):.2f} s, worst "
            f"{max(took):.2f} s after the wire was whole"
        )


if __name__ == "__main__":
    main()
