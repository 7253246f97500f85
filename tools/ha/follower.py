"""A reader that follows the change log through one process, across the failover.

Nothing that was acknowledged is lost, so no position may become invalid: the log gets a new identity
with each new primary, and the reader continues.
"""

import threading
import time

from service import Closed, Connection

PAUSE_SECONDS = 0.2


class Follower(threading.Thread):
    """Requests that wait for events; each must have the next positions."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.connection, self.done = Connection(address, 45.0), threading.Event()
        self.position, self.number, self.logs, self.forks, self.faults = None, 0, set(), 0, []

    def run(self):
        while not self.faults and not self.done.is_set():
            after = f"&after={self.position}" if self.position else ""
            try:
                answer = self.connection.request("GET", f"/events?limit=1000&wait=2{after}")
            except (Closed, OSError):
                self.connection.close()
                time.sleep(PAUSE_SECONDS)
                continue
            if answer.status == 503:
                time.sleep(PAUSE_SECONDS)
            elif answer.status == 200:
                self.take(answer)
            else:
                self.faults.append(f"after {self.position} the log was answered {answer}")

    def take(self, answer):
        for event in answer.json()["items"]:
            number = int(event["id"].rpartition("-")[2])
            if number != self.number + 1:
                self.faults.append(f"event {event['id']} came after position {self.number}")
                return
            self.number, self.forks = number, self.forks + (event["type"] == "log.forked")
        self.position = answer.headers["roster-position"]
        self.logs.add(self.position.partition("-")[0])

    def end(self):
        """Stops. Returns what was wrong."""
        self.done.set()
        self.join(60)
        # The first log has no event.
        if not self.faults and len(self.logs) != self.forks + 1:
            self.faults.append(f"{self.forks} forks of the log, and positions of {self.logs}")
        return self.faults
