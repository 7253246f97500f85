"""Writers of distinct users at a held pace, and the record of what they were told.

Every user has a name and an `Idempotency-Key` of its own. What is acknowledged goes into
`acknowledged`; what ends in a 503 or a broken connection is asked again later with the same key,
through any process, as a careful client does. Any other answer is a fault.
"""

import heapq
import threading
import time
import uuid

CONNECTIONS, PER_SECOND = 8, 300
# More than these wait for their repetition: nothing new is begun.
WAITING_MAX = 400
ATTEMPTS_MAX = 60


class Item:
    """One user to be, and what has come of it so far."""

    __slots__ = ("name", "key", "attempts")

    def __init__(self, number):
        self.name, self.key, self.attempts = f"load-{number:06d}", str(uuid.uuid4()), 0


class Done:
    """Acknowledged, with the id that the user got."""

    def __init__(self, user_id):
        self.id = user_id


class Later:
    """Not acknowledged: perhaps written, perhaps not; to be asked again after `delay` s."""

    def __init__(self, kind, delay):
        self.kind, self.delay = kind, delay

    def __str__(self):
        return f"to be asked again ({self.kind})"


class Load:
    """`connect(process)` makes a client whose `create(item)` answers Done, Later, or a text that
    tells a fault."""

    def __init__(self, connect, processes):
        self.connect, self.processes = connect, processes
        self.lock, self.stopping, self.cut = threading.Lock(), threading.Event(), threading.Event()
        self.made, self.waiting, self.faults = 0, [], []
        self.acknowledged, self.repeated, self.given_up = {}, [], []
        self.moments = [[] for _ in range(processes)]
        self.counts = {}
        self.threads = [
            threading.Thread(target=self.write, args=(n,), daemon=True) for n in range(CONNECTIONS)
        ]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self, within=90.0):
        """Begins nothing new and settles what waits; what does not settle is given up."""
        self.stopping.set()
        end = time.monotonic() + within
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))
        self.cut.set()
        for thread in self.threads:
            thread.join(20)
        self.given_up += [item for _, _, item in self.waiting]

    def all_moments(self):
        return [moment for one in self.moments for moment in one]

    def write(self, number):
        process = number % self.processes
        client = self.connect(process)
        pause = CONNECTIONS / PER_SECOND
        due = time.monotonic() + pause * number / CONNECTIONS
        while not self.cut.wait(max(0.0, due - time.monotonic())):
            due = max(due + pause, time.monotonic())
            item = self.take()
            if item is None:
                if self.stopping.is_set() and not self.unsettled():
                    break
                continue
            item.attempts += 1
            try:
                outcome = client.create(item)
            except Exception as error:  # noqa: BLE001
                outcome = f"the writer failed: {error!r}"
            self.settle(item, process, outcome)
        client.close()

    def take(self):
        """What is due to be repeated, else somebody new; nobody while too many wait."""
        with self.lock:
            if self.waiting and self.waiting[0][0] <= time.monotonic():
                return heapq.heappop(self.waiting)[2]
            if self.stopping.is_set() or len(self.waiting) > WAITING_MAX:
                return None
            self.made += 1
            return Item(self.made)

    def unsettled(self):
        with self.lock:
            return bool(self.waiting)

    def settle(self, item, process, outcome):
        with self.lock:
            match outcome:
                case Done():
                    self.moments[process].append(time.monotonic())
                    self.acknowledged[item.name] = outcome.id
                    if item.attempts > 1:
                        self.repeated.append(item)
                case Later() if item.attempts < ATTEMPTS_MAX:
                    self.counts[outcome.kind] = self.counts.get(outcome.kind, 0) + 1
                    due = time.monotonic() + outcome.delay
                    heapq.heappush(self.waiting, (due, item.key, item))
                case Later():
                    self.given_up.append(item)
                case fault:
                    self.faults.append(f"{item.name}, attempt {item.attempts}: {fault}")
