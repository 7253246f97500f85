"""Readers of streams that cost too much: one whose key is revoked, a thousand that have nothing to
read, and a hundred that never read.

A key follows the stream of each process (one over SQLite, three over PostgreSQL) while users are
created through all of them. The key is revoked through the first: every stream must end, and no event
may arrive later than a second after the response to the revocation.

Then 950 streams wait for events that do not come. A thousand may add 20 MiB to the memory of the
service (24 in a slice, whose build has larger tasks), and 2 % of a processor.

Then writes run alone and beside a hundred streams that never read, in turns. The memory of the
service may grow by 10 MiB. In a slice, other commands delay the streams: each one that is late has a
page of 64 KiB of its own, so 20 MiB are allowed. The processor time and the p99 of a write are
printed as ratios; in the full run they may grow to 1.2 times (median of the rounds).
"""

import http.client
import socket
import statistics
import threading
import time

from engines import Postgres, engine
from service import Service, Workplace, arguments, percentile
from tenants_client import Tenant, conclude, expect, operator

READERS, WRITERS, IDLE, IDLE_OF_ONE = 100, 4, 950, 95
IDLE_MIB_MAX, SLICE_IDLE_MIB_MAX, IDLE_CPU_MAX, IDLE_SECONDS = 20, 24, 0.02, 10.0
GROWTH_MIB_MAX, SLICE_GROWTH_MIB_MAX, RATIO_MAX, LATE_SECONDS_MAX = 10, 20, 1.2, 1.0


class Reader(threading.Thread):
    """Follows a stream to its end. Notes when an event last arrived."""

    def __init__(self, service, key):
        super().__init__(daemon=True)
        self.service, self.key = service, key
        self.count, self.last, self.ended = 0, 0.0, b""

    def run(self):
        connection = http.client.HTTPConnection(*self.service.address, timeout=30.0)
        headers = {"Authorization": f"Bearer {self.key}", "Accept": "text/event-stream"}
        connection.request("GET", "/events?after=latest", headers=headers)
        stream = connection.getresponse()
        is_end = False
        while line := stream.readline():
            is_end |= line == b"event: end\n"
            if line.startswith(b"data: ") and is_end:
                self.ended = line
            elif line.startswith(b"data: "):
                self.count, self.last = self.count + 1, time.monotonic()
        connection.close()


class Writer(threading.Thread):
    """Creates users until it is stopped, or a number of them at a rate."""

    def __init__(self, tenant, number, name, count=None, per_second=None):
        super().__init__(daemon=True)
        self.tenant, self.number, self.name_of = tenant, number, name
        self.count, self.per_second = count, per_second
        self.done, self.took, self.fault = threading.Event(), [], None

    def run(self):
        connection, began = self.tenant.connect(), time.monotonic()
        while not self.done.is_set() and not self.fault and len(self.took) != self.count:
            if self.per_second:
                due = began + len(self.took) / self.per_second
                time.sleep(max(0.0, due - time.monotonic()))
            sent = time.monotonic()
            body = {"username": f"{self.name_of}-{self.number}-{len(self.took)}"}
            answer = connection.request("POST", "/users", body)
            self.took.append(time.monotonic() - sent)
            if answer.status != 201:
                self.fault = f"a create was answered {answer}"
        connection.close()


def run(writers):
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    faults = [writer.fault for writer in writers if writer.fault]
    expect(not faults, str(faults[:1]))


def revoke(services, chief):
    """Returns how late the last event came after the revocation, in seconds."""
    made = chief.made("/keys", {"name": "reader", "scopes": ["events:read"]})
    for service in services:
        # Each process has seen the key once it has checked its keys again.
        time.sleep(1.1)
    readers = [Reader(service, made["key"]) for service in services]
    chiefs = [Tenant(service, "", chief.key) for service in services]
    writers = [Writer(chiefs[n % len(chiefs)], n, "revoked") for n in range(WRITERS)]
    for thread in (*readers, *writers):
        thread.start()
    time.sleep(1.0)
    connection = chief.connect()
    answer = connection.request("DELETE", f"/keys/{made['id']}")
    revoked = time.monotonic()
    expect(answer.status == 204, f"the revocation was answered {answer}")
    time.sleep(2.5)
    for writer in writers:
        writer.done.set()
    for thread in (*readers, *writers):
        thread.join(20)
    connection.close()
    for reader in readers:
        expect(reader.count > 0, "a reader had no event")
        expect(b'"unauthenticated"' in reader.ended, f"a stream ended with {reader.ended}")
    return max(reader.last for reader in readers) - revoked


def silent(service, key):
    """A client that asks for a stream and never reads it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(service.address)
    head = (
        "GET /events?after=latest HTTP/1.1", "Host: 127.0.0.1", "Accept: text/event-stream",
        f"Authorization: Bearer {key}", "", "",
    )  # fmt: skip
    client.sendall("\r\n".join(head).encode())
    return client


def idle(chief, seconds):
    """What a thousand idle streams cost: memory in MiB, and the part of a processor."""
    service, callers = chief.service, []
    for number in range(IDLE // IDLE_OF_ONE):
        callers.append(chief.made("/keys", {"name": f"idle{number}", "scopes": ["events:read"]}))
    time.sleep(1.1)
    clients = []

    def follow(count):
        for number in range(count):
            clients.append(silent(service, callers[number % len(callers)]["key"]))
            head = clients[-1].recv(4096)
            expect(b" 200 " in head[:20], f"a stream was answered {head[:300]}")

    def leave():
        for client in clients:
            client.close()
        clients.clear()
        time.sleep(2.0)

    follow(20)
    leave()
    memory = service.memory()
    follow(IDLE)
    time.sleep(2.0)
    cpu = service.cpu()
    time.sleep(seconds)
    cpu, memory = (service.cpu() - cpu) / seconds, service.memory() - memory
    leave()
    return memory / IDLE * 1000, cpu / IDLE * 1000


def round_of(chief, name, count, per_second):
    """CPU of a write in us, and the p99 of its time in ms."""
    service = chief.service
    before = service.cpu()
    each, share = count // WRITERS, per_second / WRITERS
    writers = [Writer(chief, n, name, each, share) for n in range(WRITERS)]
    run(writers)
    took = [seconds for writer in writers for seconds in writer.took]
    return (service.cpu() - before) / len(took) * 1e6, percentile(took, 0.99) * 1e3


def beside_silent_readers(chief, options):
    """Returns the growth in MiB, and the ratios of CPU and p99."""
    service, ratios, growth = chief.service, [], 0.0
    round_of(chief, "warm", options.writes, options.rate)
    for number in range(options.rounds):
        alone = round_of(chief, f"alone{number}", options.writes, options.rate)
        memory = service.memory()
        clients = [silent(service, chief.key) for _ in range(READERS)]
        time.sleep(0.5)
        beside = round_of(chief, f"beside{number}", options.writes, options.rate)
        growth = max(growth, service.memory() - memory)
        for client in clients:
            client.close()
        time.sleep(0.5)
        ratios.append([there / here for here, there in zip(alone, beside)])
    cpu, p99 = (statistics.median(column) for column in zip(*ratios))
    return growth, cpu, p99


def main():
    options = arguments(
        __doc__,
        engines=True,
        rounds=(5, 1, "rounds of writes alone and beside the readers"),
        writes=(4_000, 400, "writes of a round"),
        rate=(400, 200, "writes a second"),
    )
    with Workplace("readers") as place, engine(options) as store:
        first = store.service(options.binary, place / "data")
        count = 3 if isinstance(store, Postgres) else 1
        others = [
            Service(options.binary, place / f"data{number}", None, first.database)
            for number in range(1, count)
        ]
        services = [first, *others]
        for service in services:
            service.ready = "/readyz"
            service.start()
        try:
            chief = operator(first)
            late = revoke(services, chief)
            expect(late <= LATE_SECONDS_MAX, f"an event came {late:.2f} s after the revocation")
            idle_memory, idle_cpu = idle(chief, 1.0 if options.slice else IDLE_SECONDS)
            most = SLICE_IDLE_MIB_MAX if options.slice else IDLE_MIB_MAX
            expect(idle_memory <= most, f"1,000 idle streams take {idle_memory:.1f} MiB")
            expect(options.slice or idle_cpu <= IDLE_CPU_MAX,
                   f"1,000 idle streams take {idle_cpu:.3f} of a processor")
            growth, cpu, p99 = beside_silent_readers(chief, options)
            most = SLICE_GROWTH_MIB_MAX if options.slice else GROWTH_MIB_MAX
            expect(growth <= most, f"the memory grew by {growth:.1f} MiB")
            if not options.slice:
                text = f"a write costs {cpu:.2f} x the CPU, its p99 is {p99:.2f} x"
                expect(max(cpu, p99) <= RATIO_MAX, text)
        finally:
            for service in services:
                service.stop()
    print(
        f"readers ({options.engine}): the last event {late:+.2f} s after the revocation, at"
        f" {count} processes; 1,000 idle streams {idle_memory:+.1f} MiB and"
        f" {idle_cpu:.1%} of a processor; beside {READERS} readers that never read: {growth:+.1f} MiB, CPU of a"
        f" write {cpu:.2f} x, p99 {p99:.2f} x"
    )


if __name__ == "__main__":
    conclude("stream_readers", main)
