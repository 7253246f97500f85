"""kill -9 under write load: no acknowledged write is lost.

A round starts the service, writes from 8 connections, sends kill -9 at a random time, starts the
service again, and compares every changed user with the log of acknowledgements. Then it stops the
service and checks its database: its integrity, and that a replay of the change log gives exactly
the stored records. A database is used for 25 rounds, so that later rounds crash on data that
earlier rounds recovered. Over PostgreSQL only the service is killed. The statements that it had
sent may still commit, so the round waits for them.
"""

import random
import sys
import time

from audit import Fault, audit
from engines import engine
from kill9_writers import Writer
from service import Workplace, arguments, percentile

CONNECTIONS = 8
ROUNDS_PER_DIRECTORY = 25


def load_until_killed(service, writers, seconds):
    for writer in writers:
        writer.start()
    time.sleep(seconds)
    early = [writer.number for writer in writers if not writer.is_alive()]
    service.kill()
    for writer in writers:
        writer.join()
    for writer in writers:
        if writer.fault:
            raise Fault(writer.fault)
    if early:
        raise Fault(f"the writers {early} lost their connection before the kill")


def verify(store, service, writers, clean):
    """Checks the users through the HTTP interface first, then in the database."""
    connection = service.connect()
    for writer in writers:
        if fault := writer.verify(connection):
            raise Fault(fault)
    connection.close()
    if clean:
        if code := service.stop():
            raise Fault(f"SIGTERM ended the service with {code}")
    else:
        service.kill()
    stored = audit(store, service)
    known = {
        user for writer in writers for user, entry in writer.entries.items() if entry.record
    }
    if stored.keys() != known:
        raise Fault(f"stored and acknowledged users differ: {list(stored.keys() ^ known)[:5]}")


def main():
    options = arguments(__doc__, engines=True, rounds=(300, 8, "rounds"))
    chance, acknowledged, restarts = random.Random(options.seed), 0, []
    counts, number = {}, 0
    with Workplace("kill9") as place, engine(options) as store:
        try:
            while number < options.rounds:
                data = place / f"data{number}"
                service = store.service(options.binary, data, place / "service.log")
                seed = f"{options.seed}/{number}"
                writers = [Writer(service, n, seed) for n in range(CONNECTIONS)]
                for _ in range(min(ROUNDS_PER_DIRECTORY, options.rounds - number)):
                    number += 1
                    service.start()
                    load_until_killed(service, writers, chance.uniform(0.1, 1.5))
                    under_way = store.under_way(service)
                    restarts.append(service.start() * 1000)
                    store.settle(service, under_way)
                    verify(store, service, writers, clean=number % 2 == 0)
                    acknowledged += sum(writer.acknowledged for writer in writers)
                    writers = [writer.next_round() for writer in writers]
                for writer in writers:
                    for kind, count in writer.count.items():
                        counts[kind] = counts.get(kind, 0) + count
                if number % 100 == 0 or number == options.rounds:
                    print(f"round {number}: {acknowledged:,} acknowledged writes", flush=True)
        except Fault as fault:
            print(f"round {number}: {fault}")
            service.process.poll() is None and service.kill()
            sys.exit(1)
        except BaseException:
            service.process.poll() is None and service.kill()
            raise
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        print(
            f"kill -9 ({options.engine}): {number} rounds, {acknowledged:,} acknowledged writes "
            f"({kinds}), 0 lost; restart p50 {percentile(restarts, 0.5):.0f} ms, slowest "
            f"{max(restarts):.0f} ms"
        )


if __name__ == "__main__":
    main()
