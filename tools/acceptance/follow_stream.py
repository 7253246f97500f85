"""Mirrors that follow streams of events, and are cut again and again, get each event once and in
order.

16 writers make 100,000 mixed changes in 100 tenants. Two readers follow each tenant's stream with a
key of that tenant, one the stream of all tenants. Together they are cut 200 times: the connection is
closed in the middle of a frame or between two, and the reader continues with `Last-Event-ID`. At the
end each mirror must equal the collection of its tenant and the data of the writers, each reader must
have exactly the events of its tenant's log, and the stream of all tenants those of all.
"""

import http.client
import json
import random
import sys
import threading
import time

from engines import engine
from follow_events import apart, everything, log_again
from mixed_writers import MixedWriter
from service import Workplace, arguments
from tenants_client import conclude, expect, operator, running

WRITERS = 16
PAUSE_SECONDS = 0.02


class Writer(threading.Thread):
    """Makes changes in some of the tenants, one after the other."""

    def __init__(self, tenants, number, seed, changes):
        super().__init__(daemon=True)
        self.random, self.changes, self.fault = random.Random(f"{seed}/{number}"), changes, None
        self.parts = [(MixedWriter(t, number, f"{seed}/{t.name}"), t.connection()) for t in tenants]

    def run(self):
        try:
            for _ in range(self.changes):
                part, connection = self.random.choice(self.parts)
                part.step(connection)
                if part.fault:
                    raise ValueError(part.fault)
        except Exception as error:  # noqa: BLE001
            self.fault = f"a writer ended: {error!r}"


class Reader(threading.Thread):
    """Follows a stream, replays it, and cuts its connection now and then."""

    def __init__(self, tenant, query, cuts, frames, seed):
        super().__init__(daemon=True)
        self.tenant, self.path, self.random = tenant, f"{tenant.base}/events{query}", seed
        # After how many frames it is cut.
        self.cuts = sorted(seed.randrange(frames) for _ in range(cuts))
        self.seen, self.last, self.connects, self.fault = [], None, 0, None
        self.done = threading.Event()

    def run(self):
        try:
            while not self.done.is_set():
                self.follow()
                time.sleep(PAUSE_SECONDS)
        except Exception as error:  # noqa: BLE001
            self.fault = f"the reader of {self.tenant.name or 'all'} ended: {error!r}"

    def follow(self):
        connection = http.client.HTTPConnection(*self.tenant.service.address, timeout=30.0)
        headers = {"Authorization": f"Bearer {self.tenant.key}", "Accept": "text/event-stream"}
        if self.last:
            headers["Last-Event-ID"] = self.last
        self.connects += 1
        try:
            connection.request("GET", self.path, headers=headers)
            stream = connection.getresponse()
            if stream.status != 200:
                raise ValueError(f"{stream.status} {stream.read()}")
            self.read(stream)
        except (OSError, http.client.HTTPException) as error:
            if not self.done.is_set():
                raise ValueError(f"after {self.last}: {error!r}") from error
        finally:
            connection.close()

    def read(self, stream):
        identifier, data = None, None
        while line := stream.readline():
            if self.done.is_set():
                return
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                identifier = value
            elif name == "data":
                data = value
                if self.is_cut():
                    # The frame is not complete: it must come again.
                    return
            elif not name:
                if data is not None:
                    self.seen.append(json.loads(data))
                    if self.seen[-1]["id"] != identifier:
                        raise ValueError(f"the frame {identifier} has the event {self.seen[-1]}")
                self.last, data = identifier or self.last, None
                if self.is_cut():
                    return
            elif name != "retry":
                raise ValueError(f"a line of the stream is {line}")

    def is_cut(self):
        if self.cuts and len(self.seen) >= self.cuts[0] and self.random.random() < 0.5:
            self.cuts.pop(0)
            return True
        return False


def replay(events):
    """The live users after these events, by id, and the ids of purged ones."""
    live, kept, purged = {}, {}, set()
    for event in events:
        data, kind = event["data"], event["type"]
        user, record = data["user_id"], data.get("user")
        before = live.get(user) or kept.get(user)
        expect(
            data["version"] == (before["version"] if before else 0) + 1,
            f"{event['id']}: version {data['version']} follows {before}",
        )
        # A purge may have emptied the event before it was read.
        record = record or {"version": data["version"]}
        live.pop(user, None)
        kept.pop(user, None)
        if kind == "user.purged":
            purged.add(user)
        elif kind == "user.deleted":
            kept[user] = record
        else:
            live[user] = record
    return live, purged


def compare(tenant, reader, writers):
    """Compares a reader with the log and the collection of its tenant. Returns its events."""
    connection = tenant.connect(60.0)
    log = log_again(connection)
    live, purged = replay(reader.seen)
    ids = [event["id"] for event in log]
    expect(
        [event["id"] for event in reader.seen] == ids,
        f"{tenant.name}: the reader has {len(reader.seen)} events, the log {len(ids)}",
    )
    for seen, now in zip(reader.seen, log):
        same = seen == now or now["data"]["user_id"] in purged
        expect(same, f"{tenant.name}: {seen} is {now} in the log")
    stored = {user["id"]: user for user in everything(connection, "/users")}
    parts = [p for writer in writers for p, _ in writer.parts if p.service is tenant]
    known = {user: record for part in parts for user, record in part.live.items()}
    for what, users in (("the collection", stored), ("what was answered", known)):
        expect(users == live, f"{tenant.name}: {what} differs: {users != live and apart(users, live)}")
    connection.close()
    return log


def main():
    options = arguments(
        __doc__,
        engines=True,
        changes=(100_000, 3_000, "changes to make"),
        tenants=(100, 20, "tenants"),
        cuts=(200, 40, "cuts of all readers"),
    )
    chance, began = random.Random(options.seed), time.monotonic()
    with Workplace("stream") as place, engine(options) as store:
        with running(store, options, place / "data") as service:
            chief = operator(service)
            tenants = [chief.tenant(f"customer-{n}") for n in range(options.tenants)]
            # The keys and tenants make no events.
            each = max(options.changes // options.tenants // 2, 1)
            half = options.cuts // 2
            readers = [
                Reader(t, "", half // options.tenants + (n < half % options.tenants), each,
                       random.Random(chance.random()))
                for n, t in enumerate(tenants)
            ]  # fmt: skip
            # Streams of a tenant share what they read.
            twins = [Reader(t, "", 0, each, chance) for t in tenants]
            whole = Reader(chief, "?tenants=all", options.cuts - half, options.changes // 2, chance)
            share = options.changes // WRITERS
            writers = [
                Writer(tenants[n::WRITERS] or tenants, n, options.seed, share)
                for n in range(WRITERS)
            ]
            for thread in (whole, *readers, *twins, *writers):
                thread.start()
            for writer in writers:
                writer.join()
            expect(not (faults := [w.fault for w in writers if w.fault]), str(faults[:1]))
            made, written = share * WRITERS, time.monotonic() - began
            end = time.monotonic() + 60

            def is_behind():
                alive = all(reader.is_alive() for reader in (whole, *readers, *twins))
                total = sum(len(reader.seen) for reader in (*readers, *twins))
                return alive and (total < 2 * made or len(whole.seen) < made)

            while is_behind() and time.monotonic() < end:
                time.sleep(0.05)
            # An event that comes twice would come now.
            time.sleep(0.5)
            late = time.monotonic() - began - written
            for reader in (whole, *readers, *twins):
                expect(not reader.fault, reader.fault)
                reader.done.set()
            for tenant, twin in zip(tenants, twins):
                compare(tenant, twin, writers)
            logs = [compare(t, reader, writers) for t, reader in zip(tenants, readers)]
            in_order = sorted((e for log in logs for e in log), key=number)
            expect(
                [event["id"] for event in whole.seen] == [event["id"] for event in in_order],
                f"the stream of all tenants has {len(whole.seen)} events, not {len(in_order)}",
            )
            named = {event["id"]: event["tenant"] for event in in_order}
            wrong = [event for event in whole.seen if event["tenant"] != named[event["id"]]]
            expect(not wrong, f"an event is of another tenant: {wrong[:1]}")
            cut = sum(reader.connects - 1 for reader in (whole, *readers))
            expect(cut >= options.cuts * 0.9, f"only {cut} cuts")
    print(
        f"streams ({options.engine}): {made:,} changes in {options.tenants} tenants in"
        f" {written:.0f} s, {cut} cuts; each of {2 * options.tenants + 1} mirrors is exact"
        f" {late:.1f} s after the last change"
    )


def number(event):
    return int(event["id"].rpartition("-")[2])


if __name__ == "__main__":
    conclude("follow_stream", main)
