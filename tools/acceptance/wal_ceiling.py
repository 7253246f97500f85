"""The write-ahead log stays below its limit while readers hold snapshots nearly all the time.

A store has 20,000 users and as many events. First writers run alone, then the same writers run
beside clients that repeat requests for which no index can be used: a filter that no user matches,
events of a type that does not occur, and an export. Each read gets 200, or 503 with `Retry-After`.
The log file never reaches the limit in the service document, and the writers reach at least 0.8
times their rate without the readers. With `--rate 0` they write as fast as possible; the rate is
then printed and not compared, because readers and writers share the processor.
"""

import itertools
import os
import sys
import threading
import time
from urllib.parse import quote

from audit import Fault
from service import Closed, Service, Workplace, arguments, encode

WRITERS = 16
FILTER = quote('nickname ew "of nobody"')
LOOPS = (f"/users?filter={FILTER}", "/events?type=user.purged", f"/users?filter={FILTER}&count=true")
SHARE_MIN = 0.8
USER = {"family_name": "Somerville", "attributes": {"about": "x" * 1000}}


class Looped(threading.Thread):
    """A client that repeats its request until stopped."""

    def __init__(self, service, until):
        super().__init__(daemon=True)
        self.connection, self.until = service.connection(), until
        self.statuses, self.fault = {}, None

    def run(self):
        try:
            while not self.until.is_set():
                answer = self.step()
                self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        except (Closed, Fault, OSError) as fault:
            self.fault = f"{type(self).__name__}: {fault}"
        finally:
            self.connection.close()


class Reader(Looped):
    def __init__(self, service, until, target):
        super().__init__(service, until)
        self.target = target

    def step(self):
        answer = self.connection.request("GET", self.target)
        refused = answer.status == 503 and "retry-after" in answer.headers
        if answer.status != 200 and not refused:
            raise Fault(f"{self.target}: {answer}")
        if refused:
            self.until.wait(float(answer.headers["retry-after"]))
        return answer


class Exporter(Looped):
    def step(self):
        answer = self.connection.request("GET", "/bulk/users")
        if answer.status != 200 and (answer.status != 503 or "retry-after" not in answer.headers):
            raise Fault(f"an export: {answer}")
        return answer


class Writer(Looped):
    """Creates users and replaces them, at its share of the rate; 0 means as fast as possible."""

    numbers = itertools.count()

    def __init__(self, service, until, rate):
        super().__init__(service, until)
        self.rate, self.next, self.user = rate / WRITERS, time.monotonic(), None

    def step(self):
        if self.rate:
            self.next = max(self.next + 1 / self.rate, time.monotonic() - 1)
            self.until.wait(max(0.0, self.next - time.monotonic()))
        number = next(self.numbers)
        body = {"username": f"writer{number}", **USER}
        if self.user is None or number % 4 == 0:
            answer = self.connection.request("POST", "/users", body)
            self.user = answer.json()["id"] if answer.status == 201 else None
        else:
            answer = self.connection.request("PUT", f"/users/{self.user}", body)
        if answer.status not in (200, 201, 503):
            raise Fault(f"a write: {answer}")
        return answer


def fill(service, users):
    connection = service.connect()
    for start in range(0, users, 5000):
        numbers = range(start, min(users, start + 5000))
        lines = b"\n".join(encode({"username": f"filled{n}", **USER}) for n in numbers)
        headers = {"Content-Type": "application/x-ndjson"}
        answer = connection.request("POST", "/bulk/users", lines, headers)
        if answer.status != 200:
            raise Fault(f"filling: {answer}")
    connection.close()


def phase(service, options, loops, seconds):
    """Returns the rate of the writers, the maximum size of the log, and the results of the reads.
    """
    until = threading.Event()
    writers = [Writer(service, until, options.rate) for _ in range(WRITERS)]
    readers = [Reader(service, until, target) for target in LOOPS] if loops else []
    readers += [Exporter(service, until)] if loops else []
    for thread in writers + readers:
        thread.start()
    began, largest = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        largest = max(largest, os.path.getsize(service.data / "roster.db-wal"))
        time.sleep(0.01)
    until.set()
    took = time.monotonic() - began
    for thread in writers + readers:
        thread.join(60)
    faults = [thread.fault for thread in writers + readers if thread.fault]
    if faults:
        raise Fault(faults[0])
    written = sum(count for w in writers for status, count in w.statuses.items() if status < 300)
    return written / took, largest, [reader.statuses for reader in readers]


def main():
    options = arguments(
        __doc__,
        seconds=(60, 8, "seconds of the loops in all"),
        rounds=(4, 2, "rounds, each of writers alone and beside the loops"),
        users=(20_000, 5_000, "users to begin with"),
        rate=(500, 500, "writes a second; 0: as many as can be"),
    )
    alone, beside, largest, read, faults = [], [], 0, [], []
    with Workplace("wal") as place:
        service = Service(options.binary, place / "data")
        service.start()
        try:
            ceiling = service.connect().request("GET", "/").json()["limits"]["wal_bytes_max"]
            fill(service, options.users)
            for _ in range(options.rounds):
                for loops, rates in ((False, alone), (True, beside)):
                    seconds = options.seconds / options.rounds
                    rate, size, statuses = phase(service, options, loops, seconds)
                    rates.append(rate)
                    largest = max(largest, size)
                    read += statuses
            page = service.connect().request("GET", "/metrics").body.decode()
            if "roster_wal_bytes " not in page:
                faults.append("the size of the log is no metric")
        except Fault as fault:
            faults.append(str(fault))
        finally:
            service.stop()
        total = {status: sum(one.get(status, 0) for one in read) for status in (200, 503)}
        share = sum(beside) / sum(alone) if beside and sum(alone) else 0.0
        if not faults and largest >= ceiling:
            faults.append(f"the log grew to {largest:,} bytes, the ceiling is {ceiling:,}")
        if not faults and options.rate and share < SHARE_MIN:
            faults.append(f"the writers reach {share:.2f} of their rate")
        if not faults and not all(one.get(200) for one in read):
            faults.append(f"a loop was never served: {read}")
        for fault in faults:
            print(fault)
        rates = [f"{sum(some) / max(1, len(some)):,.0f}/s" for some in (alone, beside)]
        print(
            f"wal: writers {rates[0]} alone, {rates[1]} beside loops ({share:.2f}); the log at most "
            f"{largest / 2**20:.0f} MiB; {total[200]:,} readings served, {total[503]:,} refused; "
            f"{len(faults)} faults"
        )
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
