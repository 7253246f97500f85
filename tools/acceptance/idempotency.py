"""A request with an Idempotency-Key that is sent 32 times at once, and again after kill -9, is
executed once.

A batch is 20 rounds on one start of the service. In each round 32 connections send the same write
with the same key. At a random time of the batch the service is killed with -9 and started again,
and every round of the batch that had begun is sent again from all connections. A second execution
of a write would be rejected: a create by its taken name, a replace and a delete by their version.
So every response must be the success, all responses of a round must be equal, and exactly one of
them may be no replay, before or after the kill; none, if its response was lost with the connection.
At the end the change log must have each change once.
"""

import json
import random
import sys
import threading
import time

from engines import engine
from service import Closed, Workplace, arguments, encode, percentile

CONNECTIONS = 32
ROUNDS_PER_BATCH = 20
KINDS = ("create", "replace", "delete")


class Round:
    """One write with one key, and all its responses."""

    def __init__(self, number, users):
        self.number, self.kind = number, KINDS[number % len(KINDS)]
        self.key, self.answers, self.begun = f"round-{number}", [], False
        self.user = None if self.kind == "create" else users.pop()
        self.lock = threading.Lock()

    def request(self):
        headers = {"Idempotency-Key": f'"{self.key}"'}
        body = {"username": f"once{self.number}", "name": "x" * (self.number % 250)}
        if self.kind == "create":
            return "POST", "/users", body, headers
        headers["If-Match"] = '"1"'
        if self.kind == "replace":
            return "PUT", f"/users/{self.user}", body, headers
        return "DELETE", f"/users/{self.user}", None, headers

    def send(self, connection):
        self.begun = True
        answer = connection.request(*self.request())
        with self.lock:
            self.answers.append(answer)

    def fault(self):
        """The error in the responses, or None."""
        wanted = {"create": 201, "replace": 200, "delete": 204}[self.kind]
        for answer in self.answers:
            if answer.status != wanted:
                return f"{self.key} ({self.kind}) was answered {answer}"
        first = [a for a in self.answers if a.headers.get("idempotent-replayed") != "true"]
        if len(first) > 1:
            return f"{self.key} ({self.kind}) happened {len(first)} times"
        told = {(a.body, a.headers.get("etag"), a.headers.get("location")) for a in self.answers}
        if len(told) > 1:
            return f"{self.key} ({self.kind}) was answered in {len(told)} ways: {sorted(told)[:2]}"
        return None


def at_once(service, rounds, stop):
    """All rounds in turn, each from all connections at once. Ends early when the service dies."""
    barrier = threading.Barrier(CONNECTIONS)

    def work():
        try:
            connection = service.connect(10.0)
            for current in rounds:
                barrier.wait(20)
                if stop.is_set():
                    return
                current.send(connection)
        except (Closed, OSError, threading.BrokenBarrierError):
            barrier.abort()

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    return threads


def victims(connection, numbers):
    """New users to replace and to delete."""
    lines = b"".join(encode({"username": f"victim{n}"}) + b"\n" for n in numbers)
    headers = {"Content-Type": "application/x-ndjson"}
    verdicts = connection.request("POST", "/bulk/users", lines, headers).body.splitlines()[:-1]
    return [json.loads(verdict)["id"] for verdict in verdicts]


def main():
    options = arguments(__doc__, engines=True, rounds=(10_000, 60, "rounds"))
    chance, number, answers, lost = random.Random(options.seed), 0, 0, 0
    restarts, faults, began = [], [], time.monotonic()
    with Workplace("idempotency") as place, engine(options) as store:
        service = store.service(options.binary, place / "data")
        service.start()
        try:
            span = 0.2
            while number < options.rounds and not faults:
                count = min(ROUNDS_PER_BATCH, options.rounds - number)
                users = victims(service.connect(), range(number, number + count))
                rounds = [Round(number + n, users) for n in range(count)]
                number += count
                stop, started = threading.Event(), time.monotonic()
                threads = at_once(service, rounds, stop)
                time.sleep(chance.uniform(0, span))
                running = any(thread.is_alive() for thread in threads)
                service.kill()
                stop.set()
                for thread in threads:
                    thread.join()
                # The next kill happens within the expected duration of a batch.
                span = span * 1.1 if running else max(0.02, time.monotonic() - started)
                restarts.append(service.start() * 1000)
                before = sum(len(current.answers) for current in rounds)
                for thread in at_once(service, rounds, threading.Event()):
                    thread.join()
                for current in rounds:
                    answers += len(current.answers)
                    if len(current.answers) < CONNECTIONS:
                        faults.append(f"{current.key} got {len(current.answers)} answers")
                    elif fault := current.fault():
                        faults.append(fault)
                lost += 0 < before < count * CONNECTIONS
        finally:
            service.process.poll() is None and service.stop()
        faults += events_fault(store, service, options.rounds) if not faults else []
        for fault in faults[:5]:
            print(fault)
        print(
            f"idempotency ({options.engine}): {number:,} rounds, {answers:,} answers in "
            f"{time.monotonic() - began:.0f} s, {len(restarts)} kills of which {lost} fell among "
            f"the requests, restart p50 {percentile(restarts, 0.5):.0f} ms; {len(faults)} faults"
        )
        sys.exit(1 if faults else 0)


def events_fault(store, service, rounds):
    """Each round's change is in the log exactly once."""
    counted = dict(store.rows(service, "SELECT kind, count(*) FROM events GROUP BY kind"))
    share = {kind: len(range(index, rounds, len(KINDS))) for index, kind in enumerate(KINDS)}
    wanted = {
        "user.created": rounds + share["create"],
        "user.updated": share["replace"],
        "user.deleted": share["delete"],
    }
    return [] if counted == wanted else [f"the log holds {counted}, not {wanted}"]


if __name__ == "__main__":
    main()
